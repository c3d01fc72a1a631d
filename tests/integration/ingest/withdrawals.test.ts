import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { claimForScript } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, saleOf, seal, sealOnlyCall, sendingSite } from "#tests/support/lead-journey.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const hour = 3_600_000;
const both = ["analytics", "marketing"];
const call = (site: IngestSite, change: Record<string, unknown> = {}, meta: Record<string, unknown> = {}) =>
  phoneCall(site, { ...change, meta: { fp: "ayse", gclid: "click", ...meta } });
const withdraw = (site: IngestSite, change: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  app.sync(
    site,
    { s: site.siteId, fp: "ayse", consent_scopes: [], t: 0, u: `${site.origin}/privacy?gclid=click`, v: 2, ...change },
    headers,
  );
const silent = { gclid: null, wbraid: null, gbraid: null, clicked_at: null, phone: null, caller_hash: null, marketing_consent: false };

/** The tables in which a text stands anywhere. */
async function mentions(site: IngestSite, text: string): Promise<string[]> {
  const found: string[] = [];
  const tables = ["public.sessions", "public.calls", "private.events", "public.sales", "public.ingest_fallback_buffer"];
  for (const table of [...tables, "public.consent_choices"]) {
    const rows = await app.db.sql`select from ${app.db.sql(table)} t where t.site_id = ${site.siteUuid} and t::text like ${`%${text}%`}`;
    if (rows.length > 0) found.push(table);
  }
  return found;
}

describe("a withdrawal", () => {
  // Guarantee: a visitor who took consent back is never told to Google about, wherever the lead was at that moment.
  // Mutation: let note_choice apply nothing.
  test("before the worker stored the call: the call is kept for the operator, and nothing of it for Google", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both }));
    await withdraw(site);
    const { saleId } = await sealOnlyCall(app, site);
    expect(await callOf(app, site)).toMatchObject(silent);
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: "NO_CONSENT", gclid: null, rows: null });
  });

  test("on a site without a consent manager, before the worker stored the call", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site));
    await withdraw(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject(silent);
  });

  // Mutation: let withdraw_marketing look at one visit only.
  test("days and visits later: calls, sales, signals and sessions of every visit", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both, u: `${site.origin}/?gclid=secret-click&a=1` }, { gclid: "secret-click" }));
    await app.db.sql`update public.ingest_fallback_buffer set created_at = created_at - interval '3 days' where status = 'PENDING'`;
    const { callId, saleId } = await sealOnlyCall(app, site);
    await app.db
      .sql`update public.sales set customer_hash = ${"a".repeat(64)}, email_hash = ${"b".repeat(64)}, note = 'Mrs. A., door code 4711' where id = ${saleId}`;
    await app.sync(site, pageView(site, { consent_scopes: both, meta: { fp: "ayse", gclid: "second" } }));
    await drainEvents();
    await withdraw(site);
    expect(await callOf(app, site)).toMatchObject(silent);
    expect(await mentions(site, "secret-click")).toEqual([]);
    expect(await saleOf(app, saleId)).toMatchObject({
      delivery_block: "NO_CONSENT",
      gclid: null,
      customer_hash: null,
      email_hash: null,
      note: null,
      amount_cents: "150000",
      rows: [["FAILED", "NO_CONSENT"]],
    });
    const signals = await app.db.sql`select dispatch_status, last_error from public.marketing_signals where call_id = ${callId}`;
    expect([...signals]).toEqual([{ dispatch_status: "FAILED", last_error: "NO_CONSENT" }]);
    const sessions = await app.db.sql`select gclid, marketing_consent from public.sessions where site_id = ${site.siteUuid}`;
    expect([...sessions]).toEqual(Array(2).fill({ gclid: null, marketing_consent: false }));
    expect(await handedOut(app, site)).toEqual([]);
  });

  test("while the row is in flight: a failure ends it, a success stands, and nothing is sent again", async () => {
    for (const [outcome, rows] of [
      ["fail", [["FAILED", "NO_CONSENT"]]],
      ["ack", [["COMPLETED", null]]],
    ] as const) {
      const site = await sendingSite(app);
      await app.sync(site, call(site, { consent_scopes: both }));
      const { saleId } = await sealOnlyCall(app, site);
      const [row] = await handedOut(app, site);
      await withdraw(site);
      const answer = { p_site_id: site.siteUuid, p_ids: [String(row?.id)] };
      if (outcome === "ack") await service(app.db.sql, "ack_offline_conversions", answer);
      else {
        const failure = { ...answer, p_code: "APPLY_FAILED", p_category: "TRANSIENT", p_message: "no" };
        await service(app.db.sql, "fail_offline_conversions", failure);
      }
      expect((await saleOf(app, saleId)).rows).toEqual(rows);
      expect(await handedOut(app, site)).toEqual([]);
    }
  });

  test("what Google has stays as it is", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both }));
    const { saleId } = await sealOnlyCall(app, site);
    const [row] = await handedOut(app, site);
    await service(app.db.sql, "ack_offline_conversions", { p_site_id: site.siteUuid, p_ids: [String(row?.id)] });
    await withdraw(site);
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: null, gclid: null, rows: [["COMPLETED", null]] });
    // Who it was is forgotten; the dispatch keeps what proves it.
    const [sent] = await app.db
      .sql`select d.identifiers_hash is not null as proven, (select count(*)::int from public.dispatch_identifiers i
      where i.queue_id = d.queue_id) as identifiers from public.provider_dispatches d where d.sale_id = ${saleId}`;
    expect(sent).toEqual({ proven: true, identifiers: 0 });
  });

  // Guarantee: of a seal and a withdrawal at the same moment the withdrawal holds, whichever is first.
  test.each(["the seal", "the withdrawal"])("beside a seal that is under way, %s first", async (first) => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both }));
    await drainEvents();
    const { id } = await callOf(app, site);
    const choice = { visitor: "ayse", scopes: [], ageMs: 0 };
    if (first === "the seal") {
      await whileOpen(
        app.db.sql,
        (tx) => tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: app.owner.id })}, true),
          public.seal_call(${site.siteId}, ${tx.json({ id, amountCents: 5_000 })}, ${"0".repeat(64)}, null)`,
        () => withdraw(site),
      );
    } else {
      await whileOpen(
        app.db.sql,
        (tx) => tx`select public.record_consent(${site.siteUuid}, ${tx.json(choice)})`,
        () => seal(app, site, String(id)),
      );
    }
    const [sale] = await app.db.sql`select id from public.sales where site_id = ${site.siteUuid}`;
    expect(await saleOf(app, String(sale?.id))).toMatchObject({ delivery_block: "NO_CONSENT", gclid: null });
    expect(await handedOut(app, site)).toEqual([]);
  });

  // Guarantee: a claim that begins while a withdrawal commits hands out nothing of that visitor.
  test("a row that a claim meets after the withdrawal is not handed out", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both }));
    await sealOnlyCall(app, site);
    const [row] = await app.db.sql`select id from public.offline_conversion_queue where site_id = ${site.siteUuid}`;
    await app.db.sql.begin(async (tx) => {
      await tx`select public.record_consent(${site.siteUuid}, ${tx.json({ visitor: "ayse", scopes: [], ageMs: 0 })})`;
      expect((await claimForScript(app.db.sql, site, [String(row?.id)])).rows).toEqual([]); // skipped: the withdrawal holds the row
    });
    expect((await claimForScript(app.db.sql, site, [String(row?.id)])).rows).toEqual([]);
  });

  test("a telephone system's report after it carries neither number nor click, and makes no visit with consent", async () => {
    const site = await sendingSite(app);
    await withdraw(site);
    await app.call(site, { event_id: "pbx", fingerprint: "ayse", gclid: "click", phone_number: "+905551112233" });
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject(silent);
    const sessions = await app.db.sql`select gclid, marketing_consent from public.sessions where site_id = ${site.siteUuid}`;
    expect([...sessions]).toEqual([{ gclid: null, marketing_consent: false }]);
  });

  // Guarantee: no address keeps the click of a visitor who refused, whoever wrote it there and whenever it is stored.
  // Mutation: store events as they were captured.
  test("before the worker stored them: addresses lose their click ids, also a telephone system's", async () => {
    const site = await sendingSite(app);
    const u = `${site.origin}/?gclid=secret-click&a=1`;
    await app.sync(site, call(site, { consent_scopes: both, u, r: u }, { gclid: "secret-click" }));
    await withdraw(site);
    await app.call(site, { event_id: "pbx", fingerprint: "ayse", url: u, gclid: "secret-click", phone_number: "+905551112233" });
    await drainEvents();
    expect(await mentions(site, "secret-click")).toEqual([]);
    expect(await mentions(site, "5551112233")).toEqual([]);
  });

  // Guarantee: what could not be stored waits for somebody without the click of a visitor who refused, whichever came first.
  test.each(["the failure", "the withdrawal"])("beside an event that cannot be stored, %s first", async (first) => {
    const site = await sendingSite(app);
    const u = `${site.origin}/?gclid=secret-click`;
    await app.sync(site, pageView(site, { consent_scopes: both, u, meta: { fp: "ayse", gclid: "secret-click" } }));
    if (first === "the withdrawal") await withdraw(site);
    for (let attempt = 1; attempt <= 5; attempt++) {
      const { token, rows } = await service<{ token: string; rows: { id: string }[] }>(
        app.db.sql,
        "get_and_claim_fallback_batch",
        {},
        new Date(Date.now() + attempt * hour),
      );
      for (const { id } of rows) await service(app.db.sql, "release_fallback_event", { p_token: token, p_id: id, p_reason: "a bug" });
    }
    const [row] = await app.db.sql`select status from public.ingest_fallback_buffer where site_id = ${site.siteUuid}`;
    expect(row?.status).toBe("FAILED");
    if (first === "the failure") await withdraw(site);
    expect(await mentions(site, "secret-click")).toEqual([]);
  });

  // Guarantee: a till that knows the click cannot send what the visitor took back. Mutation: look for sales through calls only.
  test.each(["the sale", "the withdrawal"])("of a visitor whose sale comes from a till with its own click, %s first", async (first) => {
    const site = await sendingSite(app);
    await app.sync(site, pageView(site, { consent_scopes: both, t: 3 * hour, meta: { fp: "ayse", gclid: "click" } }));
    await drainEvents();
    const sold = () =>
      callAs(
        app.db.sql,
        app.owner,
        (tx) =>
          tx`select public.import_sales(${site.siteId}, ${tx.json([{ line: 2, externalRef: "till-1", occurredAt: new Date(Date.now() - 2 * hour).toISOString(), amountCents: 5_000, currency: "TRY", gclid: "click", marketingConsent: true }])}, true)`,
      );
    if (first === "the sale") await sold();
    await withdraw(site, { t: 1 * hour });
    if (first === "the withdrawal") await sold();
    const [sale] = await app.db.sql`select id from public.sales where site_id = ${site.siteUuid}`;
    expect(await saleOf(app, String(sale?.id))).toMatchObject({ delivery_block: "NO_CONSENT", gclid: null });
    expect(await handedOut(app, site)).toEqual([]);
  });

  // Guarantee: a refusal counts although there is no room for its event. Mutation: leave it to the worker.
  test("in an event that finds no room in the plan", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    await app.sync(site, call(site, { consent_scopes: both }));
    await drainEvents();
    expect((await app.sync(site, pageView(site, { consent_scopes: ["analytics"], meta: { fp: "ayse" } }))).status).toBe(429);
    expect(await callOf(app, site)).toMatchObject(silent);
  });

  test("of another visitor, or on another site, changes nothing", async () => {
    const [site, other] = [await sendingSite(app), await sendingSite(app)];
    await app.sync(site, call(site, { consent_scopes: both }));
    await drainEvents();
    await withdraw(site, { fp: "mehmet" });
    await withdraw(other);
    expect(await callOf(app, site)).toMatchObject({ gclid: "click", marketing_consent: true });
  });
});
