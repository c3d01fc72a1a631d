import { afterAll, beforeAll, expect, test } from "vitest";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

/** Every table that has a text in it matching the pattern. */
async function traces(pattern: string): Promise<string[]> {
  const tables = await app.db.sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'private') and c.relkind = 'r'`;
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await app.db.sql.unsafe(`select 1 from ${name} t where to_jsonb(t)::text ~ $1 limit 1`, [pattern]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

const personal = (site: IngestSite) =>
  `${site.origin}/thanks/ayse%40secret.test/905559998877?utm_source=google&name=SECRET&email=SECRET%40secret.test&tel=905559998877&gclid=SECRET#token=SECRET`;

// Guarantee: what a page writes into its address about a person never reaches a table, whichever way it comes in. Mutation: store
// event.url, event.r, the choice's page or the telephone system's url as it was sent.
test("names, numbers, e-mail addresses and ids in an address are in no table, before the worker and after it", async () => {
  const site = await app.newSite();
  const address = personal(site);
  const fp = "visitor-1";
  await app.sync(site, { events: [pageView(site, { u: address, r: address, meta: { fp, utm_content: "SECRET@secret.test" } })] });
  await app.sync(site, phoneCall(site, { u: address, r: address, meta: { fp }, consent_scopes: ["analytics", "marketing"] }));
  await app.sync(site, { s: site.siteId, fp, consent_scopes: [], t: 0, u: address, v: 2 });
  await app.call(site, { event_id: "pbx-1", url: address });
  expect(await traces("SECRET|secret.test|905559998877")).toEqual([]);
  await app.recover();
  expect(await traces("SECRET|secret.test|905559998877")).toEqual([]);
  const [session] = await app.db.sql`select landing_url from public.sessions where site_id = ${site.siteUuid} and visitor_id = ${fp}`;
  expect(session?.landing_url).toBe(`${site.origin}/thanks/_/_?utm_source=google`);
});

// Guarantee: leaving parameters out does not make two pages one, nor one page two.
test("two pages that differ only in a parameter that is not stored are two events; the same one again is a duplicate", async () => {
  const site = await app.newSite();
  const view = (product: number) => pageView(site, { u: `${site.origin}/product?id=${product}`, eid: undefined, meta: { fp: "visitor" } });
  const response = await app.sync(site, { events: [view(1), view(2), view(1)] });
  expect((await response.json()).results).toEqual(["accepted", "accepted", "duplicate"]);
});

// Guarantee: one request makes a bounded number of calls, however many visitors it names: a hundred used to make a hundred statements and a
// hundred Redis commands, one after the other. Mutation: call record_consents once per visitor.
test("a batch that names a hundred visitors who refuse costs one statement for their choices", async () => {
  const site = await app.newSite();
  const events = Array.from({ length: 100 }, (_, index) =>
    pageView(site, { consent_scopes: ["analytics"], meta: { fp: `quiet-${index}` } }),
  );
  expect((await app.sync(site, { events })).status).toBe(200);
  const [stored] = await app.db.sql`
    select count(*)::int as visitors, count(distinct xmin::text)::int as transactions from public.consent_choices
    where site_id = ${site.siteUuid}`;
  expect(stored).toEqual({ visitors: 100, transactions: 1 });
});
