import { z } from "zod";
import { pagedCsv } from "#lib/csv/paged-csv.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";

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
  "erased",
] as const;

/** The log's filter, from the address. Unknown keys and values are ignored. */
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

export const readActivity = (db: SessionClient, siteId: SiteId, filter: ActivityFilter & { limit?: number }) =>
  callAsUser(db, "list_activity", { p_public_id: siteId, p_filter: filter }, activityPage);

const units = (cents: number | null) => (cents === null ? null : (cents / 100).toFixed(2));

const columns: [string, (entry: ActivityEntry) => string | null][] = [
  ["time_utc", (entry) => entry.at],
  ["who", (entry) => entry.actorName ?? entry.actorKind],
  ["what", (entry) => entry.kind],
  ["record", (entry) => `${entry.contract}/${entry.entityId}`],
  ["from", (entry) => entry.from],
  ["to", (entry) => entry.to],
  ["amount_before", (entry) => units(entry.amountBeforeCents)],
  ["amount", (entry) => units(entry.amountCents)],
  ["currency", (entry) => entry.currency],
  ["note", (entry) => entry.note],
  ["proof", (entry) => entry.id],
];

/** The filtered log as a file. */
export const activityCsv = (db: SessionClient, siteId: SiteId, { cursor: _, ...filter }: ActivityFilter) =>
  pagedCsv({
    name: "activity.csv",
    columns,
    read: async (cursor) => {
      const { entries, next } = await readActivity(db, siteId, { ...filter, limit: 500, ...(cursor && { cursor }) });
      return { rows: entries, next };
    },
  });
