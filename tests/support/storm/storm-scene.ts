import type { StormRandom } from "./storm-random.ts";
import type { StormSite } from "./storm-sites.ts";
import type { StormStack } from "./storm-stack.ts";

/** What a click id says of itself, and what Google will find. */
export type Fate = "NotFound" | "TooRecent" | "InternalOnce" | null;

/** A sale as the storm remembers it: the database forgets click and visitor when consent is withdrawn. */
export interface StormSale {
  saleId: string;
  callId: string;
  site: StormSite;
  visitor: string;
  fate: Fate;
}

/** From `mark` on, in the order of the queue's transitions, no conversion of the sale may be claimed; or it may again. */
interface Bar {
  saleId: string;
  why: "cancelled" | "withdrawn" | "restored";
  mark: number;
}

/** From `mark` to `endMark` nothing of the site may be claimed before `until`. */
interface StormPause {
  siteUuid: string;
  until: Date;
  mark: number;
  endMark: number;
}

export interface StormScene {
  stack: StormStack;
  random: StormRandom;
  sites: StormSite[];
  sales: StormSale[];
  /** Those that were cancelled at some time. */
  cancelled: StormSale[];
  bars: Bar[];
  pauses: StormPause[];
  /** How often each thing happened, for the report. */
  tally: Map<string, number>;
}

export function count({ tally }: StormScene, what: string, times = 1): void {
  tally.set(what, (tally.get(what) ?? 0) + times);
}

/** The newest transition that somebody may have written by now. A sequence knows of those that are not committed, too. */
export async function transitionMark({ stack }: StormScene): Promise<number> {
  const [row] = await stack.sql()`select last_value::int as mark from private.queue_moves_id_seq`;
  return Number(row?.mark);
}

/** What people do can be refused: by then the row or the sale is something else. Anything but a refusal ends the storm. */
export async function orRefused<T>(scene: StormScene, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    const answer = await work();
    const status = (answer as { status?: number } | null)?.status ?? 200;
    count(scene, status === 200 ? what : `${what} (refused)`);
    return status === 200 ? answer : null;
  } catch (error) {
    if (!/^PT4\d\d$/.test(String((error as { code?: string }).code))) throw error;
    count(scene, `${what} (refused)`);
    return null;
  }
}
