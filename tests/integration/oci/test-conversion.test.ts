import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as exportRoute } from "#app/api/oci/google-ads-export/route.ts";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";
import { become, callAs } from "#tests/fixtures/act-as.ts";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { type OciApp, type OciSite, serveOciRoutes, startOciApp } from "#tests/support/oci-app.ts";
import { send } from "#tests/support/requests.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: OciApp;
let server: { url: string; stop(): Promise<void> };
beforeAll(async () => {
  app = await startOciApp();
  server = await serveOciRoutes();
});
afterAll(async () => {
  await server.stop();
  await app.stop();
});

const name = "OpsMantik_V5_DEMIR_MUHUR";
const action = { name, type: "UPLOAD_CLICKS", status: "ENABLED", countingType: "MANY_PER_CLICK" };

const adClick = (site: OciSite, marketingConsent = true) =>
  recordVisit(app.db.sql, site.siteUuid, "visitor", [
    { at: new Date(), url: "https://shop.test/", gclid: "gclid-of-a-test", marketingConsent, marketingDefault: marketingConsent },
  ]);
const preview = (site: OciSite, conversionActions: (typeof action)[] = [action]) =>
  new AdsAccount({ OPSMANTIK_SITE_ID: site.siteId, OPSMANTIK_API_KEY: site.key, OPSMANTIK_BASE_URL: server.url }).runScript({
    isPreview: true,
    conversionActions,
  });
const setupOf = async (site: OciSite) => {
  const setup = await callAs<SiteSetup>(app.db.sql, site.owner, (tx) => tx`select public.site_setup(${site.siteId})`);
  return { ticked: setup.steps.filter(({ at }) => at !== null).map(({ step }) => step), lastTest: setup.lastTest };
};

/** The rows of every table but what says how setup and the script are doing. */
async function rowsOfEveryTable(): Promise<Record<string, number>> {
  const tables = await app.db.sql<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'private') and c.relkind = 'r' and not c.relispartition
      and c.relname not in ('setup_ticks', 'setup_tests', 'script_runs') order by 1`;
  const counted = await Promise.all(
    tables.map(async (table) => [table.name, (await app.db.sql.unsafe(`select count(*)::int as rows from ${table.name}`))[0]?.rows]),
  );
  return Object.fromEntries(counted);
}

describe("a test conversion by script", () => {
  // Guarantee: a test is billed nowhere, proved nowhere and sent nowhere. Mutation: keep the row that it is made from.
  test("passes in a preview and leaves nothing behind but its answer", async () => {
    const site = await app.newSite();
    await adClick(site);
    const before = await rowsOfEveryTable();
    // Whoever applies the previewed file in Google Ads makes a conversion that is worth nothing.
    const [row] = await app.db.sql`select public.test_conversion(${site.siteUuid}) ->> 'valueCents' as cents`;
    expect(row?.cents).toBe("0");
    const run = await preview(site);
    expect(run).toMatchObject({ error: null, files: [] });
    expect(run.logs.join("\n")).toMatch(/TEST: test_[0-9a-f-]{36} \| OpsMantik_V5_DEMIR_MUHUR: passed/);
    expect(await rowsOfEveryTable()).toEqual(before);
    const { ticked, lastTest } = await setupOf(site);
    expect(ticked).toEqual(expect.arrayContaining(["actions", "delivery", "test"]));
    expect(lastTest).toMatchObject({ orderId: expect.stringMatching(/^test_/), problem: null });
  });

  test.each([
    ["has no action of that name", [], "NO_CONVERSION_ACTION"],
    ["has a name that differs in a letter", [{ ...action, name: `${name} ` }], "NO_CONVERSION_ACTION"],
    ["has an action of another kind", [{ ...action, type: "WEBPAGE" }], "NOT_FROM_CLICKS"],
    ["has it switched off", [{ ...action, status: "HIDDEN" }], "ACTION_DISABLED"],
    ["counts one per click", [{ ...action, countingType: "ONE_PER_CLICK" }], "ONE_PER_CLICK"],
  ])("is refused where the account %s", async (_case, actions, problem) => {
    const site = await app.newSite();
    await adClick(site);
    expect((await preview(site, actions)).error).toBeNull();
    const { ticked, lastTest } = await setupOf(site);
    expect(lastTest).toMatchObject({ problem, field: name });
    expect(ticked).not.toContain("test");
  });

  // Guarantee: a tick stands for the name that sales are sent under. Mutations: record_test without the mark; without `for share`.
  test.each(["before the answer comes", "in the moment of the answer"])(
    "that was fetched before a rename ticks nothing: renamed %s",
    async (when) => {
      const site = await app.newSite();
      await adClick(site);
      const [fetched] = await app.db.sql`select public.test_conversion(${site.siteUuid}) ->> 'orderId' as id`;
      const answer = { way: "script", orderId: fetched?.id, hasAction: true };
      const rename = { conversionNames: { seal: "Sale" } };
      const record = async () => {
        await app.db.sql`select public.record_test(${site.siteUuid}, ${app.db.sql.json(answer)})`;
      };
      if (when === "before the answer comes") {
        await callAs(app.db.sql, site.owner, (tx) => tx`select public.set_site_delivery(${site.siteId}, ${tx.json(rename)})`);
        await record();
      } else {
        await whileOpen(
          app.db.sql,
          async (tx) => {
            await become(tx, site.owner.id, new Date());
            await tx`select public.set_site_delivery(${site.siteId}, ${tx.json(rename)})`;
          },
          record,
        );
      }
      const { ticked, lastTest } = await setupOf(site);
      expect([ticked.includes("test"), ticked.includes("actions"), lastTest]).toEqual([false, false, null]);
    },
  );

  // Guarantee: no click of a visitor who refused marketing leaves us, not even in a test.
  test("needs a click with consent, and says so", async () => {
    const site = await app.newSite();
    await adClick(site, false);
    expect((await preview(site)).logs.join("\n")).toContain("TEST: none");
    expect((await setupOf(site)).lastTest).toMatchObject({ problem: "NO_CLICK" });
  });

  // Guarantee: a test row is never handed out for sending. Mutation: without the check the claim would carry it.
  test("is refused with markAsExported=true, and a real run neither asks for one nor would send it", async () => {
    const site = await app.newSite();
    await adClick(site);
    const token = await app.session(site);
    const path = `/api/oci/google-ads-export?siteId=${site.siteId}&markAsExported=true&test=true`;
    const response = await send(exportRoute, { method: "GET", path, headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(400);
    const account = new AdsAccount({ OPSMANTIK_SITE_ID: site.siteId, OPSMANTIK_API_KEY: site.key, OPSMANTIK_BASE_URL: server.url });
    const run = await account.runScript({ conversionActions: [action] });
    expect(run).toMatchObject({ error: null, files: [] });
    expect(run.logs.join("\n")).not.toContain("TEST");
  });
});
