import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redis } from "#lib/platform/redis.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import { claimForScript, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { type OciApp, type OciSite, serveOciRoutes, startOciApp } from "#tests/support/oci-app.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
async function exported(site: OciSite): Promise<{ id: string; saleId: string; token: string }> {
  const sealed = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
  const token = await app.session(site);
  expect(await (await app.exportRows(site, token)).json()).toHaveLength(1);
  return { ...sealed, token };
}
const shape = { error: expect.any(String), message: expect.any(String) };

describe("ack-failed", () => {
  // Guarantee: what the script could not hand over is neither lost nor called delivered.
  test("TRANSIENT: the row fails with a time at which it comes back, and comes back", async () => {
    const site = await app.newSite();
    const { id, token } = await exported(site);
    const failure = { queueIds: [`seal_${id}`], errorCode: "APPLY_FAILED", errorMessage: "Service error", errorCategory: "TRANSIENT" };
    const response = await app.ackFailed(site, token, failure);
    expect([response.status, await response.json()]).toEqual([200, { ok: true, updated: 1 }]);
    const row = await readRow(app.db.sql, id);
    const again = await app.ackFailed(site, token, failure); // its answer was lost on the way
    expect([again.status, await again.json()]).toEqual([200, { ok: true, updated: 1 }]);
    expect(await readRow(app.db.sql, id)).toEqual(row);
    expect(row).toMatchObject({
      status: "FAILED",
      provider_error_code: "APPLY_FAILED",
      provider_error_category: "TRANSIENT",
      last_error: "Service error",
      claimed_at: null,
      claim_token: null,
    });
    const waitMinutes = (row.next_retry_at.getTime() - row.updated_at.getTime()) / 60_000;
    expect(waitMinutes).toBeGreaterThanOrEqual(1.5); // two minutes, a quarter more or less
    expect(waitMinutes).toBeLessThanOrEqual(2.5);
    await service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(3, new Date()));
    expect(await readRow(app.db.sql, id)).toMatchObject({ status: "RETRY", next_retry_at: null });
    expect((await claimForScript(app.db.sql, site, [id], minutesLater(4, new Date()))).rows).toMatchObject([{ attemptCount: 2 }]);
  });

  test("says VALIDATION_FAILED and is final when nothing more is given", async () => {
    const site = await app.newSite();
    const { id, token } = await exported(site);
    await app.ackFailed(site, token, { queueIds: [`seal_${id}`] });
    expect(await readRow(app.db.sql, id)).toMatchObject({
      status: "FAILED",
      provider_error_code: "VALIDATION_FAILED",
      provider_error_category: "VALIDATION",
      next_retry_at: null,
    });
  });

  test("TRANSIENT with no attempt left is MAX_ATTEMPTS at once", async () => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site);
    for (let attempt = 1; attempt <= 5; attempt++) {
      await claimForScript(app.db.sql, site, [id], minutesLater(attempt * 200));
      const args = { p_site_id: site.siteUuid, p_ids: [id], p_code: "APPLY_FAILED", p_category: "TRANSIENT", p_message: "threw" };
      await service(app.db.sql, "fail_offline_conversions", args, minutesLater(attempt * 200 + 1));
      await service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(attempt * 200 + 100));
    }
    expect(await readRow(app.db.sql, id)).toMatchObject({
      status: "FAILED",
      attempt_count: 5,
      provider_error_code: "MAX_ATTEMPTS",
      provider_error_category: "PERMANENT",
      next_retry_at: null,
      last_error: "MAX_ATTEMPTS_EXCEEDED: threw",
    });
  });

  test("late news of a failure does not undo a success, nor touch a row that waits", async () => {
    const site = await app.newSite();
    const { id, token } = await exported(site);
    await app.ack(site, token, [`seal_${id}`]);
    const before = await readRow(app.db.sql, id);
    expect(await (await app.ackFailed(site, token, { queueIds: [`seal_${id}`] })).json()).toEqual({ ok: true, updated: 0 });
    expect(await readRow(app.db.sql, id)).toEqual(before);
  });

  test("signals wait again, page views and strange ids are refused by name", async () => {
    const site = await app.newSite({ settings: { signalsEnabled: true } });
    await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const token = await app.session(site);
    const items: { id: string }[] = await (await app.exportRows(site, token)).json();
    const signal = items.find(({ id }) => id.startsWith("signal_"))?.id ?? "";
    const view = `pv_${randomUUID()}`;
    const response = await app.ackFailed(site, token, { queueIds: [signal, view, "seal_1"], errorCategory: "TRANSIENT" });
    expect(await response.json()).toEqual({ ok: true, updated: 1, warnings: { refused: ["seal_1", view] } });
    const [row] = await app.db
      .sql`select dispatch_status, attempt_count, next_retry_at, claim_token from public.marketing_signals where site_id = ${site.siteUuid}`;
    expect(row).toMatchObject({ dispatch_status: "PENDING", attempt_count: 1, next_retry_at: expect.any(Date), claim_token: null });
  });

  // Guarantee: apply() that throws is reported by the script itself, whatever it throws.
  test("the script reports an apply() that throws, and its rows are FAILED(TRANSIENT)", async () => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const { url, stop } = await serveOciRoutes();
    const account = new AdsAccount({ OPSMANTIK_SITE_ID: site.siteId, OPSMANTIK_API_KEY: site.key, OPSMANTIK_BASE_URL: url });
    const run = await account.runScript({ applyThrowsAt: [1] });
    await stop();
    expect(run.error).toContain("1 failed");
    expect(await readRow(app.db.sql, id)).toMatchObject({
      status: "FAILED",
      provider_error_category: "TRANSIENT",
      provider_error_code: "APPLY_FAILED",
      next_retry_at: expect.any(Date),
    });
  });
});

