import { expect, test } from "#tests/support/e2e-test.ts";

const files = "**/_next/static/**";

// Guarantee: a tab that was open during a deployment says so instead of doing nothing when it is used.
for (const { locale, here, reload } of [
  { locale: "en" as const, here: "A new version is here.", reload: "Reload" },
  { locale: "tr" as const, here: "Yeni bir sürüm var.", reload: "Sayfayı yenile" },
])
  test(`a page whose files are gone offers to reload, and works again after it (${locale})`, async ({ as, stack }) => {
    const page = await as("operator", { language: locale });
    await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/sales`);
    const search = page.getByRole("dialog").getByRole("combobox");
    // The new deployment has none of the old one's files.
    await page.route(files, (route) => route.fulfill({ status: 404, body: "" }));
    await page.keyboard.press("Control+k");
    await expect(page.getByRole("alert").getByText(here)).toBeVisible();
    await expect(search).toHaveCount(0);
    await page.unroute(files);
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: reload }).click()]);
    await expect(page.getByText(here)).toHaveCount(0);
    // The key counts once the page has taken over.
    await expect(async () => {
      if ((await search.count()) === 0) await page.keyboard.press("Control+k");
      await expect(search).toBeVisible({ timeout: 2_000 });
    }).toPass();
  });

// Mutation: every failed load taken for a new version.
test("without a connection nothing is said of a new version", async ({ as, stack }) => {
  const page = await as("operator");
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/sales`);
  const failed = page.waitForEvent("requestfailed");
  await page.route(files, (route) => route.abort());
  await page.keyboard.press("Control+k");
  await failed;
  await page.unroute(files);
  await expect(page.getByText("A new version is here.")).toHaveCount(0);
});
