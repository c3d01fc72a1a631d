import { randomInt } from "node:crypto";
import type { Locator, Page } from "@playwright/test";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { demoClient } from "#scripts/local/google/accounts.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { type Person, password } from "#tests/fixtures/team.ts";
import { GoogleClient } from "#tests/fixtures/worker/google-client.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, signIn, test } from "#tests/support/e2e-test.ts";
import { navAlive, type Site, withQueueSite } from "#tests/support/queue-scene.ts";

const sealAction = { id: "1005", name: "OpsMantik_V5_DEMIR_MUHUR" };
const onceAction = { id: "2001", name: "Counts once", countingType: "ONE_PER_CLICK" };
const actions = [sealAction, onceAction];

interface Account {
  google: GoogleClient;
  customerId: string;
  refreshToken: string;
}

/** An account of this test alone at the simulated Google. */
async function newAccount({ googleUrl }: DemoFile): Promise<Account> {
  const customerId = String(randomInt(2_000_000_000, 9_999_999_999));
  const refreshToken = `1//refresh-${customerId}`;
  const google = new GoogleClient(googleUrl);
  await google.putAccount({ customerId, name: `Account ${customerId}`, conversionActions: actions, refreshTokens: [refreshToken] });
  return { google, customerId, refreshToken };
}

const pathOf = ({ team }: Site) => `/dashboard/site/${team.siteId}/connections/google-ads`;

async function openPage(page: Page, site: Site, person: Person = site.team.owner): Promise<Page> {
  await signIn(page, { email: person.email, password });
  await navAlive(page, () => page.goto(pathOf(site)));
  return page;
}

/** Fills the form as far as `given` goes and sends it. */
async function sendForm(page: Page, given: Partial<Record<"customer" | "clientId" | "secret" | "token", string>>): Promise<void> {
  const labels = { customer: "Customer ID", clientId: "OAuth client ID", secret: "OAuth client secret", token: "Refresh token" };
  for (const [name, label] of Object.entries(labels) as [keyof typeof labels, string][]) {
    if (given[name] !== undefined) await page.getByLabel(label, { exact: true }).fill(given[name]);
  }
  await press(page.getByRole("button", { name: /^Test and (connect|save)$/ }));
}

/** A button that still waits for an answer takes no press. */
async function press(button: Locator): Promise<void> {
  await expect(button).toHaveAttribute("aria-busy", "false");
  await button.click();
}

const asOwnClient = async (page: Page) => page.getByRole("button", { name: "Use your own OAuth client" }).click();
const card = (page: Page, name: string): Locator => page.getByRole("region", { name });

