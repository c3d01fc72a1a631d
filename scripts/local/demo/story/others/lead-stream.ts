import { createHash } from "node:crypto";
import { seededRandom } from "../../../seeded-random.ts";
import { type LeadStory, leadStories } from "../../lead-stories.ts";
import type { StoryNotes } from "../story-notes.ts";
import type { OutsideWorld, ReachingOut, Shop, SoldLead } from "./outside-world.ts";

/** What just happened, for the page: the newest first. */
export interface Happening {
  at: Date;
  siteId: string;
  kind: "lead" | "sale" | "repeated";
  action: ReachingOut["action"];
  amountCents?: number;
}

interface PlannedLead {
  shop: number;
  waitMs: number;
  visit: ReachingOut;
  /** Null: nobody has decided yet, so it stays on the desk. */
  sale: (SoldLead & { afterMs: number }) | null;
  isSentTwice: boolean;
}

const happeningsMax = 5;
/** Somebody who has just opened the page sees some at once. After that they come as rarely as at a busy business. */
const quickLeads = 6;
const slower = 4;

/** The n-th lead is the same on every machine and after every restart. */
export function planStreamLead(n: number): PlannedLead {
  const next = seededRandom(7_919 * (n + 1));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const shop = next() < 0.6 ? 0 : 1;
  const story = leadStories[shop] as LeadStory;
  const id = createHash("sha256").update(`stream/${n}`).digest("hex").slice(0, 32);
  const gclid = `Cj0KCQ${id.slice(0, 26)}`;
  const action = pick(["phone_call", "phone_call", "whatsapp", "form_submit"] as const);
  const job = pick(story.jobs.slice(0, 3)); // the dear one is rare in the month behind, and would be most of this hour's revenue
  const sale = next() < 0.5 ? { gclid, amountCents: job.amountCents, note: job.note, afterMs: 15_000 + next() * 45_000 } : null;
  return { shop, waitMs: 15_000 + next() * 30_000, visit: { id, gclid, action, ...pick(story.ads) }, sale, isSentTwice: next() < 0.15 };
}

/** Believable visitors, one after the other, for as long as they are switched on. */
export class LeadStream {
  readonly #world: OutsideWorld;
  readonly #shops: Shop[];
  readonly #notes: StoryNotes;
  readonly #timers = new Set<NodeJS.Timeout>();
  #sinceStart = 0;
  readonly happenings: Happening[] = [];

  constructor(world: OutsideWorld, shops: Shop[], notes: StoryNotes) {
    this.#world = world;
    this.#shops = shops;
    this.#notes = notes;
  }

  start(): void {
    if (this.#notes.now.leadsOn) this.#waitForNext();
  }

  switch(isOn: boolean): void {
    this.#notes.change({ leadsOn: isOn });
    this.stop();
    this.start();
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #waitForNext(): void {
    const lead = planStreamLead(this.#notes.now.leadCount);
    this.#later(lead.waitMs * (this.#sinceStart++ < quickLeads ? 1 : slower), async () => {
      this.#notes.change({ leadCount: this.#notes.now.leadCount + 1 });
      this.#waitForNext();
      await this.#live(lead);
    });
  }

  async #live({ shop, visit, sale, isSentTwice }: PlannedLead): Promise<void> {
    const where = this.#shops[shop];
    if (!where) return;
    const note = (kind: Happening["kind"], amountCents?: number) => {
      const { siteId } = where;
      this.happenings.unshift({ at: new Date(), siteId, kind, action: visit.action, ...(amountCents && { amountCents }) });
      this.happenings.length = Math.min(this.happenings.length, happeningsMax);
    };
    await this.#world.reachOut(where, visit);
    note("lead");
    if (isSentTwice) {
      await this.#world.reachOut(where, visit); // its connection broke before the answer
      note("repeated");
    }
    if (!sale) return;
    this.#later(sale.afterMs, async () => {
      await this.#world.sell(where, sale);
      note("sale", sale.amountCents);
    });
  }

  /** Somebody may have stopped a part of the demo to see what happens: visitors come back later. */
  #later(ms: number, run: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run().catch(() => {});
    }, ms);
    this.#timers.add(timer);
  }
}
