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
  "note",
  "contact",
  "exported",
] as const;

/** Administrative acts, which only owners read. */
export const ownerKinds = ["key", "member", "invitation", "secret", "consent", "settings", "delivery", "actions", "plan", "site"] as const;

/** Orders besides the newest first. By who and by what, each from A or from Z, the newest of a kind first. */
export const activitySorts = ["oldest", "who", "who-z", "what", "what-z"] as const;

/** The log's filter, from the address. Unknown keys and values are ignored. */
export const activityFilter = z.object({
  actor: z.uuid().optional().catch(undefined),
  kind: z
    .enum([...activityKinds, ...ownerKinds])
    .optional()
    .catch(undefined),
  q: z.string().trim().min(1).max(80).optional().catch(undefined),
  from: z.iso.date().optional().catch(undefined),
  to: z.iso.date().optional().catch(undefined),
  /** From and to in one, in links of before. */
  day: z.iso.date().optional().catch(undefined),
  sort: z.enum(activitySorts).optional().catch(undefined),
  cursor: z.string().max(120).optional().catch(undefined),
});
export type ActivityFilter = z.output<typeof activityFilter>;

export const activityPage = z.object({
  entries: z.array(
    z.object({
      id: z.string(),
      at: z.string(),
      kind: z.enum([...activityKinds, ...ownerKinds, "other"]),
      contract: z.string(),
      entityId: z.string(),
      actorKind: z.enum(["user", "api_key", "system"]),
      actorId: z.string().nullable(),
      /** A person's address as of then, or the name of a key. */
      actorName: z.string().nullable(),
      from: z.string().nullable(),
      to: z.string(),
      note: z.string().nullable(),
      /** The role that a person was invited in. */
      role: z.string().nullable(),
      /** Which fields an act changed: before and after. */
      changes: z.record(z.string(), z.tuple([z.json(), z.json()])).nullable(),
      amountCents: z.number().nullable(),
      amountBeforeCents: z.number().nullable(),
      currency: z.string().nullable(),
      externalRef: z.string().nullable(),
      channel: z.string().nullable(),
      calledAt: z.string().nullable(),
      /** What it was about, where that has a page. */
      callId: z.string().nullable(),
      saleId: z.string().nullable(),
      rowId: z.string().nullable(),
    }),
  ),
  actors: z.array(z.object({ id: z.string(), name: z.string() })),
  next: z.string().nullable(),
  /** On the first page only; counted up to 10,000. */
  total: z.number().nullable(),
});
export type ActivityEntry = z.output<typeof activityPage>["entries"][number];

export const readActivity = (db: SessionClient, siteId: SiteId, filter: ActivityFilter & { limit?: number }) =>
  callAsUser(db, "list_activity", { p_public_id: siteId, p_filter: filter }, activityPage);

const changesText = (changes: ActivityEntry["changes"]) =>
  changes &&
  Object.entries(changes)
    .map(([field, [before, after]]) => `${field}: ${JSON.stringify(before)} > ${JSON.stringify(after)}`)
    .join("; ");

const units = (cents: number | null) => (cents === null ? null : (cents / 100).toFixed(2));

const columns: [string, (entry: ActivityEntry) => string | null][] = [
  ["time_utc", (entry) => entry.at],
  ["who", (entry) => entry.actorName ?? entry.actorKind],
  ["what", (entry) => entry.kind],
  ["who_id", (entry) => entry.actorId],
  ["record", (entry) => `${entry.contract}/${entry.entityId}`],
  ["from", (entry) => entry.from],
  ["to", (entry) => entry.to],
  ["changes", (entry) => changesText(entry.changes)],
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
