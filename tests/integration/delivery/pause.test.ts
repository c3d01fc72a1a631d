import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { keepPageView } from "#lib/oci/handout/page-views.ts";
import { become, callAs } from "#tests/fixtures/act-as.ts";
import {
  type Claimed,
  claimForScript,
  claimForWorker,
  listGroups,
  minutesLater,
  readRow,
  sealLead,
  settleClaim,
} from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings, pauseSending } from "#tests/fixtures/site.ts";
import { passGateIn } from "#tests/support/circuit.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { untilSomebodyWaits, whileOpen } from "#tests/support/while-open.ts";

let app: OciApp;
let api: OciSite;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  api = await app.newSite({ syncMethod: "api", settings: { signalsEnabled: true } });
});

const day = 1440;
const pause = (site: OciSite, untilMinute: number | null, at = minutesLater(1)) =>
  pauseSending(app.db.sql, site, untilMinute === null ? null : minutesLater(untilMinute), at);
const claim = (minute: number) => claimForWorker(app.db.sql, api, { at: minutesLater(minute) });
const signalGroups = (minute: number) =>
  service<{ site_id: string }[]>(app.db.sql, "list_signal_groups", {}, minutesLater(minute)).then((groups) =>
    groups.filter(({ site_id }) => site_id === api.siteUuid),
  );

// Guarantee: while an owner's pause lasts, nothing of the site reaches Google; when it ends, everything does.
// Mutations that break it: is_paused always false; open_connections or sendable_signals without the pause.
describe("a paused site that sends by API", () => {
  test("has no groups, passes no gate and defers nothing, until the pause ends or its owner resumes", async () => {
    await sealLead(app.db.sql, api, { step: { reporter: "system" } });
    await pause(api, 60);
    expect(await listGroups(app.db.sql, minutesLater(59), [api.siteUuid])).toEqual([]);
    expect(await signalGroups(59)).toEqual([]);
    expect(await claim(59)).toMatchObject({ gate: "PAUSED", rows: [] });
    const signals = { p_site_id: api.siteUuid, p_provider_key: "google_ads", p_limit: 10 };
    expect(await service(app.db.sql, "claim_marketing_signal_jobs", signals, minutesLater(59))).toMatchObject({ gate: "PAUSED", rows: [] });
    const wait = { p_until: minutesLater(90).toISOString(), p_code: "CIRCUIT_OPEN", p_message: "x", ...signals };
    expect(await service(app.db.sql, "defer_offline_conversion_jobs", wait, minutesLater(59))).toEqual({ deferred: 0 });
    expect(await listGroups(app.db.sql, minutesLater(60), [api.siteUuid])).toHaveLength(1);
    expect((await signalGroups(60)).length).toBe(1);
    await pause(api, null, minutesLater(30));
    expect((await claim(31)).rows).toHaveLength(1);
  });

  // Guarantee: what was taken before the pause still gets its answer, and only the next claim is kept back.
  test("settles, recovers and expires as before", async () => {
    const rows = [await sealLead(app.db.sql, api), await sealLead(app.db.sql, api), await sealLead(app.db.sql, api)];
    const [first, lost] = [
      await claimForWorker(app.db.sql, api, { limit: 1, at: minutesLater(1) }),
      await claimForWorker(app.db.sql, api, { limit: 1, at: minutesLater(1) }),
    ];
    await pause(api, 89 * day, minutesLater(2));
    expect(await settleClaim(app.db.sql, api, first, { outcome: "COMPLETED" }, { at: minutesLater(3) })).toMatchObject({ completed: 1 });
    await service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(30));
    expect((await readRow(app.db.sql, lost.rows[0]?.id ?? "")).status).toBe("RETRY");
    await pause(api, 91 * day, minutesLater(3 * day));
    await service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(90 * day + 10));
    const ends = await Promise.all(rows.map(async ({ id }) => (await readRow(app.db.sql, id)).provider_error_code));
    expect(ends.toSorted()).toEqual(["CLICK_EXPIRED", "CLICK_EXPIRED", null]);
  });

  // Mutation that breaks it: settle_and_claim without is_paused.
  test("takes a whole batch's answer and gives no next one", async () => {
    await sealLead(app.db.sql, api);
    const { token, rows, batch } = await claimForWorker(app.db.sql, api, { limit: 1, at: minutesLater(1) });
    await sealLead(app.db.sql, api);
    await pause(api, day, minutesLater(2));
    const args = {
      p_site_id: api.siteUuid,
      p_provider_key: "google_ads",
      p_token: token,
      p_ids: rows.map(({ id }) => id),
      p_indexes: [0],
      p_sent: { transport: "ads_api", requestId: "r-1" },
      p_batch: { provider: "google_ads", outcome: "success", credentialsVersion: batch.credentialsVersion, durationMs: 5 },
      p_limit: 10,
    };
    expect(await service(app.db.sql, "settle_and_claim_conversion_jobs", args, minutesLater(3))).toEqual({
      completed: 1,
      left: 0,
      claim: null,
    });
  });

  // Guarantee: an owner who pressed Pause is believed at once. Mutation: read the site before the provider's lock in pass_gate.
  test("a claim that began while the pause was being set sees it", async () => {
    await sealLead(app.db.sql, api);
    const seen = await whileOpen(
      app.db.sql,
      async (tx) => {
        await become(tx, api.owner.id, minutesLater(1));
        await tx`select public.pause_sending(${api.siteId}, ${minutesLater(60)}, 'Wrong values')`;
      },
      () => claim(2),
    );
    expect(seen).toMatchObject({ gate: "PAUSED", rows: [] });
  });

  test("a pause waits for a claim under way, and the next claim sees it", async () => {
    await sealLead(app.db.sql, api);
    await whileOpen(
      app.db.sql,
      async (tx) => expect((await passGateIn(tx, api, minutesLater(1))).gate).toBe("CLOSED"),
      () => pause(api, 60),
    );
    expect(await claim(2)).toMatchObject({ gate: "PAUSED", rows: [] });
  });
});

