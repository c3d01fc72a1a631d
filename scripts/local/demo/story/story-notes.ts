import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SiteId } from "#lib/site.ts";

export const ways = ["script", "api"] as const;
export type Way = (typeof ways)[number];

export interface TroubledSite {
  siteId: SiteId;
  crmKey: string;
}

export interface Trouble {
  siteId: SiteId;
  gclid: string;
  at: string;
}

interface Notes {
  /** Whether leads keep coming. */
  leadsOn: boolean;
  /** How many came: the next one's seed. */
  leadCount: number;
  /** The click id of the visitor whom the story follows, for each way. */
  clicks: Record<Way, string>;
  /** Sites that exist to show what goes wrong, by name. */
  troubledSites: Record<string, TroubledSite>;
  troubles: Record<string, Trouble>;
  /** Sealed leads of the script's site go with its next run, without Google's six hours. */
  isQuick: boolean;
}

/** What the story remembers beside the data: it is forgotten together with it. */
export class StoryNotes {
  readonly #path: string;
  readonly #notes: Notes;

  constructor(stateDir: string, newClick: () => string) {
    this.#path = join(stateDir, "story.json");
    const kept: Partial<Notes> = existsSync(this.#path) ? JSON.parse(readFileSync(this.#path, "utf8")) : {};
    const clicks = { script: newClick(), api: newClick() };
    this.#notes = { leadsOn: true, leadCount: 0, clicks, troubledSites: {}, troubles: {}, isQuick: false, ...kept };
    this.#save();
  }

  get now(): Readonly<Notes> {
    return this.#notes;
  }

  change(change: Partial<Notes>): void {
    Object.assign(this.#notes, change);
    this.#save();
  }

  /** It holds keys, so only its owner may read it. */
  #save(): void {
    writeFileSync(this.#path, `${JSON.stringify(this.#notes, null, 2)}\n`, { mode: 0o600 });
  }
}
