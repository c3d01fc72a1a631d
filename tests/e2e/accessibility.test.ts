import { shiftMonth } from "#lib/billing/year-month.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

/** A month that the demo has an invoice of on every day of the year. */
const closedMonth = shiftMonth(new Date().toISOString().slice(0, 7), -2);
const publicPages = [
  "/sign-in",
  "/forgot-password",
  "/new-password",
  "/auth/confirm?token_hash=x&type=recovery",
  "/status",
  "/privacy",
  "/nowhere",
];
const ownPages = ["/dashboard", "/dashboard/sites/new", "/dashboard/account", "/dashboard/site/none"];
/** The desk and OCI Control are looked at by their own tests, with their dialogs. */
const sitePages = [
  "/billing",
  "/billing/events",
  `/billing/invoices/${closedMonth}`,
  "/members",
  "/connections",
  "/connections/google-ads",
  "/privacy",
  "/settings",
  "/sales",
  "/sales/import",
  "/activity",
];

/** What looks different on a site that sends by API. */
const apiPages = ["/connections", "/connections/google-ads", "/connections/google-ads?connect=1", "/settings"];

interface Looked {
  whose: string;
  role: "owner" | "viewer" | null;
  language: "en" | "tr";
  /** Given the addresses of the demo's sites. */
  paths(scriptSite?: string, apiSite?: string): string[];
}

const visits: Looked[] = [
  { whose: "public", role: null, language: "en", paths: () => publicPages },
  { whose: "a person's own", role: "owner", language: "en", paths: () => ownPages },
  { whose: "a site's", role: "owner", language: "en", paths: (site) => sitePages.map((path) => site + path) },
  { whose: "an API site's", role: "owner", language: "en", paths: (_, site) => apiPages.map((path) => site + path) },
  { whose: "a viewer's", role: "viewer", language: "tr", paths: (site) => [`${site}`] },
];

for (const { size, phone, theme } of [
  { size: "desktop", phone: false, theme: "light" },
  { size: "phone", phone: true, theme: "dark" },
] as const) {
  // Guarantee: whoever uses a keyboard, a screen reader or weak eyes can do everything; the policy blocks no script of ours.
  for (const { whose, role, language, paths } of visits)
    test(`${whose} pages are accessible in both themes, and quiet, ${size}, first ${theme}`, async ({ visit, as, stack }) => {
      test.slow();
      const look = { theme, phone, language };
      const page = role ? await as(role, look) : await visit(look);
      const noise: string[] = [];
      page.on("console", (message) => message.type() === "error" && noise.push(message.text()));
      page.on("pageerror", (error) => noise.push(String(error)));
      for (const path of paths(...stack.sites.map(({ siteId }) => `/dashboard/site/${siteId}`))) {
        await page.goto(path);
        await expectAccessible(page, path);
      }
      expect(noise.filter((text) => !/status of 404/.test(text))).toEqual([]);
    });
}

test("dialogs keep the focus and give it back", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/members`);
  const opener = page.getByRole("button", { name: "Invite" }).first();
  await opener.click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toBeVisible();
  await expectAccessible(page, "the dialog");
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press("Tab");
    // Past the last control the focus is on a guard or the browser's own for a moment; the dialog fetches it back.
    await expect
      .poll(() =>
        dialog.evaluate((element) => {
          const focused = document.activeElement;
          return focused && focused !== document.body && !element.contains(focused) ? focused.outerHTML.slice(0, 300) : "nothing outside";
        }),
      )
      .toBe("nothing outside");
  }
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(opener).toBeFocused();
});
