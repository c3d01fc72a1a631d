import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as exportRoute } from "#app/api/oci/google-ads-export/route.ts";
import type { ExportItem } from "#lib/oci/handout/items.ts";
import { keepPageView } from "#lib/oci/handout/page-views.ts";
import { redis } from "#lib/platform/redis.ts";
import { bulkSeal } from "#tests/fixtures/bulk-seal.ts";
import { change } from "#tests/fixtures/leads.ts";
import { readRow, sealLead } from "#tests/fixtures/queue.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { createPerson, join } from "#tests/fixtures/team.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp({ withGateway: true });
});
afterAll(() => app.stop());

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const everyPipeline = { signalsEnabled: true, pageViewsEnabled: true };

async function viewPage(site: OciSite, at: Date): Promise<string> {
  const view = { gclid: `gclid-${randomUUID()}`, wbraid: "", gbraid: "", visitor: randomUUID(), viewedAt: at.toISOString() };
  return String(await keepPageView(site.siteId, view));
}

/** Everything that an export could change. */
async function everythingOf(site: OciSite): Promise<unknown> {
  const rows = await app.db.sql`select * from public.offline_conversion_queue where site_id = ${site.siteUuid} order by id`;
  const signals = await app.db.sql`select * from public.marketing_signals where site_id = ${site.siteUuid} order by id`;
  const lists = await Promise.all(["queue", "processing"].map((set) => redis().zrange<string[]>(`pv:${set}:${site.siteId}`, 0, -1)));
  const data = await Promise.all(lists.flat().map((id) => redis().get(`pv:data:${id}`)));
  const moves = await app.db.sql`select count(*)::int as moves from public.queue_transitions where site_id = ${site.siteUuid}`;
  return JSON.parse(JSON.stringify({ rows, signals, lists, data, moves }));
}

