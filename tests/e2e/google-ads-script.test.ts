import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

// Guarantee: an owner gets from nothing to a running script on one page, and sees there whether it runs and why not.
test("an owner copies the script, runs it, and sees its runs; a wrong key is named", async ({ as, baseURL }) => {
  test.slow();
  const page = await as("owner");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/dashboard/sites/new");
  await page.getByLabel("Name").fill(`Betik ${Date.now()}`);
  await page.getByLabel("Domains").fill("betik.test");
  await page.getByRole("radio", { name: /Ask first/ }).check({ force: true });
  await page.getByLabel("Average order (TRY)").fill("3000");
  await page.getByRole("button", { name: "Create site" }).click();
  await expect(page).toHaveURL(/\/dashboard\/site\/[0-9a-f]{32}\/setup$/);
  const siteId = page.url().split("/").at(-2) ?? "";

  await page.goto(`/dashboard/site/${siteId}/connections`);
  await expect(page.getByText("The script is not set up.")).toBeVisible();
  await page.getByRole("link", { name: "Open" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Google Ads" })).toBeVisible(); // both pages have the button below
  await page.getByRole("button", { name: "Create key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Google Ads");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("Copy your key now")).toBeVisible();
  const key = ((await dialog.textContent()) ?? "").match(/om_[0-9a-f]{48}/)?.[0] ?? (await dialog.getByLabel("API key").inputValue());
  await page.getByRole("button", { name: "I have stored it" }).click();
  await page.reload();
  await expect(page.getByText("The script has not run yet.")).toBeVisible();

  await page.getByRole("button", { name: "Copy script" }).click();
  await expect(page.getByText("Copied").first()).toBeAttached();
  const script = await page.evaluate(() => navigator.clipboard.readText());
  expect(script).toContain(`var OPSMANTIK_SITE_ID = "${siteId}"`);
  expect(script).not.toContain("{{OPSMANTIK");
  const account = new AdsAccount({ OPSMANTIK_BASE_URL: String(baseURL) });
  const withKey = (value: string) => () => script.replace('OPSMANTIK_API_KEY = ""', `OPSMANTIK_API_KEY = "${value}"`);
  expect(await account.runScript({ edit: withKey(key) })).toMatchObject({ error: null });
  await page.reload();
  await expect(page.getByText("The script runs, and there is nothing to send.")).toBeVisible();
  await expect(page.getByRole("table", { name: "Runs" }).getByText("Nothing to send")).toBeVisible();

  expect((await account.runScript({ edit: withKey("om_wrong") })).error).toContain("INVALID_CREDENTIALS");
  // Noted within ten seconds. A key that somebody tries is no diagnosis of a script that runs.
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("table", { name: "Runs" }).getByText("INVALID_CREDENTIALS")).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: 30_000 });
  await expect(page.getByText("The script runs, and there is nothing to send.")).toBeVisible();
});
