import { afterEach, beforeEach, expect, test } from "vitest";
import type { SiteId } from "#lib/site.ts";
import { connectDemo, type DemoConnection } from "#scripts/local/demo/connect-demo.ts";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";

let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeEach(async () => {
  google = await startTestGoogle();
});
afterEach(() => google.stop());

// Guarantee: what the demo connects with is what its Google knows, so a seal in the demo arrives.
test("the demo's API site is connected with credentials and conversion actions that work", async () => {
  const site = { domain: "a.test", apiKey: "", crmKey: "", callEventSecret: "" };
  const sites = [
    { ...site, siteId: "script-site" as SiteId, syncMethod: "script" as const },
    { ...site, siteId: "api-site" as SiteId, syncMethod: "api" as const },
  ];
  const connections: DemoConnection[] = [];
  await connectDemo({ sites }, google.url, async (connection) => void connections.push(connection));
  expect(connections).toMatchObject([{ siteId: "api-site" }]);
  const [{ credentials, actions } = { credentials: null, actions: [] }] = connections;
  expect(actions).toHaveLength(5);
  expect(actions.at(-1)).toEqual({
    conversionName: "OpsMantik_V5_DEMIR_MUHUR",
    action: credentials?.conversion_action_resource_name,
    countingType: "MANY_PER_CLICK",
  });
  const { body } = await google.authorized(`/googleads/v26/customers/${credentials?.customer_id}/googleAds:search`, {
    body: { query: "SELECT conversion_action.resource_name FROM conversion_action" },
    token: await google.token(credentials?.refresh_token),
  });
  const known = body.results.map((row: { conversionAction: { resourceName: string } }) => row.conversionAction.resourceName);
  expect(known).toEqual(actions.map(({ action }) => action));
});

test("a script's file reaches the simulator before its run ends, and counts there once", async () => {
  const account = new AdsAccount({}, "Europe/Istanbul", { url: google.url, customerId: "1234567890" });
  const columns = ["Google Click ID", "Order ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"];
  const time = `${new Date(Date.now() - 3_600_000).toISOString().slice(0, 19).replace("T", " ")}+0000`;
  const values = ["gclid-1", "seal_1", "OpsMantik_V5_DEMIR_MUHUR", time, 5, "TRY"];
  const row = Object.fromEntries(columns.map((column, index) => [column, values[index]]));
  const main = `AdsApp.bulkUploads().newCsvUpload(${JSON.stringify(columns)}).forOfflineConversions().append(${JSON.stringify(row)}).apply()`;
  for (let run = 0; run < 2; run++) expect((await account.runScript({ edit: () => `function main() { ${main} }` })).error).toBeNull();
  expect(await google.conversions()).toMatchObject([{ orderId: "seal_1", value: 5, via: "script", sends: 2 }]);
});