describe("markAsExported=true", () => {
  test("is a flat list in the order of the conversions, in the shape that scripts read", async () => {
    const site = await app.newSite({ settings: everyPipeline });
    const view = await viewPage(site, hoursAgo(1));
    const late = await sealLead(app.db.sql, site, { at: hoursAgo(2), amountCents: 150_050 });
    const early = await sealLead(app.db.sql, site, { at: hoursAgo(30) });
    const response = await app.exportRows(site, await app.session(site));
    expect([response.status, response.headers.get("x-opsmantik-more")]).toEqual([200, null]);
    const items: ExportItem[] = await response.json();
    expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining([`seal_${early.id}`, `seal_${late.id}`, view]));
    expect(countKinds(items)).toEqual({ seal: 2, signal: 2, pv: 1 });
    expect(items.find(({ id }) => id === `seal_${late.id}`)).toEqual({
      id: `seal_${late.id}`,
      orderId: expect.stringMatching(/^om_[0-9a-f]{32}$/),
      gclid: expect.stringMatching(/^gclid-/),
      wbraid: "",
      gbraid: "",
      conversionName: "OpsMantik_V5_DEMIR_MUHUR",
      conversionTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+0300$/),
      conversionValue: 1500.5,
      conversionCurrency: "TRY",
      claim: (await readRow(app.db.sql, late.id)).claim_token,
    });
    expect(items.find(({ id }) => id === view)).toMatchObject({
      conversionName: "OpsMantik_V1_Nabiz",
      conversionValue: 0,
      orderId: view,
      claim: "",
    });
    const times = items.map(({ conversionTime }) => Date.parse(conversionTime.replace(" ", "T").replace(/(\d\d)$/, ":$1")));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  // Guarantee: attempt_count counts hand-outs, so that the cap can end what never succeeds.
  test("spends one attempt of each row, claims it, and hands nothing out twice", async () => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const token = await app.session(site);
    expect(await (await app.exportRows(site, token)).json()).toHaveLength(1);
    expect(await readRow(app.db.sql, id)).toMatchObject({ status: "PROCESSING", attempt_count: 1, claimed_at: expect.any(Date) });
    expect(await (await app.exportRows(site, token)).json()).toEqual([]);
    expect((await readRow(app.db.sql, id)).attempt_count).toBe(1);
  });

  test("says that more waits, and gives seals before all else", async () => {
    const site = await app.newSite({ settings: { ...everyPipeline, signalsDailyMax: 1000 } });
    await bulkSeal(app.db.sql, site, 505, { at: hoursAgo(3) });
    await viewPage(site, hoursAgo(3));
    const token = await app.session(site);
    const pages = [await app.exportRows(site, token), await app.exportRows(site, token), await app.exportRows(site, token)];
    const kinds = await Promise.all(pages.map(async (page) => countKinds(await page.json())));
    expect(kinds).toEqual([{ seal: 500 }, { seal: 5, signal: 495 }, { signal: 10, pv: 1 }]);
    expect(pages.map((page) => page.headers.get("x-opsmantik-more"))).toEqual(["true", "true", null]);
  }, 120_000);

  test("an owner who did not switch them on sends neither signals nor page views", async () => {
    const site = await app.newSite();
    await viewPage(site, hoursAgo(3));
    await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    expect(countKinds(await (await app.exportRows(site, await app.session(site))).json())).toEqual({ seal: 1 });
    expect(await redis().zcard(`pv:queue:${site.siteId}`)).toBe(1);
  });

  test("what cannot be sent is told to the operator instead of being claimed", async () => {
    const site = await app.newSite();
    const good = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const erased = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const expired = await sealLead(app.db.sql, site, { at: hoursAgo(89 * 24) });
    await app.db.sql`update public.sales set gclid = null where id = ${erased.saleId}`; // what an erasure leaves behind
    await app.db.sql`update public.offline_conversion_queue set click_expires_at = now() where id = ${expired.id}`; // the days that pass
    const items: ExportItem[] = await (await app.exportRows(site, await app.session(site))).json();
    expect(items.map(({ id }) => id)).toEqual([`seal_${good.id}`]);
    expect(await readRow(app.db.sql, erased.id)).toMatchObject({
      status: "FAILED",
      provider_error_code: "NO_CLICK_ID",
      provider_error_category: "VALIDATION",
      attempt_count: 0,
      last_error: expect.stringContaining("no Google click id"),
    });
    expect(await readRow(app.db.sql, expired.id)).toMatchObject({ status: "FAILED", provider_error_code: "CLICK_EXPIRED" });
  });

  // Guarantee: two exports never hand out the same conversion. Mutation that breaks it: answer with the rows that were asked for.
  test("two exports at the same moment share no row", async () => {
    const site = await app.newSite();
    const ids = await bulkSeal(app.db.sql, site, 20, { at: hoursAgo(2) });
    const claim = (tx: Parameters<typeof callIn>[0]) =>
      callIn<{ rows: { id: string }[] }>(tx, "claim_offline_conversion_rows_for_script_export", { p_ids: ids, p_site_id: site.siteUuid });
    // Both have seen all twenty as waiting; the first has claimed and not committed when the second asks.
    let first: { rows: { id: string }[] } | undefined;
    const second = await app.db.sql.begin(async (one) => {
      first = await claim(one);
      return await app.db.sql.begin(async (two) => claim(two));
    });
    expect([first?.rows.length, second.rows.length]).toEqual([20, 0]);
    expect(new Set(first?.rows.map(({ id }) => id))).toEqual(new Set(ids));
  });

  test("a correction that waits for the claim does not change what was handed out, and is sent as a correction afterwards", async () => {
    const site = await app.newSite();
    const sealed = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    await whileOpen(
      app.db.sql,
      (tx) => callIn(tx, "claim_offline_conversion_rows_for_script_export", { p_ids: [sealed.id], p_site_id: site.siteUuid }),
      () => change(app.db.sql, { team: site }, "correct_sale", { id: sealed.saleId, amountCents: 1_000 }),
    );
    expect(await readRow(app.db.sql, sealed.id)).toMatchObject({ status: "PROCESSING", value_cents: "425000" });
    await service(app.db.sql, "ack_offline_conversions", { p_site_id: site.siteUuid, p_ids: [sealed.id] });
    const rows = await app.db
      .sql`select kind, value_cents::int as value, status from public.offline_conversion_queue where sale_id = ${sealed.saleId} order by kind`;
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { kind: "CONVERSION", value: 425_000, status: "COMPLETED" },
      { kind: "RESTATE", value: 1_000, status: "QUEUED" },
    ]);
  });

  test("is refused on a site that sends by API", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    for (const isMarking of [true, false]) {
      const response = await app.exportRows(site, await app.session(site), isMarking);
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: expect.any(String), code: "WRONG_SYNC_METHOD", message: expect.any(String) },
      ]);
    }
  });
});

