import { expect, test } from "vitest";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";

const columns = `["Google Click ID", "Order ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"]`;
const row = `{ "Google Click ID": "gclid-1", "Order ID": "1", "Conversion name": "Sale", "Conversion time": "2026-11-16 14:03:22+0300", "Conversion value": 5, "Conversion currency": "TRY" }`;
const upload = (chain: string) => `AdsApp.bulkUploads().newCsvUpload(${columns}, { timeZone: "UTC" })${chain}`;

async function execute(main: string, options: Parameters<AdsAccount["runScript"]>[0] = {}) {
  const account = new AdsAccount({});
  const run = await account.runScript({ ...options, edit: () => `function main() { ${main} }` });
  return { ...run, account };
}

// Guarantee: the bench is as strict as Google, so that a script which passes here does not fail there.
test("a column that was not declared is dropped in silence", async () => {
  const { error, files, account } = await execute(
    upload(`.forOfflineConversions().append(${row.replace("Order ID", "Order Id")}).apply()`),
  );
  expect([error, files[0]?.droppedKeys]).toEqual([null, ["Order Id"]]);
  expect(account.rejected).toMatchObject([{ reason: "missing field" }]);
});

test.each([
  ["an upload for campaigns", upload(`.append(${row}).apply()`), "campaign management"],
  ["a sleep of more than five minutes", "Utilities.sleep(300001)", "Invalid argument"],
  ["an unknown option of fetch", 'UrlFetchApp.fetch("http://127.0.0.1:9", { body: "x" })', "body"],
  ["a server that is not there", 'UrlFetchApp.fetch("http://127.0.0.1:9", { muteHttpExceptions: true })', "Address unavailable"],
  ["a property of more than 9 KB", 'PropertiesService.getScriptProperties().setProperty("a", Array(9300).join("x"))', "too large"],
  ["a method that ES5 does not have", '"abc".startsWith("a")', "not a function"],
  ["a global that ES5 does not have", "new Map()", "not defined"],
  ["Node", "process.exit()", "not defined"],
])("%s throws", async (_name, main, message) => {
  expect((await execute(main)).error).toContain(message);
});

test("in preview apply() uploads nothing", async () => {
  const { error, files, account } = await execute(upload(`.forOfflineConversions().append(${row}).apply()`), { isPreview: true });
  expect([error, files, account.conversions.size]).toEqual([null, [], 0]);
});

test.each([
  ["2026-11-16", "malformed time", '"2026-11-16 14:03:22+0300"', '"2026-11-16"'],
  ["a braid among the gclids", "unparseable gclid", "gclid-1", "0AAAA-1"],
])("%s is rejected where the script does not see it", async (_name, reason, good, bad) => {
  const { error, account } = await execute(upload(`.forOfflineConversions().append(${row.replace(good, bad)}).apply()`));
  expect([error, account.conversions.size]).toEqual([null, 0]);
  expect(account.rejected).toMatchObject([{ reason }]);
});

test("a second upload of an order is a duplicate", async () => {
  const { account } = await execute(upload(`.forOfflineConversions().append(${row}).append(${row}).apply()`));
  expect([account.conversions.size, account.duplicates.length]).toEqual([1, 1]);
});
