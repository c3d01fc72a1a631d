import { createHash } from "node:crypto";
import { z } from "zod";
import { callRpc, retryDeadlocks } from "#lib/db/call-rpc.ts";
import type { Json } from "#lib/db/types.gen.ts";
import type { SiteUuid } from "#lib/site.ts";
import type { CapturedEvent } from "./event-shape.ts";

const admission = z.object({
  results: z.array(z.enum(["accepted", "duplicate", "enriched", "quota"])),
  used: z.number(),
  limit: z.number().nullable(),
  overage: z.boolean(),
});
export type Admission = z.output<typeof admission>;

export interface Candidate {
  /** The client's id of the event; for a call its intent stamp, whichever path reports it. */
  eid: string | null;
  /** An earlier id under which the same event may be known: it was sent again a moment later, without ids of its own. */
  olderEid?: string;
  /** The whole label: two different buttons pressed in the same moment are two events. */
  label: string | null;
  /** The whole address, as it was sent: two products that differ in the query are two pages. Only its part in the key is stored. */
  address: string;
  /** null: the event names nobody. It then counts as a visitor of its own, not as one visitor with all other nameless events. */
  visitor: string | null;
  captured: Omit<CapturedEvent, "visitor">;
}

const reporterCodes: Record<CapturedEvent["reporter"], number> = { tracker: 1, system: 2 };

/** The one round trip to the database: idempotency, quota and capture. */
export async function admitEvents(siteUuid: SiteUuid, candidates: Candidate[], receivedAtMs: number): Promise<Admission> {
  const events = candidates.map(({ eid, olderEid, label, address, visitor, captured }) => {
    const { category, action, reporter } = captured;
    const key = idempotencyKey(
      { siteUuid, category, action, label: label ?? "", url: address, visitor: visitor ?? "", reporter },
      receivedAtMs,
    );
    return {
      k: key,
      e: eid,
      n: `${category}/${action}`,
      p: { ...captured, visitor: visitor ?? `event-${key.slice(0, 32)}` },
      ...(olderEid && { o: olderEid }),
      ...(captured.intentStamp !== null && { r: reporterCodes[captured.reporter] }),
    };
  });
  // Two batches with the same events under different keys can deadlock.
  return retryDeadlocks(() => callRpc("admit_events", { p_site_id: siteUuid, p_events: events as unknown as Json }, admission)); // plain data
}

/** Two identical events within this time are one: a double click, a reload, a resend. */
const bucketMs = 5_000;

interface KeyParts {
  siteUuid: SiteUuid;
  category: string;
  action: string;
  label: string;
  url: string;
  /** Empty when the event names nobody. */
  visitor: string;
  /** What is signed has keys of its own: no unsigned event can be made to look like it. */
  reporter?: CapturedEvent["reporter"];
}

/**
 * The identity of an event, computed once, here, from server time. Each part is preceded by its length, so that no two
 * inputs run together: ("ab", "c") and ("a", "bc") differ.
 */
export function idempotencyKey(event: KeyParts, receivedAtMs: number): string {
  const { siteUuid, category, action, label, url, visitor, reporter } = event;
  const bucket = String(Math.floor(receivedAtMs / bucketMs));
  const hash = createHash("sha256");
  for (const part of [siteUuid, category, action, label, url, visitor, bucket, ...(reporter === "system" ? ["signed"] : [])]) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest("hex");
}
