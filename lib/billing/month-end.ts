import { z } from "zod";
import { callRpc, untilDone } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";
import { redis } from "#lib/platform/redis.ts";
import { storedSiteId } from "#lib/site.ts";
import { shiftMonth } from "./year-month.ts";

/** The crons of billing. Each repeats short calls until nothing is left or its time is over; the next run continues. */

/** A cron that missed its days catches up this many months; the ledger keeps a month until its invoice exists. */
const catchUpMonths = 3;
const usageKeySeconds = 40 * 86_400;

const reconciliation = z.object({
  reconciled: z.array(z.object({ siteId: storedSiteId, yearMonth: z.string(), eventCount: z.number(), drift: z.number() })),
  more: z.boolean(),
  waiting: z.number(),
});
const freezing = z.object({ frozen: z.number(), more: z.boolean(), waiting: z.number() });
const purging = z.object({ purged: z.number() });

type Reconciled = z.output<typeof reconciliation>["reconciled"];

/** Running figures follow the ledger, and Redis follows Postgres; nothing goes the other way. */
export async function reconcileUsage(): Promise<{ reconciled: number; drifted: number }> {
  const all: Reconciled = [];
  await untilDone(async () => {
    const { reconciled, more, waiting } = await callRpc("reconcile_usage", {}, reconciliation);
    await correctRedis(reconciled);
    all.push(...reconciled);
    if (!more && waiting > 0) log.warn("usage waits for a transaction that has been open for long", { sites: waiting });
    return more;
  });
  const drifted = all.filter(({ drift }) => drift !== 0);
  if (drifted.length > 0) log.warn("usage corrected", { drifted });
  return { reconciled: all.length, drifted: drifted.length };
}

/** `usage:{site}:{month}` is a quick figure for readers. Without Redis it is missing, and nothing else changes. */
async function correctRedis(rows: Reconciled): Promise<void> {
  if (rows.length === 0) return;
  try {
    const pipeline = redis().pipeline();
    for (const { siteId, yearMonth, eventCount } of rows) pipeline.set(`usage:${siteId}:${yearMonth}`, eventCount, { ex: usageKeySeconds });
    await pipeline.exec();
  } catch (error) {
    log.warn("usage keys were not written", { error });
  }
}

export async function freezeInvoices(now = new Date()): Promise<{ frozen: number }> {
  const thisMonth = now.toISOString().slice(0, 7);
  let frozen = 0;
  // The oldest first: a late row of one month is a line in the next.
  for (let back = catchUpMonths; back >= 1; back--) {
    const month = shiftMonth(thisMonth, -back);
    await untilDone(async () => {
      const { frozen: made, more, waiting } = await callRpc("freeze_invoices", { p_year_month: month }, freezing);
      frozen += made;
      if (!more && waiting > 0) log.warn("invoices wait for a transaction that has been open for long", { month, sites: waiting });
      return more;
    });
  }
  return { frozen };
}

export async function purgeExpiredKeys(): Promise<{ purged: number }> {
  let total = 0;
  await untilDone(async () => {
    const { purged } = await callRpc("purge_expired_idempotency", {}, purging);
    total += purged;
    return purged > 0;
  });
  await untilDone(async () => (await callRpc("purge_usage_origins", {}, purging)).purged > 0);
  return { purged: total };
}
