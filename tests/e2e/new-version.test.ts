import type { Page, Route } from "@playwright/test";
import { expect, test } from "#tests/support/e2e-test.ts";

/** Says what happens to requests for the app's files. From before the page loads: a request right after `route` can still slip past it. */
async function answerFiles(page: Page) {
  let answer: (route: Route) => Promise<void> = (route) => route.continue();
  await page.route("**/_next/static/**", (route) => answer(route));
  return (next: typeof answer) => {
    answer = next;
  };
}

/** Opens the search: presses its key until there is an answer. A key counts once the page has taken over. */
const pressUntil = (page: Page, isAnswered: () => Promise<boolean>) =>
  expect(async () => {
    if (await isAnswered()) return;
    await page.keyboard.press("Control+k");
    await expect.poll(isAnswered, { timeout: 2_000 }).toBe(true);
  }).toPass();

// Guarantee: a tab that was open during a deployment says so instead of doing nothing when it is used.
for (const { locale, here, reload } of [
  { locale: "en" as const, here: "A new version is here.", reload: "Reload" },
  { locale: "tr" as const, here: "Yeni bir sürüm var.", reload: "Sayfayı yenile" },
])
  test(`a page whose files are gone offers to reload, and works again after it (${locale})`, async ({ as, stack }) => {
    const page = await as("operator", { language: locale });
    const files = await answerFiles(page);
    await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/sales`);
    const search = page.getByRole("dialog").getByRole("combobox");
    // The new deployment has none of the old one's files.
    files((route) => route.fulfill({ status: 404, body: "" }));
    await pressUntil(page, () => page.getByRole("alert").getByText(here).isVisible());
    await expect(search).toHaveCount(0);
    files((route) => route.continue());
    await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: reload }).click()]);
    await expect(page.getByText(here)).toHaveCount(0);
    await pressUntil(page, () => search.isVisible());
  });

// Mutation: every failed load taken for a new version.
test("without a connection nothing is said of a new version", async ({ as, stack }) => {
  const page = await as("operator");
  const files = await answerFiles(page);
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/sales`);
  let hasFailed = false;
  page.on("requestfailed", (request) => (hasFailed ||= request.url().includes("/_next/static/")));
  files((route) => route.abort());
  await pressUntil(page, async () => hasFailed);
  files((route) => route.continue());
  await expect(page.getByText("A new version is here.")).toHaveCount(0);
});
