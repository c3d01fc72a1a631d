import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { Json } from "#lib/db/types.gen.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { CapturedEvent } from "./captured-event.ts";
import { idempotencyKey } from "./idempotency-key.ts";

const admission = z.object({
  results: z.array(z.enum(["accepted", "duplicate", "quota"])),
  used: z.number(),
  limit: z.number().nullable(),
  overage: z.boolean(),
});
export type Admission = z.output<typeof admission>;

export interface Candidate {
  /** The client's id of the event; for a call its intent stamp, whichever path reports it. */
  eid: string | null;
  /** With the label: two different buttons pressed in the same moment are two events. */
  label: string | null;
  captured: CapturedEvent;
}

/** Two batches with the same events under different keys can meet in the middle; Postgres ends one of them, which is simply tried again. */
const deadlockTriesMax = 3;

/** The one round trip to the database: idempotency, quota and capture. */
export async function admitEvents(siteId: string, candidates: Candidate[], receivedAtMs: number): Promise<Admission> {
  const events = candidates.map(({ eid, label, captured }) => {
    const name = `${captured.category}/${captured.action}`;
    const eventName = `${name}/${label ?? ""}`;
    return {
      k: idempotencyKey({ siteId, eventName, url: captured.url, visitor: captured.visitor }, receivedAtMs),
      e: eid,
      n: name,
      p: captured,
    };
  });
  for (let attempt = 1; ; attempt++) {
    try {
      return await callRpc("admit_events", { p_site_id: siteId, p_events: events as unknown as Json }, admission); // plain data by its schema
    } catch (error) {
      const deadlocked = error instanceof AppError && (error.facts.cause as { code?: string } | undefined)?.code === "40P01";
      if (!deadlocked || attempt === deadlockTriesMax) throw error;
    }
  }
}
