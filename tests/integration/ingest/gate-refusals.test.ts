import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { dropsOf, figuresOf, type IngestApp, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const nothing = { billed: 0, captured: 0, stored: 0, calls: 0 };

describe("refused", () => {
  test.each([
    ["invalid_json", "{", "invalid_json"],
    ["payload_not_object", "[]", "invalid_payload"],
    ["payload_not_object", '"text"', "invalid_payload"],
    ["events_empty", '{"events":[]}', "invalid_payload"],
    ["events_empty", '{"events":"none"}', "invalid_payload"],
    ["missing_site_or_url", '{"u":"https://a.test/"}', "invalid_payload"],
    ["site_not_found", '{"s":"0123456789abcdef0123456789abcdef","u":"https://a.test/"}', "invalid_payload"],
    ["site_not_found", '{"s":"../../etc","u":"https://a.test/"}', "invalid_payload"],
    ["batch_mixed_sites", '{"events":[{"s":"a","u":"https://a.test/"},{"s":"b","u":"https://a.test/"}]}', "invalid_payload"],
  ])("%s: 400 with a stable code for %s", async (code, body, error) => {
    const site = await app.newSite();
    const response = await app.sync(site, body);
    expect(response.status).toBe(400);
    expect(response.headers.get("x-opsmantik-error-code")).toBe(code);
    expect(await response.json()).toMatchObject({ ok: false, error, code });
  });

  test.each([[""], ["javascript:alert(1)"], ["/relative"], ["ftp://a.test/"]])("an address %j is no page", async (u) => {
    const site = await app.newSite();
    const response = await app.sync(site, pageView(site, { u }));
    expect([response.status, response.headers.get("x-opsmantik-error-code")]).toEqual([400, "missing_site_or_url"]);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
  });

  test("more than 100 events are refused whole", async () => {
    const site = await app.newSite();
    const response = await app.sync(site, { events: Array.from({ length: 101 }, () => ({ s: site.siteId, u: site.origin })) });
    expect([response.status, (await response.json()).code]).toEqual([413, "batch_limit_exceeded"]);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
  });

  test("100 events are taken", async () => {
    const site = await app.newSite();
    const response = await app.sync(site, { events: Array.from({ length: 100 }, () => pageView(site)) });
    expect((await response.json()).accepted).toBe(100);
  });

  // Guarantee: a lying content-length does not let a large body through, and a true one under the limit is taken.
  test("a body over 256 KiB is 413, measured and not believed", async () => {
    const site = await app.newSite();
    const tooLarge = JSON.stringify(pageView(site, { padding: "x".repeat(256 * 1024) }));
    expect((await app.sync(site, tooLarge, { "content-length": "10" })).status).toBe(413);
    const fits = JSON.stringify(pageView(site, { padding: "x".repeat(250 * 1024) }));
    expect((await app.sync(site, fits, { "content-length": "999999999" })).status).toBe(200);
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });
});

describe("origin", () => {
  // Guarantee: another site's page cannot send events in our customer's name, and is told so in words it can read.
  test.each([
    ["no origin", undefined],
    ["null", "null"],
    ["another domain", "https://evil.test"],
    ["the domain as a prefix", "https://%host%.evil.test"],
    ["the domain as a suffix", "https://evil%host%"],
    ["http", "http://%host%"],
    ["a subdomain that is not listed", "https://blog.%host%"],
    ["a user name", "https://%host%@evil.test"],
  ])("%s is 403, is never echoed, and nothing is stored", async (_name, template) => {
    const site = await app.newSite();
    const origin = template?.replace("%host%", new URL(site.origin).host);
    const response = await app.sync(site, pageView(site), { origin: origin ?? "" });
    expect([response.status, (await response.json()).code]).toEqual([403, "ORIGIN_NOT_ALLOWED"]);
    expect(response.headers.get("access-control-allow-origin"), "readable, but never echoed").toBe("*");
    expect(response.headers.get("vary")).toBe("Origin");
    expect(await figuresOf(app.db, site)).toEqual(nothing);
  });

  test.each(["https://%host%", "https://www.%host%"])("%s is echoed, and the page may read our headers", async (template) => {
    const site = await app.newSite();
    const origin = template.replace("%host%", new URL(site.origin).host);
    const response = await app.sync(site, pageView(site), { origin });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("vary")).toBe("Origin");
    expect(response.headers.get("access-control-expose-headers")).toContain("x-opsmantik-dedup");
    expect(response.headers.get("access-control-allow-credentials")).toBe(null);
  });

  test("an archived site is not found, once the short memory of it has passed", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site));
    await app.db.sql`update public.sites set archived_at = now() where id = ${site.siteUuid}`;
    stopClock(Date.now() + 16_000);
    const response = await app.sync(site, pageView(site));
    expect([response.status, response.headers.get("x-opsmantik-error-code")]).toEqual([400, "site_not_found"]);
  });
});

