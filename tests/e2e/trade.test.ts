import type { Page } from "@playwright/test";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { type DeskSite, openDeskSite } from "#tests/support/desk-site.ts";
import { e2eStack } from "#tests/support/e2e-stack.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

let desk: DeskSite;
test.beforeAll(async () => {
  desk = await openDeskSite(e2eStack(), "trade");
});
test.afterAll(() => desk.end());

const sitePage = (path: string) => `/dashboard/site/${desk.team.siteId}${path}`;

/** For whoever looks at the screens: OPSMANTIK_SHOTS names a folder. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env.OPSMANTIK_SHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
}

for (const phone of [false, true]) {
  test(`an operator says who a lead is, calls and writes, and notes something down (${phone ? "phone" : "desk"})`, async ({ visit }) => {
    const id = await newLead(desk.sql, desk.team, { action: "whatsapp" });
    const page = await visit({ phone });
    await desk.open(page, desk.team.operator);
    await page.goto(sitePage(`?lead=${id}`));
    const place = phone ? page.locator("[data-slot=sheet]") : page.getByRole("region", { name: /^Lead / });
    await place.getByRole("button", { name: "Add name and number" }).click();
    const dialog = page.getByRole("dialog", { name: "Who is it?" });
    await dialog.getByLabel("Name").fill("Zeynep Kara");
    await dialog.getByLabel("Phone number").fill("12");
    await dialog.getByRole("button", { name: "Save changes" }).click();
    await expect(dialog.getByText("That is not a complete phone number.")).toBeVisible();
    await dialog.getByLabel("Phone number").fill("0532 555 41 07");
    await dialog.getByRole("button", { name: "Save changes" }).click();
    await expect(page.getByText("Name and number saved")).toBeVisible();
    await expect(place.getByRole("link", { name: "Call" })).toHaveAttribute("href", "tel:+905325554107");
    await expect(place.getByRole("link", { name: "Open WhatsApp chat" })).toHaveAttribute("href", "https://wa.me/905325554107");
    await expect(page.getByRole("heading", { name: "Zeynep Kara" }).first()).toBeVisible();
    await place.getByRole("button", { name: "Write a note" }).click();
    await page.getByRole("dialog", { name: "Write a note" }).getByLabel("Note").fill("Wants the quiet model");
    await page.getByRole("dialog", { name: "Write a note" }).getByRole("button", { name: "Save changes" }).click();
    await expect(page.getByText("Note saved")).toBeVisible();
    await shoot(page, `lead-${phone ? "phone" : "desk"}`);
    await expectAccessible(page, test.info().title);
  });
}

test("a sale leads to its lead, its conversion and its receipt, and the receipt back", async ({ visit }) => {
  const callId = await newLead(desk.sql, desk.team, { phone: "+905325550001" });
  await change(desk.sql, { team: desk.team }, "seal_call", { id: callId, amountCents: 77_700, note: "Chain of links" });
  const page = await visit();
  await desk.open(page, desk.team.operator);
  await page.goto(sitePage("/sales"));
  await page.getByLabel("Search", { exact: true }).fill("chain of links");
  await page.getByLabel("Search", { exact: true }).press("Enter");
  await expect(page.getByText("1 sale, sealed: ₺777")).toBeVisible();
  const row = page.getByRole("row", { name: /Chain of links/ });
  await shoot(page, "sales");
  await expectAccessible(page, test.info().title);
  await row.getByTitle("Proof receipt").or(row.getByRole("link").first()).first().click();
  await expect(page).toHaveURL(/\/dashboard\/proofs\//);
  await page.getByRole("link", { name: "Open the lead" }).click();
  await expect(page).toHaveURL(new RegExp(`lead=${callId}`));
  await page.goto(sitePage("/activity"));
  await shoot(page, "activity");
  await page.getByRole("row").nth(1).getByTitle("Open the receipt").click();
  await expect(page).toHaveURL(/\/dashboard\/proofs\//);
});

test("Ctrl K finds a lead by its last digits, a page and a site, by keyboard", async ({ visit }) => {
  const id = await newLead(desk.sql, desk.team, { phone: "+905325559911" });
  const page = await visit();
  await desk.open(page, desk.team.operator);
  await page.goto(sitePage("/sales"));
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /Pages, leads/ });
  await field.fill("559911");
  await expect(page.getByRole("option").first()).toContainText("99 11");
  await shoot(page, "ctrl-k");
  await expectAccessible(page, test.info().title);
  await field.press("Enter");
  await expect(page).toHaveURL(new RegExp(`lead=${id}`));
  await page.keyboard.press("Control+k");
  await field.fill("activity");
  await expect(page.getByRole("option").first()).toContainText("Activity");
  await field.press("Enter");
  await expect(page).toHaveURL(/\/activity$/);
  // Away from the site, too, and then with its name.
  await page.goto("/dashboard/account");
  await page.keyboard.press("Control+k");
  await field.fill("559911");
  await expect(page.getByRole("option").first()).toContainText("99 11");
  await expect(page.getByRole("option").first()).toContainText("trade-");
  await field.press("Enter");
  await expect(page).toHaveURL(new RegExp(`lead=${id}`));
});

test("an owner pauses sending with a reason, every page says so, and sending goes on", async ({ visit }) => {
  const page = await visit();
  await desk.open(page, desk.team.owner);
  await page.goto(sitePage("/connections/google-ads"));
  await page.getByRole("button", { name: "Pause sending" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/expires? before the pause ends/)).toBeVisible();
  await dialog.getByLabel("Reason").fill("Prices were wrong");
  await shoot(page, "pause");
  await expectAccessible(page, test.info().title);
  await dialog.getByRole("button", { name: "Pause sending" }).click();
  await expect(page.getByText(/Sending is paused until/).first()).toBeVisible();
  await page.goto(sitePage(""));
  await expect(page.getByText(/Prices were wrong/)).toBeVisible();
  await shoot(page, "paused");
  await page.getByRole("button", { name: "Resume sending" }).click();
  await expect(page.getByText(/Sending is paused until/)).toBeHidden();
});

// The browser of this test runs in another zone than the site: what counts is the site's clock.
test("a pause can end at a date and hour of the site's clock", async ({ visit }) => {
  const page = await visit();
  await desk.open(page, desk.team.owner);
  await page.goto(sitePage("/connections/google-ads"));
  await page.getByRole("button", { name: "Pause sending" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("For how long").selectOption("date");
  await dialog.getByLabel("Reason").fill("Holiday");
  const confirm = dialog.getByRole("button", { name: "Pause sending" });
  await dialog.getByLabel("Until when").fill("2020-01-01T10:00");
  await expect(dialog.getByText("Choose a time that is still to come, within 90 days.")).toBeVisible();
  await expect(confirm).toBeDisabled();
  const day = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
  await dialog.getByLabel("Until when").fill(`${day}T18:30`);
  await expect(dialog.getByText(/^Until .*18:30$/)).toBeVisible();
  await confirm.click();
  await expect(page.getByText(/Sending is paused until .*18:30/).first()).toBeVisible();
  const [site] = await desk.sql`select paused_until from public.sites where id = ${desk.team.siteUuid}`;
  expect(site?.paused_until.toISOString()).toBe(`${day}T15:30:00.000Z`); // Istanbul
  await page.getByRole("button", { name: "Resume sending" }).click();
  await expect(page.getByText(/Sending is paused until/)).toBeHidden();
});

test("Sites is an overview, and switching sites keeps the page", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto("/dashboard");
  await expect(page.getByRole("columnheader", { name: "Leads today" })).toBeVisible();
  await page.getByRole("button", { name: "Leads today" }).click();
  await expect(page.getByRole("columnheader", { name: "Leads today" })).toHaveAttribute("aria-sort", "descending");
  await shoot(page, "sites");
  await expectAccessible(page, test.info().title);
  const [one] = stack.sites;
  await page.goto(`/dashboard/site/${one?.siteId}/activity`);
  await expect(page).toHaveTitle(/ · /);
  await page
    .getByRole("navigation", { name: "Main" })
    .getByRole("button", { name: /^Switch site/ })
    .click();
  await page.getByRole("menuitem").nth(1).click();
  await expect(page).toHaveURL(/\/activity$/);
  await expect(page).not.toHaveURL(new RegExp(one?.siteId ?? ""));
});

test("a person changes their own name, and the shell shows it", async ({ visit }) => {
  const page = await visit();
  await desk.open(page, desk.team.viewer);
  await page.goto("/dashboard/account");
  await page.getByLabel("Name", { exact: true }).fill("Deniz Aydın");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByText("Your name is saved")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("navigation", { name: "Main" }).getByText("Deniz Aydın")).toBeVisible();
  await shoot(page, "account");
});
