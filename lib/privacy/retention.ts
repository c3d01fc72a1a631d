import { z } from "zod";
import { callRpc, untilDone } from "#lib/db/call-rpc.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { env } from "#lib/env.ts";
import { viewsKeptDays } from "#lib/oci/handout/page-views.ts";
import type { SiteId } from "#lib/site.ts";

/** How long this installation keeps what, from its settings and from the one rule that lives in Redis. */
export function retentionPeriods() {
  const { RETENTION_EVENTS_MONTHS, RETENTION_PERSONAL_MONTHS, RETENTION_FAILED_DAYS, RETENTION_REVOKED_KEYS_DAYS } = env();
  return {
    eventsMonths: RETENTION_EVENTS_MONTHS,
    personalMonths: RETENTION_PERSONAL_MONTHS,
    failedDays: RETENTION_FAILED_DAYS,
    revokedKeysDays: RETENTION_REVOKED_KEYS_DAYS,
    pageViewDays: viewsKeptDays,
  };
}
export type RetentionPeriods = ReturnType<typeof retentionPeriods>;

const step = z.object({ isDone: z.boolean(), removed: z.record(z.string(), z.number()) });

/** Removes what is past its time, step by step, for at most 20 seconds. The next run continues. */
export async function runRetention() {
  const removed: Record<string, number> = {};
  await untilDone(async () => {
    const done = await callRpc("run_retention", { p_periods: retentionPeriods() }, step);
    for (const [kind, rows] of Object.entries(done.removed)) removed[kind] = (removed[kind] ?? 0) + rows;
    return !done.isDone;
  });
  return { removed };
}

const removedKinds = ["events", "visits", "leads", "sales", "notes", "captured"] as const;

const siteRetention = z.object({
  /** The owner's own choice, if there is one. */
  personalMonths: z.number().nullable(),
  /** At most; not a setting, but a rule of the crons that delete it. */
  keptDays: z.object({ customerHashes: z.number(), handedOut: z.number(), origins: z.number() }),
  /** `rows` is null for what is removed for all sites at once. */
  removed: z.array(z.object({ kind: z.enum(removedKinds), until: z.string(), at: z.string(), rows: z.number().nullable() })),
});
export type SiteRetention = z.output<typeof siteRetention>;

export const readRetention = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "site_retention", { p_public_id: siteId }, siteRetention);

/** Null: as the installation has it. */
export const retentionInput = z.object({ personalMonths: z.number().int().min(4).max(120).nullable() });

export const setRetention = (db: SessionClient, siteId: SiteId, { personalMonths }: z.output<typeof retentionInput>) =>
  callAsUser(
    db,
    "set_site_retention",
    { p_public_id: siteId, p_personal_months: personalMonths as number }, // SQL takes null; the generated type does not say so
    z.object({ ok: z.literal(true) }),
  );
