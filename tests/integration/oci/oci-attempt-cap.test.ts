import { afterAll, beforeAll, expect, test } from "vitest";
import { GET as capCron } from "#app/api/cron/oci/attempt-cap/route.ts";
import { GET as recoverCron } from "#app/api/cron/providers/recover-processing/route.ts";
import { claimForScript, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { send } from "#tests/support/requests.ts";

let app: OciApp;
let site: OciSite;
beforeAll(async () => {
  app = await startOciApp();
  site = await app.newSite();
});
afterAll(() => app.stop());

/** Claimed so often, each time 20 minutes after the last and never answered for; the last claim stands. */
async function claimedTimes(attempts: number): Promise<{ id: string; lastClaimAt: number }> {
  const { id } = await sealLead(app.db.sql, site);
  for (let attempt = 1; attempt < attempts; attempt++) {
    await claimForScript(app.db.sql, site, [id], minutesLater(attempt * 20));
    await service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(attempt * 20 + 16));
  }
  await claimForScript(app.db.sql, site, [id], minutesLater(attempts * 20));
  return { id, lastClaimAt: attempts * 20 };
}
const cap = (minute: number, args: Record<string, number> = {}) => service(app.db.sql, "oci_attempt_cap", args, minutesLater(minute));
const recover = (minute: number) => service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute));

// Guarantee: nothing is tried for ever, and nothing is given up one attempt early.
test.each([
  [4, "RETRY", null],
  [5, "FAILED", "MAX_ATTEMPTS"],
])("after %i attempts the cap leaves the row %s", async (attempts, status, code) => {
  const { id, lastClaimAt } = await claimedTimes(attempts);
  await recover(lastClaimAt + 16);
  await cap(lastClaimAt + 17);
  expect(await readRow(app.db.sql, id)).toMatchObject({ status, provider_error_code: code, attempt_count: attempts });
  if (code)
    expect(await readRow(app.db.sql, id)).toMatchObject({ provider_error_category: "PERMANENT", last_error: "MAX_ATTEMPTS_EXCEEDED" });
});

// Guarantee: an upload in flight is never declared dead, whatever the cron is called with.
// Mutation that breaks it: greatest(p_min_age_minutes, 0) instead of 15 for PROCESSING rows.
test("the last attempt is left alone for 15 minutes, with every argument", async () => {
  const { id, lastClaimAt } = await claimedTimes(5);
  for (const p_min_age_minutes of [0, 5, -1]) {
    await cap(lastClaimAt + 14.9, { p_min_age_minutes });
    expect((await readRow(app.db.sql, id)).status).toBe("PROCESSING");
  }
  await cap(lastClaimAt + 20, { p_min_age_minutes: 30 });
  expect((await readRow(app.db.sql, id)).status).toBe("PROCESSING");
  await cap(lastClaimAt + 15, { p_min_age_minutes: 0 });
  expect((await readRow(app.db.sql, id)).status).toBe("FAILED");
});

// Guarantee: Google has it, so it is delivered, whatever we thought meanwhile; and it is one conversion.
test("a success that is told after the cap still counts, once", async () => {
  const { id, lastClaimAt } = await claimedTimes(5);
  await cap(lastClaimAt + 16);
  const ack = () =>
    service(app.db.sql, "ack_offline_conversions", { p_site_id: site.siteUuid, p_ids: [id] }, minutesLater(lastClaimAt + 17));
  expect([await ack(), await ack()]).toEqual([
    { updated: 1, refused: [] },
    { updated: 1, refused: [] },
  ]);
  expect(await readRow(app.db.sql, id)).toMatchObject({ status: "COMPLETED", last_error: null, provider_error_code: null });
  const told = await app.db.sql`select from public.provider_dispatches where queue_id = ${id}`;
  expect(told).toHaveLength(1);
});

test("min age spares rows that were touched a moment ago", async () => {
  const { id, lastClaimAt } = await claimedTimes(5);
  await recover(lastClaimAt + 16);
  await cap(lastClaimAt + 20, { p_min_age_minutes: 15 });
  expect((await readRow(app.db.sql, id)).status).toBe("RETRY");
  expect((await claimForScript(app.db.sql, site, [id], minutesLater(lastClaimAt + 21))).rows).toEqual([]); // no attempt is left
  await cap(lastClaimAt + 31, { p_min_age_minutes: 15 });
  expect((await readRow(app.db.sql, id)).status).toBe("FAILED");
});

test("the crons answer what they changed, and only to who knows their secret", async () => {
  const call = (route: typeof capCron, query: string, secret = app.env.CRON_SECRET) =>
    send(route, { method: "GET", path: `/api/cron/x${query}`, headers: { authorization: `Bearer ${secret}` } });
  expect(await (await call(capCron, "")).json()).toEqual({ ok: true, capped: expect.any(Number) });
  expect(await (await call(recoverCron, "?min_age_minutes=15")).json()).toEqual({
    ok: true,
    recovered: expect.any(Number),
    endedBatches: 0,
    retried: expect.any(Number),
    expired: expect.any(Number),
    signals: { recovered: 0, ended: 0 },
    pageViews: 0,
    purgedRuns: 0,
    purgedHashes: expect.any(Number),
    purgedIdentifiers: expect.any(Number), // what was handed out 90 days before the day on which this runs
  });
  expect((await call(capCron, "?max_attempts=0")).status).toBe(400);
  expect((await call(recoverCron, "?min_age_minutes=x")).status).toBe(400);
  expect([(await call(capCron, "", "wrong")).status, (await call(recoverCron, "", "wrong")).status]).toEqual([401, 401]);
});
