import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

test("an owner creates a site, changes it, archives and restores it", async ({ as }) => {
  const page = await as("owner");
  const name = `Deneme ${Date.now()}`;
  await page.goto("/dashboard");
  await page.getByRole("link", { name: "New site" }).first().click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Domains").fill("https://www.Deneme.com.tr:443/iletisim\nblog.deneme.com.tr");
  await page.getByRole("button", { name: "Create site" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "Fill this in." })).toBeVisible(); // consent: nothing is chosen for the owner
  await page.getByRole("radio", { name: /Ask first/ }).check({ force: true });
  await page.getByLabel("Your trade (optional)").selectOption({ label: "Locksmith: ₺1,500" }); // a suggestion, nothing silent
  await expect(page.getByLabel("Average order (TRY)")).toHaveValue("1500");
  await page.getByLabel("Average order (TRY)").fill("1800");
  await page.getByRole("button", { name: "Create site" }).click();
  await expect(page).toHaveURL(/\/dashboard\/site\/[0-9a-f]{32}\/setup$/);

  const base = page.url().replace("/setup", "");
  await page.goto(`${base}/settings`);
  await expect(page.getByLabel("Domains")).toHaveValue("deneme.com.tr\nblog.deneme.com.tr");
  await page.getByLabel("Domains").fill("not a domain");
  await page.getByRole("region", { name: "About the site" }).getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText(/not a domain such as example.com/)).toBeVisible();
  await page.getByLabel("Domains").fill("deneme.com.tr");
  await page.getByRole("region", { name: "About the site" }).getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("Changes saved")).toBeVisible();

  await page.getByRole("button", { name: "Archive site" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill(name);
  await dialog.getByRole("button", { name: "Archive site" }).click();
  await expect(page.getByText(`${name} is archived`)).toBeVisible();
  await page.goto(`${base}/settings`);
  await page.getByRole("button", { name: "Restore site" }).click();
  await expect(page.getByText(`${name} is open again`)).toBeVisible();
});

test("an API key is shown once, never again, and can be revoked", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/connections`);
  const name = `Key ${Date.now()}`;
  await page.getByRole("button", { name: "Create key" }).first().click();
  await page.getByRole("dialog").getByLabel("Name").fill(name);
  await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("Copy your key now")).toBeVisible();
  const key =
    ((await page.getByRole("dialog").textContent()) ?? "").match(/om_[0-9a-f]{48}/)?.[0] ??
    (await page.getByRole("dialog").getByLabel("API key").inputValue());
  expect(key).toMatch(/^om_[0-9a-f]{48}$/);
  await page.keyboard.press("Escape"); // the key is shown once: only the button closes the dialog
  await expect(page.getByText("Copy your key now")).toBeVisible();
  await page.getByRole("button", { name: "I have stored it" }).click();
  await expect(page.getByText("Copy your key now")).toBeHidden();
  await page.reload();
  await expect(page.getByText(name)).toBeVisible();
  expect(await page.content()).not.toContain(key);
  await page.getByRole("button", { name: `Revoke ${name}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).click();
  await expect(page.getByText(`${name} is revoked`)).toBeVisible();
});

// Guarantee: an owner gives a key what it needs, sees what it was used for, and reads what stops before it stops.
for (const phone of [false, true]) {
  test(`a key is made for chosen uses and narrowed${phone ? ", on a phone" : ""}`, async ({ as, stack }) => {
    const page = await as("owner", { phone });
    await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/connections`);
    const name = `CRM ${Date.now()}`;
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Create key" }).first().click();
    await dialog.getByLabel("Name").fill(name);
    await expect(dialog.getByRole("checkbox", { checked: true })).toHaveAccessibleName(/Google Ads script/);
    await dialog.getByLabel("Google Ads script").uncheck();
    await expect(dialog.getByRole("button", { name: "Create key" })).toBeDisabled();
    await dialog.getByLabel("Leads").check();
    await dialog.getByLabel("Sales").check();
    await expectAccessible(page, "the uses of a new key");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await expect(dialog.getByText("Copy your key now")).toBeVisible();
    const key = ((await dialog.textContent()) ?? "").match(/om_[0-9a-f]{48}/)?.[0] ?? (await dialog.getByLabel("API key").inputValue());
    await page.getByRole("button", { name: "I have stored it" }).click();

    const record = async () => {
      const body = JSON.stringify({ external_ref: name, occurred_at: new Date().toISOString(), amount: 120 });
      return (await fetch(`${stack.baseUrl}/api/sales`, { method: "POST", body, headers: { "x-api-key": key } })).status;
    };
    expect(await record()).toBe(200);
    await page.reload();
    const uses = page.getByRole("row", { name: new RegExp(name) }).getByRole("listitem");
    await expect(uses).toHaveText([/^Leads.*Never used/, /^Sales.*(now|ago)/]);

    await page.getByRole("button", { name: `Narrow ${name}` }).click();
    await expect(dialog.getByRole("button", { name: "Nothing to remove" })).toBeDisabled();
    await dialog.getByLabel("Sales").uncheck();
    await expect(dialog).toContainText("A till or CRM with this key can no longer record or confirm sales.");
    await expectAccessible(page, "what stops");
    await dialog.getByRole("button", { name: "Remove 1 use" }).click();
    await expect(page.getByText(`${name} is narrowed`)).toBeVisible();
    await expect(uses).toHaveText([/^Leads/]);
    await expect(page.getByRole("button", { name: `Narrow ${name}` })).toHaveCount(0);
    expect(await record()).toBe(403);
  });
}

test("the last owner cannot leave, and the page says why", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/members`);
  await expect(page.getByText("The only owner. Make somebody else owner first.")).toBeVisible();
});

// Guarantee: a viewer neither sees nor reaches what belongs to owners, and learns nothing of other sites.
test("a viewer sees no owner's page, in the navigation or by its address", async ({ as, stack }) => {
  const page = await as("viewer");
  const base = `/dashboard/site/${stack.sites[0]?.siteId}`;
  await page.goto(base);
  for (const name of ["Members", "Connections", "Settings"]) await expect(page.getByRole("link", { name, exact: true })).toHaveCount(0);
  for (const path of ["members", "connections", "settings"]) {
    await page.goto(`${base}/${path}`);
    await expect(page.getByText("This page is for owners")).toBeVisible();
    expect(await page.content()).not.toContain("operator@opsmantik.demo");
  }
});

test("another's site and an unknown one show the same page", async ({ as, stack }) => {
  const owner = await as("owner");
  await owner.goto("/dashboard/sites/new");
  await owner.getByLabel("Name").fill("Private");
  await owner.getByLabel("Domains").fill("private.test");
  await owner.getByRole("radio", { name: /Ask first/ }).check({ force: true });
  await owner.getByLabel("Average order (TRY)").fill("100");
  await owner.getByRole("button", { name: "Create site" }).click();
  await expect(owner).toHaveURL(/\/dashboard\/site\/[0-9a-f]{32}\/setup$/);
  const privateSite = new URL(owner.url()).pathname.replace("/setup", "");
  expect(stack.sites.length).toBe(2);

  const viewer = await as("viewer");
  const texts: string[] = [];
  for (const path of [privateSite, `/dashboard/site/${"0".repeat(32)}`, "/dashboard/site/nonsense"]) {
    const response = await viewer.goto(path);
    expect(response?.status(), path).toBe(404);
    texts.push((await viewer.getByRole("main").textContent()) ?? "");
  }
  expect(new Set(texts).size).toBe(1);
  expect(texts[0]).toContain("There is nothing here");
});
