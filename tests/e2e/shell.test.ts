import { expect, test } from "#tests/support/e2e-test.ts";

test("the shell calls people by their name", async ({ as }) => {
  const page = await as("owner");
  await page.goto("/dashboard");
  await expect(page.getByRole("button", { name: "Your account, Deniz Aydın" })).toBeVisible();
});

test("the site switcher goes to the other site and stays on it", async ({ as, stack }) => {
  const page = await as("owner");
  const [first, second] = stack.sites;
  await page.goto(`/dashboard/site/${first?.siteId}`);
  await page.getByRole("button", { name: /Switch site/ }).click();
  await page.getByRole("menuitem", { name: /Harbour Dental/ }).click();
  await expect(page).toHaveURL(new RegExp(`/dashboard/site/${second?.siteId}`));
  await expect(page.getByRole("button", { name: "Switch site. Current: Harbour Dental" })).toBeVisible();
});

test("language and theme change at once, everywhere, and are remembered", async ({ as }) => {
  const page = await as("operator");
  await page.goto("/dashboard/account");
  await page.getByRole("main").getByRole("button", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("main").getByRole("button", { name: "Türkçe" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "tr");
  await page.goto("/dashboard");
  await expect(page.getByRole("heading", { level: 1, name: "Siteler" })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("language and theme can be chosen before signing in, without JavaScript", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, locale: "en", ...(baseURL && { baseURL }) });
  const page = await context.newPage();
  await page.goto("/sign-in");
  await page.getByRole("button", { name: "Türkçe" }).click();
  await expect(page.getByRole("heading", { name: "Oturum aç" })).toBeVisible();
  await context.close();
});

test("a browser that speaks Turkish is greeted in Turkish", async ({ visit }) => {
  const page = await visit({ language: "tr" });
  await page.goto("/sign-in");
  await expect(page.locator("html")).toHaveAttribute("lang", "tr");
});

test("the keyboard reaches the content first", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/members`);
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#main$/);
});

test("on a phone the bottom bar leads everywhere and nothing scrolls sideways", async ({ as, stack }) => {
  const page = await as("owner", { phone: true });
  const base = `/dashboard/site/${stack.sites[0]?.siteId}`;
  for (const path of [
    "/dashboard",
    base,
    `${base}/oci-control`,
    `${base}/members`,
    `${base}/connections`,
    `${base}/settings`,
    `${base}/billing`,
    "/dashboard/account",
  ]) {
    await page.goto(path);
    expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), path).toBe(0);
  }
  await page.goto(base);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "OCI Control" }).click();
  await expect(page.getByRole("heading", { name: "OCI Control" })).toBeVisible();
  await page.getByRole("button", { name: "More", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("link", { name: "Settings" })).toBeVisible();
  await page.getByRole("dialog").getByRole("link", { name: "Members" }).click();
  await expect(page.getByRole("heading", { name: "Members" })).toBeVisible();
});