describe("a paused site that sends by script", () => {
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

  // Mutations that break it: export_page without is_paused; the header left out; pageViews left as it is.
  test("is handed an empty list with the pause's end, and everything afterwards", async () => {
    const site = await app.newSite({ settings: { signalsEnabled: true, pageViewsEnabled: true } });
    await sealLead(app.db.sql, site, { at: hoursAgo(3), step: { reporter: "system" } });
    await keepPageView(site.siteId, {
      gclid: "gclid-1",
      wbraid: "",
      gbraid: "",
      visitor: randomUUID(),
      viewedAt: hoursAgo(2).toISOString(),
    });
    const token = await app.session(site);
    const until = new Date(Date.now() + 3_600_000);
    await pauseSending(app.db.sql, site, until);
    const paused = await app.exportRows(site, token);
    expect([paused.status, await paused.json(), paused.headers.get("x-opsmantik-paused-until")]).toEqual([200, [], until.toISOString()]);
    expect(await (await app.exportRows(site, token, false)).json()).toMatchObject({ items: [], pausedUntil: expect.any(String) });
    await pauseSending(app.db.sql, site, null);
    const after = await app.exportRows(site, token);
    expect([(await after.json()).length, after.headers.get("x-opsmantik-paused-until")]).toEqual([3, null]);
  });

  // Guarantee: page views that were taken before a pause, and not handed out yet, wait again. Mutation: leave the last question out of takePageViews.
  test.each([
    ["pauses sending", (site: OciSite) => pauseSending(app.db.sql, site, new Date(Date.now() + 3_600_000))],
    ["switches page views off", (site: OciSite) => deliverySettings(app.db.sql, site, { pageViewsEnabled: false })],
  ])("an owner %s while a script's page views are being taken: none goes, and none is lost", async (_what, stop) => {
    const site = await app.newSite({ settings: { pageViewsEnabled: true } });
    const view = { gclid: "gclid-1", wbraid: "", gbraid: "", visitor: randomUUID(), viewedAt: hoursAgo(2).toISOString() };
    await keepPageView(site.siteId, view);
    const token = await app.session(site);
    const taking = await app.db.sql.begin(async (tx) => {
      await tx`lock table public.consent_choices in access exclusive mode`; // the script's views are out of the queue and wait here
      const exporting = app.exportRows(site, token);
      await untilSomebodyWaits(app.db.sql);
      await stop(site);
      return { exporting };
    });
    expect(await (await taking.exporting).json()).toEqual([]);
    await pauseSending(app.db.sql, site, null);
    await deliverySettings(app.db.sql, site, { pageViewsEnabled: true });
    expect(await (await app.exportRows(site, token)).json()).toMatchObject([{ gclid: "gclid-1" }]);
  });

  // Guarantee: a page that was read before the pause hands nothing out after it. Mutation: the claims without `for share`.
  test.each([
    ["conversions", (site: OciSite, id: string) => claimForScript(app.db.sql, site, [id], minutesLater(2))],
    [
      "signals",
      (site: OciSite) =>
        service<Claimed>(app.db.sql, "claim_marketing_signals", { p_site_id: site.siteUuid, p_limit: 10 }, minutesLater(2)),
    ],
  ])("a claim of %s while the pause was being set sees it", async (_what, claimNow) => {
    const site = await app.newSite({ settings: { signalsEnabled: true } });
    const { id } = await sealLead(app.db.sql, site, { step: { reporter: "system" } });
    const seen = await whileOpen(
      app.db.sql,
      async (tx) => {
        await become(tx, site.owner.id, minutesLater(1));
        await tx`select public.pause_sending(${site.siteId}, ${minutesLater(60)}, 'Wrong values')`;
      },
      () => claimNow(site, id),
    );
    expect(seen.rows).toEqual([]);
    expect((await claimNow(site, id)).rows).toEqual([]);
    await pause(site, null);
    expect((await claimNow(site, id)).rows).toHaveLength(1);
  });
});