describe("markAsExported=false", () => {
  // Guarantee: looking changes nothing.
  test("says what would be sent, in the dashboard's shape, and changes nothing in Postgres or Redis", async () => {
    const site = await app.newSite({ settings: everyPipeline });
    await viewPage(site, hoursAgo(3));
    await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const erased = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    await app.db.sql`update public.sales set gclid = null where id = ${erased.saleId}`; // what an erasure leaves behind
    const token = await app.session(site);
    const before = await everythingOf(site);
    const response = await app.exportRows(site, token, false);
    const preview = await response.json();
    expect(preview).toEqual({
      siteId: site.siteId,
      items: expect.any(Array),
      counts: { queued: 2, skipped: 1 },
      warnings: [`seal_${erased.id}: NO_CLICK_ID`],
    });
    expect(countKinds(preview.items)).toEqual({ seal: 1, signal: 2, pv: 1 });
    expect(await everythingOf(site)).toEqual(before);
    expect(JSON.stringify(preview)).not.toContain(site.siteUuid);
  });

  const asMember = (site: OciSite, cookie: string, isMarking = false) =>
    send(exportRoute, {
      method: "GET",
      path: `/api/oci/google-ads-export?siteId=${site.siteId}&markAsExported=${isMarking}`,
      headers: fromOurPage(cookie),
    });

  test("a member sees the same on the dashboard, on API sites too, and may not take anything", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    const viewer = await createPerson(app.db.sql, "viewer@oci.test");
    const stranger = await createPerson(app.db.sql, "stranger@oci.test");
    await join(app.db.sql, site, viewer, "viewer");
    const sealed = await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const cookie = await cookiesOf(app.gateway, viewer);
    const preview = await (await asMember(site, cookie)).json();
    expect(preview.items.map(({ id }: ExportItem) => id)).toEqual([`seal_${sealed.id}`]);
    const taking = await asMember(site, cookie, true);
    expect([taking.status, (await taking.json()).code]).toEqual([403, "FORBIDDEN"]);
    expect((await asMember(site, await cookiesOf(app.gateway, stranger))).status).toBe(404);
    expect((await readRow(app.db.sql, sealed.id)).status).toBe("QUEUED");
  });

  // Guarantee: a person who looks sees no click id whole, whichever pipeline it came through.
  test("a member sees click ids masked", async () => {
    const site = await app.newSite({ settings: everyPipeline });
    const viewer = await createPerson(app.db.sql, "masked@oci.test");
    await join(app.db.sql, site, viewer, "viewer");
    await viewPage(site, hoursAgo(3));
    await sealLead(app.db.sql, site, { at: hoursAgo(2) });
    const { items } = await (await asMember(site, await cookiesOf(app.gateway, viewer))).json();
    expect(countKinds(items)).toEqual({ seal: 1, signal: 1, pv: 1 });
    for (const { gclid } of items) expect(gclid).toMatch(/^gclid-….{4}$/);
  });
});

function countKinds(items: ExportItem[]): Record<string, number> {
  const kinds = items.map(({ id }) => id.split("_")[0] ?? "");
  return Object.fromEntries([...new Set(kinds)].map((kind) => [kind, kinds.filter((each) => each === kind).length]));
}