describe("ack", () => {
  test("the same one twice gets the same answer and is one dispatch", async () => {
    const site = await app.newSite();
    const { id, token } = await exported(site);
    const answers = [await app.ack(site, token, [`seal_${id}`, `seal_${id}`]), await app.ack(site, token, [`seal_${id}`])];
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { ok: true, updated: 1 },
      { ok: true, updated: 1 },
    ]);
    expect(await readRow(app.db.sql, id)).toMatchObject({ status: "COMPLETED", uploaded_at: expect.any(Date), claim_token: null });
    const told = await app.db.sql`select transport, value_cents::int as value from public.provider_dispatches where queue_id = ${id}`;
    expect(told.map((row) => ({ ...row }))).toEqual([{ transport: "script", value: 425_000 }]);
  });

  // Guarantee: a customer's script can settle its own conversions and nobody else's, and is told which were not.
  test("ids of another site, of nobody, and never handed out change nothing and are named", async () => {
    const [site, other] = [await app.newSite({ settings: { pageViewsEnabled: true } }), await app.newSite()];
    const mine = await exported(site);
    const theirs = await exported(other);
    const waiting = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const before = await readRow(app.db.sql, theirs.id);
    const view = `pv_${randomUUID()}`;
    await redis().set(`pv:data:${view}`, { gclid: "x" });
    const nobody = `seal_${randomUUID()}`;
    const answer = await (
      await app.ack(site, mine.token, [
        `seal_${mine.id}`,
        `seal_${theirs.id}`,
        `seal_${waiting.id}`,
        nobody,
        view,
        "other_1",
        `SEAL_${mine.id}`,
      ])
    ).json();
    expect(answer).toEqual({ ok: true, updated: 1, warnings: { refused: expect.any(Array) } });
    expect(answer.warnings.refused.toSorted()).toEqual(
      [`seal_${theirs.id}`, `seal_${waiting.id}`, nobody, view, "other_1", `SEAL_${mine.id}`].toSorted(),
    );
    expect(await readRow(app.db.sql, theirs.id)).toEqual(before);
    expect((await readRow(app.db.sql, waiting.id)).status).toBe("QUEUED");
    expect(await redis().exists(`pv:data:${view}`)).toBe(1);
  });

  test("a signal is SENT", async () => {
    const site = await app.newSite({ settings: { signalsEnabled: true } });
    await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const token = await app.session(site);
    const items: { id: string }[] = await (await app.exportRows(site, token)).json();
    expect(
      await (
        await app.ack(
          site,
          token,
          items.map(({ id }) => id),
        )
      ).json(),
    ).toEqual({ ok: true, updated: 2 });
    const [row] = await app.db.sql`select dispatch_status, google_sent_at from public.marketing_signals where site_id = ${site.siteUuid}`;
    expect(row).toMatchObject({ dispatch_status: "SENT", google_sent_at: expect.any(Date) });
  });

  test("is taken after the site switched to the API", async () => {
    const site = await app.newSite();
    const { id, token } = await exported(site);
    await app.db.sql`update public.sites set oci_sync_method = 'api' where id = ${site.siteUuid}`;
    expect(await (await app.ack(site, token, [`seal_${id}`])).json()).toEqual({ ok: true, updated: 1 });
  });

  test.each([
    [{ queueIds: [] }, 400, "VALIDATION_FAILED"],
    [{ queueIds: "seal_1" }, 400, "VALIDATION_FAILED"],
    [{ queueIds: Array.from({ length: 1001 }, () => "seal_1") }, 400, "VALIDATION_FAILED"],
  ])("refuses %j", async (body, status, code) => {
    const site = await app.newSite();
    const response = await app.ackFailed(site, await app.session(site), body as never);
    expect([response.status, await response.json()]).toEqual([status, { ...shape, code }]);
  });
});

describe("who may", () => {
  test("a session dies with its key, and speaks for one site", async () => {
    const [site, other] = [await app.newSite(), await app.newSite()];
    const { id, token } = await exported(site);
    const foreign = await app.ack(other, token, [`seal_${id}`]);
    expect([foreign.status, await foreign.json()]).toEqual([403, { ...shape, code: "FORBIDDEN" }]);
    await callAs(app.db.sql, site.owner, (tx) => tx`select public.revoke_site_api_key(${site.siteId}, ${site.keyId})`);
    const dead = await app.ack(site, token, [`seal_${id}`]);
    expect([dead.status, await dead.json()]).toEqual([401, { ...shape, code: "INVALID_SESSION_TOKEN" }]);
    expect((await readRow(app.db.sql, id)).status).toBe("PROCESSING");
  });

  test("nobody without a session", async () => {
    const site = await app.newSite();
    for (const answer of [
      await app.exportRows(site, "x"),
      await app.ack(site, "", ["seal_1"]),
      await app.ackFailed(site, "a.b", { queueIds: ["seal_1"] }),
    ])
      expect([answer.status, await answer.json()]).toEqual([401, { ...shape, code: "INVALID_SESSION_TOKEN" }]);
  });
});