const as = (site: OciSite, statement: (tx: Parameters<Parameters<typeof callAs>[2]>[0]) => ReturnType<Parameters<typeof callAs>[2]>) =>
  callAs(app.db.sql, site.owner, statement, minutesLater(1));

// Guarantee: an owner learns before the pause what it costs. Mutation: compare with now instead of the pause's end.
test("the preview counts what expires before the pause ends", async () => {
  await sealLead(app.db.sql, api);
  await sealLead(app.db.sql, api, { at: minutesLater(-10 * day) });
  const preview = (untilDay: number) => as(api, (tx) => tx`select public.preview_pause(${api.siteId}, ${minutesLater(untilDay * day)})`);
  expect(await preview(79)).toEqual({ waiting: 2, inFlight: 0, expiring: 0, viewsExpire: false });
  expect(await preview(81)).toEqual({ waiting: 2, inFlight: 0, expiring: 1, viewsExpire: false });
  expect(await preview(90)).toEqual({ waiting: 2, inFlight: 0, expiring: 2, viewsExpire: false });
});

// Mutation: leave out the three days.
test("the preview says when page views would not wait long enough", async () => {
  const site = await app.newSite({ settings: { pageViewsEnabled: true } });
  const preview = (days: number) =>
    as(site, (tx) => tx`select public.preview_pause(${site.siteId}, ${minutesLater(days * day)})`) as Promise<{ viewsExpire: boolean }>;
  expect([(await preview(2)).viewsExpire, (await preview(4)).viewsExpire]).toEqual([false, true]);
});

test.each([
  ["that is over", minutesLater(0), "x"],
  ["longer than a click lives", minutesLater(90 * day + 2), "x"],
  ["without a reason", minutesLater(60), null],
  ["with a blank reason", minutesLater(60), " "],
])("a pause %s is refused", async (_what, until, reason) => {
  await expect(as(api, (tx) => tx`select public.pause_sending(${api.siteId}, ${until}, ${reason})`)).rejects.toMatchObject({
    code: "PT400",
  });
});
