import { randomBytes } from "node:crypto";
import type { Trouble } from "../story-notes.ts";
import type { OutsideWorld } from "./outside-world.ts";
import { type OpenSite, openTroubledSite, type SiteOpening, tellGoogle } from "./trouble-sites.ts";

export const troubleNames = ["expired", "duplicate", "rateLimit", "revoked"] as const;
export type TroubleName = (typeof troubleNames)[number];

const answerWaitMs = 60_000;

/**
 * What goes wrong with Google, and what the product does about it: a click that is too old, an answer that got lost so that the same order is sent
 * twice, too many requests, and a grant that was taken back. Each is a lead that reaches out and is sold through the endpoints; only Google misbehaves.
 */
export class Troubles {
  readonly #opening: SiteOpening;
  readonly #world: OutsideWorld;
  #turn: Promise<void> = Promise.resolve();

  constructor(opening: SiteOpening, world: OutsideWorld) {
    this.#opening = opening;
    this.#world = world;
  }

  get played(): Partial<Record<TroubleName, Trouble>> {
    return this.#opening.notes.now.troubles;
  }

  /** Those that were not played yet, one after the other. */
  playAll(): Promise<void> {
    for (const name of troubleNames) if (!this.played[name]) void this.play(name);
    return this.#turn;
  }

  /** Waits for the one before: a fault meets whatever is sent next. */
  play(name: TroubleName): Promise<void> {
    // Somebody may have stopped a part of the demo; the page offers to play it again.
    this.#turn = this.#turn.then(() => this.#playOne(name)).catch(() => {});
    return this.#turn;
  }

  async #playOne(name: TroubleName): Promise<void> {
    const { googleUrl } = this.#opening;
    const site = await openTroubledSite(this.#opening, name === "revoked" ? "locksmith" : "towing");
    const match = { service: "data_manager", method: "ingest", account: site.customerId };
    if (name === "duplicate") await tellGoogle(googleUrl, "faults", { kind: "timeout_after_accept", match });
    if (name === "rateLimit") await tellGoogle(googleUrl, "faults", { kind: "status", status: 429, retryDelay: "30s", match });
    if (name === "revoked") {
      // One that Google confirms, so that the screen shows what changed.
      await this.#untilAnswered(await this.#sellOne(site, name), "verdict");
      await tellGoogle(googleUrl, "accounts", { customerId: site.customerId, refreshTokens: [] });
    }
    await this.#untilAnswered(await this.#sellOne(site, name), "answer");
  }

  async #sellOne(site: OpenSite, name: TroubleName): Promise<string> {
    const { notes } = this.#opening;
    const id = randomBytes(16).toString("hex");
    // The simulated Google decides by the click id: docs/google-simulator.md.
    const gclid = `Cj0KCQ${name === "expired" ? "Expired" : ""}${id.slice(0, 20)}`;
    await this.#world.reachOut(site, { ...site.visit, id, gclid, action: "phone_call" });
    await this.#world.sell(site, { ...site.sale, gclid });
    const { siteId } = site;
    notes.change({ troubles: { ...notes.now.troubles, [name]: { siteId, gclid, at: new Date().toISOString() } } });
    return gclid;
  }

  /** Until Google answered once, or was lost once; or until its verdict. */
  async #untilAnswered(gclid: string, what: "answer" | "verdict"): Promise<void> {
    const giveUpAt = Date.now() + answerWaitMs;
    while (Date.now() < giveUpAt) {
      const [row] = await this.#opening.sql`select q.status in ('COMPLETED', 'RETRY', 'FAILED') as answer, d.verdict is not null as verdict
        from public.sales s join public.offline_conversion_queue q on q.sale_id = s.id
        left join public.provider_dispatches d on d.queue_id = q.id where s.gclid = ${gclid}`;
      if (row?.[what]) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
