import type { Page } from "@playwright/test";
import { shiftMonth } from "#lib/billing/year-month.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

const widths = [320, 360, 390, 768, 820, 1024, 1440];
const closedMonth = shiftMonth(new Date().toISOString().slice(0, 7), -2);
const publicPages = ["/sign-in", "/forgot-password", "/status", "/privacy", "/nowhere"];
const sitePages = [
  "",
  "?view=open",
  "/oci-control",
  "/oci-control?tab=days",
  "/oci-control?tab=export",
  "/oci-control?status=FAILED",
  "/sales",
  "/sales/import",
  "/activity",
  "/billing",
  "/billing/events",
  "/billing/origins",
  `/billing/invoices/${closedMonth}`,
  "/connections",
  "/connections/google-ads",
  "/members",
  "/privacy",
  "/setup",
  "/settings",
];

/** What a look finds once the page has taken its new width: parts of it are drawn anew some frames later, so what is found must stay. */
async function settled(page: Page, look: () => string[]): Promise<string[]> {
  let found: string[] = [];
  for (let time = 0; time < 10; time++) {
    await page.evaluate(async () => {
      for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    });
    found = await page.evaluate(look);
    if (found.length === 0) break;
  }
  return found;
}

/** What does not fit at one of the widths: the page scrolls sideways, or words of a choice lie over each other. */
async function misfits(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const wrong = await settled(page, () => {
      const root = document.documentElement;
      const names = (element: Element) => `${element.tagName.toLowerCase()} "${element.textContent?.trim().slice(0, 40)}"`;
      const tooWide = root.scrollWidth > root.clientWidth ? [...document.querySelectorAll("main *, body > *")] : [];
      const sideways = tooWide
        .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1 && element.children.length === 0)
        .slice(0, 2)
        .map((element) => `reaches out: ${names(element)}`);
      // The parts of a choice, the tabs of the bar and the cells of a list of facts keep to themselves.
      const cut = [...document.querySelectorAll("nav > *, fieldset > *, dl dt, dl dd, [role=tablist] > *")]
        .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0)
        .filter((element) => getComputedStyle(element).overflowX === "visible" && getComputedStyle(element).display !== "inline")
        .map((element) => `spills over: ${names(element)}`);
      return [
        ...(root.scrollWidth > root.clientWidth ? [`scrolls sideways by ${root.scrollWidth - root.clientWidth}`] : []),
        ...sideways,
        ...cut,
      ];
    });
    found.push(...wrong.map((problem) => `${width}: ${problem}`));
  }
  return found;
}

for (const language of ["en", "tr"] as const) {
  // Guarantee: on no telephone, tablet or window does a page scroll sideways, nor do its words lie over each other; none asks for a
  // message it does not carry. Broken by: a column that cannot shrink, or a page without one of its messages.
  test(`every page fits at every width, and says everything in words, ${language}`, async ({ visit, as, stack }) => {
    test.slow();
    const owner = await as("owner", { language });
    const stranger = await visit({ language });
    const bases = stack.sites.map(({ siteId }) => `/dashboard/site/${siteId}`);
    const paths = [
      "/dashboard",
      "/dashboard/sites/new",
      "/dashboard/account",
      ...sitePages.map((path) => bases[0] + path),
      ...["/oci-control", "/connections/google-ads", "/settings"].map((path) => bases[1] + path),
    ];
    const wrong: Record<string, string[]> = {};
    for (const { page, list } of [
      { page: stranger, list: publicPages },
      { page: owner, list: paths },
    ]) {
      const noise: string[] = [];
      page.on("console", (message) => message.type() === "error" && noise.push(message.text()));
      page.on("pageerror", (error) => noise.push(String(error)));
      for (const path of list) {
        await page.goto(path);
        const problems = [...(await misfits(page)), ...noise.splice(0).filter((text) => !/status of 404/.test(text))];
        if (problems.length > 0) wrong[path] = problems;
      }
    }
    expect(wrong).toEqual({});
  });
}

test("a receipt fits at every width, names its site in the menu and leads back", async ({ as, stack }) => {
  const page = await as("owner", { language: "tr" });
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/oci-control`);
  await page.locator("table a, [data-row] a").first().click();
  const href = await page.locator('a[href^="/dashboard/proofs/"]').first().getAttribute("href");
  await page.goto(href ?? "");
  expect(await misfits(page)).toEqual([]);
  await expect(page.getByRole("navigation").getByRole("link", { name: "Etkinlik" })).toHaveAttribute("aria-current", "page");
  await page.getByRole("main").getByRole("link", { name: "Etkinlik" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Etkinlik" })).toBeVisible();
});

// Guarantee: a search engine, a script or a person with an old link learns that there is no such invoice.
test("a missing invoice answers 404", async ({ as, stack }) => {
  const page = await as("owner");
  const response = await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/billing/invoices/2019-01`);
  expect(response?.status()).toBe(404);
});