// Guarantee: an owner gets from the script to the API and back on one page, is told at the field what Google does not take, sees what each step
// means before it happens, and no secret ever comes back.
test("an owner connects, tests, chooses an action, tries a row, switches there and back, and disconnects", async ({ visit, stack }) => {
  test.slow();
  await withQueueSite(stack, async (site) => {
    const { google, customerId, refreshToken } = await newAccount(stack);
    await site.scene.some(2, 8);
    const page = await openPage(await visit(), site);
    await expect(page.getByText("Needs a connection to Google Ads, below.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Switch to API" })).toHaveCount(0);

    await page.getByRole("button", { name: "Connect Google Ads" }).click();
    await asOwnClient(page);
    await page.getByLabel("Conversion action for sealed sales").fill("1005");
    await sendForm(page, { customer: "my account", clientId: demoClient.clientId, secret: "wrong", token: refreshToken });
    await expect(page.getByText("A customer ID has ten digits, for example 123-456-7890.")).toBeVisible();
    await expect(page.getByLabel("Customer ID", { exact: true })).toBeFocused();
    await expect(page.getByLabel("Conversion action for sealed sales")).not.toHaveAttribute("aria-invalid", "true");
    await sendForm(page, { customer: customerId });
    const secret = page.getByLabel("OAuth client secret");
    await expect(secret).toHaveAccessibleDescription(/does not accept this client ID with this secret/);
    await expect(secret).toBeFocused();
    await expect(page.getByText("Nothing was saved.")).toBeVisible();

    await secret.fill(demoClient.clientSecret);
    await page.getByRole("button", { name: "Load from Google" }).click();
    const field = page.getByLabel("Conversion action for sealed sales");
    await expect(field.locator("option:checked")).toHaveText(sealAction.name);
    // Typed key by key: each of them goes where it is typed, though another field is still wrong.
    const customer = page.getByLabel("Customer ID", { exact: true });
    await customer.fill("");
    await customer.pressSequentially("999-999-9999"); // the list of one account is not another's
    await expect(customer).toHaveValue("999-999-9999");
    await expect(secret).toHaveValue(demoClient.clientSecret);
    await expect(page.getByRole("textbox", { name: "Conversion action for sealed sales" })).toHaveValue("");
    await customer.fill(customerId);
    await press(page.getByRole("button", { name: "Load from Google" }));
    await expect(field.locator("option:checked")).toHaveText(sealAction.name);
    await sendForm(page, {});
    await expect(page.getByText("Google Ads is connected.").first()).toBeVisible();
    await expect(card(page, "Conversion actions").getByRole("cell", { name: "Every conversion" })).toBeVisible();
    const shown = await page.content();
    for (const kept of [demoClient.clientSecret, refreshToken]) expect(shown).not.toContain(kept);

    await page.getByRole("button", { name: "Test connection" }).click();
    await expect(page.getByRole("list", { name: "What was tested" }).getByText("Corrections and retractions go by API")).toBeVisible();

    const chosen = card(page, "Conversion actions");
    await chosen.getByRole("button", { name: "Change" }).click();
    await chosen.getByLabel("Sealed sale").selectOption({ label: onceAction.name });
    await expect(chosen.getByText(/counts one conversion per click/)).toBeVisible();
    await chosen.getByLabel("Sealed sale").selectOption({ label: sealAction.name });
    await chosen.getByRole("button", { name: "Save actions" }).click();
    await expect(chosen.getByRole("cell", { name: "Every conversion" })).toBeVisible();

    await press(page.getByRole("button", { name: "Ask Google" }));
    await expect(page.getByText("Google would take it.")).toBeVisible();
    await google.putAccount({ customerId, conversionActions: [onceAction] });
    await press(page.getByRole("button", { name: "Ask Google" }));
    await expect(page.getByText("Google would not take it.")).toBeVisible();
    await expect(page.getByText("product_destination_id", { exact: true })).toBeVisible();
    await google.putAccount({ customerId, conversionActions: actions });

    await page.getByRole("button", { name: "Switch to API" }).click();
    const dialog = page.getByRole("dialog", { name: "Send by API from now on?" });
    await expect(dialog.getByText("2 waiting conversions go by API as soon as they are due.")).toBeVisible();
    await expect(dialog.getByText("Nothing is being sent right now.")).toBeVisible();
    await dialog.getByRole("button", { name: "Keep as is" }).click();
    await expect(page.getByRole("button", { name: "Switch to API" })).toBeFocused();
    await press(page.getByRole("button", { name: "Switch to API" }));
    await dialog.getByRole("button", { name: "Send by API" }).click();
    await expect(page.getByText("This site now sends by API.")).toBeVisible();
    await expect(page.getByText("Due conversions go out every 10 minutes.")).toBeVisible();

    await page.getByRole("button", { name: "Switch to script" }).click();
    const back = page.getByRole("dialog", { name: "Send by script from now on?" });
    await expect(back.getByText("The script must be installed in your Google Ads account.", { exact: false })).toBeVisible();
    await back.getByRole("button", { name: "Send by script" }).click();
    await expect(page.getByText("This site now sends by script.")).toBeVisible();
    await expect(page.getByRole("heading", { name: "Install the script" })).toBeVisible();

    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await expect(page.getByText("Not connected.")).toBeVisible();
  });
});

/** Connects a site by API, as the test above does by hand. */
async function connectByForm(page: Page, { customerId, refreshToken }: Account): Promise<void> {
  await page.getByRole("button", { name: "Connect Google Ads" }).click();
  await asOwnClient(page);
  await page.getByLabel("Conversion action for sealed sales").fill(sealAction.id);
  await sendForm(page, {
    customer: customerId,
    clientId: demoClient.clientId,
    secret: demoClient.clientSecret,
    token: refreshToken,
  });
  await expect(page.getByText("Google Ads is connected.").first()).toBeVisible();
}

