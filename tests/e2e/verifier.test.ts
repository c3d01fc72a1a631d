import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { Page, TestInfo } from "@playwright/test";
import postgres from "postgres";
import { shiftMonth } from "#lib/billing/year-month.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

/** A month that the demo has an invoice of on every day of the year: the last one has none before the third. */
const closedMonth = shiftMonth(new Date().toISOString().slice(0, 7), -2);

/** Presses a link or button that downloads a file, and gives where it is. */
async function download(page: Page, press: () => Promise<void>, testInfo: TestInfo): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent("download"), press()]);
  const path = testInfo.outputPath(file.suggestedFilename());
  await file.saveAs(path);
  return path;
}

/** The same file with one character changed. */
function tampered(path: string, change: (text: string) => string): string {
  const text = readFileSync(path, "utf8");
  expect(change(text)).not.toBe(text);
  const other = path.replace(/(\.\w+)$/, "-tampered$1");
  writeFileSync(other, change(text));
  return other;
}

// Guarantee: whoever does not trust us checks what we say without us: from the files, on a machine without a network.
test("one page checks receipt, invoice and events with the network off, and names what was changed", async ({
  as,
  stack,
  browser,
}, testInfo) => {
  test.slow();
  const owner = await as("owner");
  await owner.goto(`/dashboard/site/${stack.sites[0]?.siteId}/billing/invoices/${closedMonth}`);
  const press = (name: string) => () => owner.getByRole("link", { name, exact: true }).click();
  const invoice = await download(owner, press("Proof file"), testInfo);
  const events = await download(owner, press("Events of the month"), testInfo);
  const verifier = await download(owner, press("Verifier"), testInfo);
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  await sql`select public.seal_proof_blocks()`;
  const [proof] = await sql`
    select proof.id from public.transition_proofs proof join public.sites site on site.id = proof.site_id
    where site.public_id = ${stack.sites[0]?.siteId ?? ""} limit 1`;
  await sql.end();
  await owner.goto(`/dashboard/proofs/${proof?.id}`);
  const receipt = await download(owner, () => owner.getByRole("button", { name: "Download receipt" }).click(), testInfo);

  const context = await browser.newContext({ offline: true, locale: "en" });
  const page = await context.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(pathToFileURL(verifier).href);
  const give = async (...files: string[]) => {
    await page.getByRole("button", { name: "Start again" }).click();
    await page.getByLabel(/Choose files/).setInputFiles(files);
  };
  const found = page.getByRole("listitem");

  await give(invoice, events, receipt);
  await expect(page.getByRole("status")).toHaveText("Nothing is wrong. Files checked: 3");
  await expect(found.filter({ hasText: "events that the invoice" })).toContainText("✓ Holds");
  await expect(found.filter({ hasText: "The fields give the hash" })).toContainText("✓ Holds");
  await expectAccessible(page, "the verifier");

  await give(tampered(receipt, (text) => text.replace(/"to": "(.)/, '"to": "x$1')));
  await expect(found).toContainText("a field or the hash was changed");
  await give(tampered(invoice, (text) => text.replace(/"totalCents":\s*(\d)/, '"totalCents": 1$1')));
  await expect(found).toContainText("a line or the hash was changed");
  const day = readFileSync(events, "utf8").match(/\d{4}-\d{2}-\d{2}(?=T)/)?.[0] ?? "";
  await give(
    invoice,
    tampered(events, (text) => text.replace(/[0-9a-f]{63}([0-9a-f])/, (key) => key.slice(0, 63) + (key.endsWith("0") ? "1" : "0"))),
  );
  await expect(found.filter({ hasText: "Days that differ" })).toContainText(`Days that differ: ${day}.`);
  await expect(page.getByRole("status")).toContainText("Something is wrong");
  expect(asked.filter((url) => !url.startsWith("file:"))).toEqual([]);

  await page.getByRole("button", { name: "Türkçe" }).click();
  await expect(page.getByRole("heading", { name: "OpsMantik doğrulayıcı" })).toBeVisible();
  await context.close();

  const served = await owner.goto("/verify.html");
  expect(served?.headers()["content-security-policy"]).toContain("connect-src 'none'");
  await expect(owner.getByRole("heading", { name: "OpsMantik verifier" })).toBeVisible();
  // Even a script that somebody got into the page reaches nobody.
  expect(await owner.evaluate(() => fetch("/api/health").then(String, String))).toMatch(/Failed to fetch/);
});