describe("consent and robots", () => {
  test("without analytics consent: 204, the header, nothing stored, one drop counted", async () => {
    const site = await app.newSite();
    const response = await app.sync(site, pageView(site, { consent_scopes: ["marketing"] }));
    expect([response.status, response.headers.get("x-opsmantik-consent-missing")]).toEqual([204, "analytics"]);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
    expect(await dropsOf(app.db, site)).toEqual({ consent: 1 });
  });

  test.each([
    ["none are sent", undefined, 204],
    ["they are null", null, 204],
    ["they cannot be read", "analytics", 204],
    ["analytics is among them", ["analytics"], 200],
  ])("where consent is required and %s", async (_name, consent_scopes, status) => {
    const site = await app.newSite({ consentMode: "required" });
    expect((await app.sync(site, pageView(site, { consent_scopes }))).status).toBe(status);
  });

  // Guarantee: scopes that are sent always count. Mutation: read unreadable scopes as none.
  test("unreadable scopes grant nothing, even where no consent is required", async () => {
    const site = await app.newSite();
    for (const consent_scopes of ["analytics", [1], {}, Array(11).fill("analytics")])
      expect((await app.sync(site, pageView(site, { consent_scopes }))).status).toBe(204);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
  });

  // Guarantee: a queue filled before the visitor agreed does not cost the leads after it. Mutation: refuse a batch whole.
  test("in a batch each event is asked for itself", async () => {
    const site = await app.newSite({ consentMode: "required" });
    const response = await app.sync(site, { events: [pageView(site), phoneCall(site, { consent_scopes: ["analytics"] })] });
    expect([response.status, (await response.json()).results]).toEqual([200, ["consent", "accepted"]]);
    expect(await dropsOf(app.db, site)).toEqual({ consent: 1 });
  });

  // Guarantee: without marketing consent no click id and no number is stored anywhere, in no column of no table.
  // Mutation: keep the address of the page as it came.
  test("without marketing consent neither click id nor number is in the database, before the worker and after it", async () => {
    const site = await app.newSite();
    const secret = { gclid: "GCLID-SECRET", wbraid: "WBRAID-SECRET", gbraid: "GBRAID-SECRET", cts: Date.now() };
    const address = `${site.origin}/?gclid=GCLID-SECRET&wbraid=WBRAID-SECRET&x=1#gbraid=GBRAID-SECRET`;
    const common = { u: address, r: address, consent_scopes: ["analytics"], meta: { fp: "quiet", ...secret } };
    await app.sync(site, {
      events: [
        phoneCall(site, { ...common, el: "tel:+905551112233" }),
        phoneCall(site, { ...common, ea: "whatsapp", el: "905551112233" }),
        pageView(site, { ...common, ea: "hover_intent", el: "905551112233" }),
      ],
    });
    expect(await traces(/SECRET|5551112233/)).toEqual([]);
    await app.recover();
    expect(await traces(/SECRET|5551112233/)).toEqual([]);
    expect(await figuresOf(app.db, site)).toEqual({ billed: 3, captured: 3, stored: 3, calls: 2 });
  });

  test("robots are answered 204, counted and not billed", async () => {
    const site = await app.newSite();
    const response = await app.sync(site, pageView(site), { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)" });
    expect(response.status).toBe(204);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
    expect(await dropsOf(app.db, site)).toEqual({ bot: 1 });
  });

  test.each(["sec-gpc", "dnt"])("%s holds where the site respects it, and only there", async (header) => {
    const signal = { [header]: "1" };
    const [respectful, other] = [await app.newSite({ respectsPrivacySignal: true }), await app.newSite()];
    expect((await app.sync(respectful, pageView(respectful), signal)).status).toBe(204);
    expect((await app.sync(other, pageView(other), signal)).status).toBe(200);
    expect(await dropsOf(app.db, respectful)).toEqual({ privacy_signal: 1 });
  });

  test("drops are folded into one figure per day and reason, once", async () => {
    const site = await app.newSite();
    for (let index = 0; index < 3; index++) await app.sync(site, pageView(site), { "user-agent": "Googlebot" });
    expect((await app.recover()).folded).toBeGreaterThanOrEqual(3);
    await app.recover();
    const rows = await app.db.sql`select reason, drops::int as drops from public.ingest_drops_daily where site_id = ${site.siteUuid}`;
    expect([...rows]).toEqual([{ reason: "bot", drops: 3 }]);
  });
});

/** Every table that has a text in it matching the pattern. */
async function traces(pattern: RegExp): Promise<string[]> {
  const tables = await app.db.sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'private') and c.relkind = 'r'`;
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await app.db.sql.unsafe(`select 1 from ${name} t where to_jsonb(t)::text ~ $1 limit 1`, [pattern.source]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}