// Guarantee: when Google withdraws access, the page says since when, why and what to do, and new access lets everything go on; on a phone, too.
test("a blocked connection is shown with its fix on a phone, and new access ends it", async ({ visit, stack }) => {
  test.slow();
  await withQueueSite(stack, async (site) => {
    const account = await newAccount(stack);
    const page = await openPage(await visit({ phone: true, theme: "dark" }), site);
    await connectByForm(page, account);
    await page.getByRole("button", { name: "Switch to API" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send by API" }).click();
    await expect(page.getByText("This site now sends by API.")).toBeVisible();

    const revoked = ["INVALID_GRANT", "Token has been expired or revoked."] as const;
    await site.sql`
      select public.block_provider(c.site_id, c.provider_key, ${revoked[0]}, ${revoked[1]}, c.version)
      from public.provider_credentials c where c.site_id = ${site.team.siteUuid}`;
    const renewed = `1//renewed-${account.customerId}`;
    await account.google.putAccount({ customerId: account.customerId, refreshTokens: [renewed] });
    await navAlive(page, () => page.reload());
    await expect(page.getByText(/^Google has refused our access since/)).toBeVisible();
    await expect(card(page, "Health").getByText("Stopped: Google refuses our access")).toBeVisible();
    await expectAccessible(page, "a blocked connection");
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(390);

    await page.getByRole("link", { name: "Reconnect" }).click();
    await expect(page.getByRole("link", { name: "Connect with Google" })).toBeInViewport();
    await asOwnClient(page);
    await expect(page.getByLabel("Customer ID", { exact: true })).not.toHaveValue("");
    await expect(page.getByLabel("Refresh token")).toHaveValue("");
    await expectAccessible(page, "the form");
    await page.getByRole("button", { name: "Cancel" }).click();

    await page.getByRole("button", { name: "Replace access" }).click();
    const dialog = page.getByRole("dialog", { name: "Replace access" });
    await dialog.getByLabel("Refresh token").fill(account.refreshToken);
    await press(dialog.getByRole("button", { name: "Test and replace" }));
    await expect(dialog.getByLabel("Refresh token")).toHaveAccessibleDescription(/has expired or was revoked/);
    await dialog.getByLabel("Refresh token").fill(renewed);
    await press(dialog.getByRole("button", { name: "Test and replace" }));
    await expect(page.getByText("Access replaced.")).toBeVisible();
    await expect(page.getByText(/^Google has refused our access since/)).toHaveCount(0);
  });
});

// Guarantee: an owner who replaced the access learns at once that other conversions still do not go out.
// Mutation: keep what the test said in the dialog that closes.
test("after new access the page names the other actions that Google refuses", async ({ visit, stack }) => {
  await withQueueSite(stack, async (site) => {
    const account = await newAccount(stack);
    const page = await openPage(await visit(), site);
    await connectByForm(page, account);
    const actionOf = (id: string) => `customers/${account.customerId}/conversionActions/${id}`;
    const chosen = [
      { conversionName: sealAction.name, action: actionOf(sealAction.id) },
      { conversionName: "OpsMantik_V4_Sicak_Teklif", action: actionOf(onceAction.id) },
    ];
    const choose = (of: typeof chosen) =>
      callAs(site.sql, site.team.owner, (tx) => tx`select public.set_conversion_actions(${site.team.siteId}, ${tx.json(of)})`);
    await choose(chosen);
    await account.google.putAccount({ customerId: account.customerId, conversionActions: [sealAction] });
    await navAlive(page, () => page.reload());
    await page.getByRole("button", { name: "Replace access" }).click();
    const dialog = page.getByRole("dialog", { name: "Replace access" });
    await dialog.getByLabel("Refresh token").fill(account.refreshToken);
    await press(dialog.getByRole("button", { name: "Test and replace" }));
    await expect(dialog).toHaveCount(0);
    const tested = page.getByRole("list", { name: "What was tested" });
    await expect(tested.getByText("OpsMantik_V4_Sicak_Teklif")).toBeVisible();
  });
});
