import { randomInt } from "node:crypto";
import type { Locator, Page } from "@playwright/test";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { demoClient } from "#scripts/local/google/accounts.ts";
import { type Person, password } from "#tests/fixtures/team.ts";
import { GoogleClient } from "#tests/fixtures/worker/google-client.ts";
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

// Guarantee: nobody has to copy a token where we have a client of our own, and a refusal on Google's page changes nothing.
test("an owner allows access on Google's own page and comes back to choose the account", async ({ visit, stack }) => {
  await withQueueSite(stack, async (site) => {
    const { customerId } = await newAccount(stack);
    const page = await openPage(await visit(), site);
    const toGoogle = async () => {
      await page.getByRole("button", { name: "Connect Google Ads" }).click();
      await page.getByRole("link", { name: "Connect with Google" }).click();
      await expect(page.getByRole("heading", { name: "Google simulator" })).toBeVisible();
    };
    await toGoogle();
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect(page.getByText("Google did not give us access.")).toBeVisible();
    await toGoogle();
    await page.getByLabel("Account").selectOption(customerId);
    await navAlive(page, () => page.getByRole("button", { name: "Allow" }).click());
    await expect(card(page, "Connection to Google").getByText("Google gave us access.")).toBeVisible();
    await expect(page.getByLabel("Refresh token")).toHaveCount(0);
    await page.getByLabel("Customer ID", { exact: true }).fill(customerId);
    await page.getByRole("button", { name: "Load from Google" }).click();
    await expect(page.getByLabel("Conversion action for sealed sales").locator("option:checked")).toHaveText(sealAction.name);
    await sendForm(page, {});
    await expect(page.getByRole("button", { name: "Test connection" })).toBeVisible();
  });
});

// Guarantee: whoever may not change the connection sees how it stands, and is offered nothing that would be refused.
test("operators and viewers see the connection and no button that changes it", async ({ visit, stack }) => {
  await withQueueSite(stack, async (site) => {
    const owner = await openPage(await visit(), site);
    await connectByForm(owner, await newAccount(stack));
    for (const person of [site.team.operator, site.team.viewer]) {
      const page = await openPage(await visit(), site, person);
      await expect(card(page, "Connection to Google").getByText("Data Manager API")).toBeVisible();
      await expect(card(page, "Health").getByText("Not in use: this site sends by script")).toBeVisible();
      await expect(page.getByRole("main").getByRole("button")).toHaveCount(0);
      await expect(page.getByRole("heading", { name: "Install the script" })).toHaveCount(0);
    }
  });
});
