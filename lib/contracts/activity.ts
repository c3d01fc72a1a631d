import { z } from "zod";
import { csvLine } from "#lib/billing/csv.ts";
import { streamedCsv } from "#lib/billing/csv-response.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";

export const activityKinds = [
  "sealed",
  "corrected",
  "cancelled",
  "undone",
  "junk",
  "stage",
  "recorded",
  "requeued",
  "stopped",
  "connected",
  "disconnected",
  "switched",
] as const;

/** The log's filter, as it stands in the address. What is unknown there filters nothing. */
export const activityFilter = z.object({
  actor: z.uuid().optional().catch(undefined),
  kind: z.enum(activityKinds).optional().catch(undefined),
  day: z.iso.date().optional().catch(undefined),
  cursor: z.string().max(120).optional().catch(undefined),
});
export type ActivityFilter = z.output<typeof activityFilter>;

export const activityPage = z.object({
  entries: z.array(
    z.object({
      id: z.string(),
      at: z.string(),
      kind: z.enum([...activityKinds, "other"]),
      contract: z.string(),
      entityId: z.string(),
      actorKind: z.enum(["user", "api_key", "system"]),
      actorId: z.string().nullable(),
      actorName: z.string().nullable(),
      from: z.string().nullable(),
      to: z.string(),
      note: z.string().nullable(),
      amountCents: z.number().nullable(),
      amountBeforeCents: z.number().nullable(),
      currency: z.string().nullable(),
      externalRef: z.string().nullable(),
      channel: z.string().nullable(),
      calledAt: z.string().nullable(),
    }),
  ),
  actors: z.array(z.object({ id: z.string(), name: z.string() })),
  next: z.string().nullable(),
});
export type ActivityEntry = z.output<typeof activityPage>["entries"][number];

const header = ["time_utc", "who", "what", "record", "from", "to", "amount_before", "amount", "currency", "note", "proof"];
const units = (cents: number | null) => (cents === null ? null : (cents / 100).toFixed(2));

async function* csvOf(db: SessionClient, publicId: string, filter: ActivityFilter): AsyncGenerator<string> {
  yield csvLine(header);
  for (let cursor: string | undefined; ; ) {
    const args = { p_public_id: publicId, p_filter: { ...filter, limit: 500, ...(cursor && { cursor }) } };
    const { entries, next } = await callAsUser(db, "list_activity", args, activityPage);
    yield entries
      .map((entry) =>
        csvLine([
          entry.at,
          entry.actorName ?? entry.actorKind,
          entry.kind,
          `${entry.contract}/${entry.entityId}`,
          entry.from,
          entry.to,
          units(entry.amountBeforeCents),
          units(entry.amountCents),
          entry.currency,
          entry.note,
          entry.id,
        ]),
      )
      .join("");
    if (!next) return;
    cursor = next;
  }
}

/** The filtered log as a file, read page by page while it is sent. */
export function activityCsv(db: SessionClient, publicId: string, { cursor: _, ...filter }: ActivityFilter): Response {
  return streamedCsv(csvOf(db, publicId, filter), "activity.csv");
}
