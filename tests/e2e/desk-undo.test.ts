import type { Page } from "@playwright/test";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { type DeskSite, openDeskSite } from "#tests/support/desk-site.ts";
import { e2eStack } from "#tests/support/e2e-stack.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

let desk: DeskSite;
test.beforeAll(async () => {
  desk = await openDeskSite(e2eStack(), "undo");
});
test.afterAll(() => desk.end());

let numbers = 4200;
async function lead(step: Parameters<typeof newLead>[2] = {}): Promise<{ id: string; shown: string; ending: string }> {
  const ending = String(numbers++);
  const id = await newLead(desk.sql, desk.team, { phone: `+90532555${ending}`, ...step });
  return { id, ending, shown: `+90 532 ••• ${ending.slice(0, 2)} ${ending.slice(2)}` };
}
const row = (page: Page, shown: string) => page.locator("[data-row]", { hasText: shown });
const panel = (page: Page, shown: string) => page.getByRole("region", { name: `Lead ${shown}` });
const toasts = (page: Page) => page.getByRole("region", { name: "Notifications" });
const amountOf = async (id: string) =>
  (
    await desk.sql`select c.status, s.amount_cents::int as cents from public.calls c left join public.sales s on s.call_id = c.id where c.id = ${id}`
  )[0];

async function correct(page: Page, shown: string, amount: string): Promise<void> {
  await panel(page, shown).getByRole("button", { name: "Correct amount" }).click();
  const dialog = page.getByRole("dialog", { name: /^Correct the amount/ });
  await dialog.getByLabel("Amount actually paid").fill(amount);
  await dialog.getByRole("button", { name: /^Correct to/ }).click();
}

// Guarantee: nobody loses a sale by undoing a correction. Mutation: undo the call's last move.
test("an undo after a correction takes back the correction, its toast closes, and the seal has an undo of its own", async ({ visit }) => {
  const { id, shown } = await lead();
  await change(desk.sql, desk, "seal_call", { id, amountCents: 150_000 });
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  await correct(page, shown, "2000");
  const offer = toasts(page).getByRole("button", { name: /^Undo correction to ₺2,000 \((9:\d\d|10:00)\)$/ });
  await offer.click();
  await expect(offer).toHaveCount(0);
  await expect(page.getByText("Undone. The amount is ₺1,500 again.")).toBeVisible();
  await expect.poll(() => amountOf(id)).toMatchObject({ status: "sealed", cents: 150_000 });
  await expect(panel(page, shown).getByRole("list", { name: "Journey" })).toContainText("Correction undone, ₺1,500 again");
  await panel(page, shown)
    .getByRole("button", { name: /^Undo seal of ₺1,500 \(/ })
    .click();
  await expect(page.getByText("Undone. The lead is open again.")).toBeVisible();
  await expect.poll(() => amountOf(id)).toMatchObject({ status: "intent" });
});

// Guarantee: row, panel and toast count down to the server's moment, on a phone whose clock is wrong too; and a reload takes no undo away.
// Mutations: let the toast go by the reader's clock; offer an undo only where its lead is listed.
test("an undo counts down by the server's clock and survives a reload of another list", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit();
  await page.addInitScript("{ const now = Date.now; Date.now = () => now() - 300_000; }");
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  await panel(page, shown).getByLabel("Other amount").fill("4250");
  await panel(page, shown).getByRole("button", { name: "Seal ₺4,250" }).click();
  const label = /^Undo seal of ₺4,250 \((9:\d\d|10:00)\)$/;
  await expect(toasts(page).getByRole("button", { name: label })).toBeVisible();
  await expect(panel(page, shown).getByRole("button", { name: label })).toBeVisible();
  // Each of them ticks once a second, not all in the same instant.
  const differing = async () => {
    const labels = await page.getByRole("button", { name: label }).allTextContents();
    return labels.length < 3 ? "one of three is missing" : new Set(labels).size;
  };
  await expect.poll(differing, { message: "all say the same", intervals: [100] }).toBe(1);
  await page.goto(`/dashboard/site/${desk.team.siteId}?view=open`);
  await expect(row(page, shown)).toHaveCount(0);
  await page.getByRole("button", { name: /^Undo seal of ₺4,250 \(\d:\d\d\)/ }).click();
  await expect(page.getByText("Undone. The lead is open again.")).toBeVisible();
  await expect.poll(() => amountOf(id)).toMatchObject({ status: "intent" });
});

test("undoing a cancellation says that the sale is sealed again", async ({ visit }) => {
  const { id, shown } = await lead();
  const { body } = await change(desk.sql, desk, "seal_call", { id, amountCents: 150_000 });
  await change(desk.sql, desk, "cancel_sale", { id: String(body.saleId) });
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  await panel(page, shown)
    .getByRole("button", { name: /^Undo cancellation \(/ })
    .click();
  await expect(page.getByText("Undone. The sale is sealed again.")).toBeVisible();
  await expect(page.getByText("The lead is open again")).toHaveCount(0);
  expect(await amountOf(id)).toMatchObject({ status: "sealed", cents: 150_000 });
});

// Guarantee: a seal that goes well never looks as if it had failed. Mutation: keep the delivery of the sale that was undone.
test("sealing again after an undo shows no failure on the way", async ({ visit }) => {
  const { id, shown } = await lead();
  await change(desk.sql, desk, "seal_call", { id, amountCents: 150_000 });
  await change(desk.sql, desk, "undo_call", { id });
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  const seen: string[] = [];
  await page.exposeFunction("saw", (text: string) => seen.push(text));
  await page.evaluate(`new MutationObserver(() => window.saw(document.querySelector("main").innerText)).observe(document.body, {
    subtree: true, childList: true, characterData: true })`);
  await page.route("**/seal", async (route) => {
    const answer = await route.fetch();
    await expect(row(page, shown)).toContainText("Sealed by you · queued");
    await route.fulfill({ response: answer });
  });
  await panel(page, shown)
    .getByRole("button", { name: /^Seal ₺/ })
    .click();
  await expect(toasts(page).getByText(/^Sealed for/)).toBeVisible();
  expect(seen.length).toBeGreaterThan(0);
  const heads = seen.map((text) => text.slice(text.indexOf(shown)));
  expect(heads.filter((text) => /Failed\n|sending failed|not sent/.test(text))).toEqual([]);
});

// Guarantee: nobody seals another lead than the one that the list shows. Mutation: keep the lead in view whatever the list.
test("a search shows the found lead in the list and in the panel", async ({ visit }) => {
  const old = await lead({ at: new Date(Date.now() - 3 * 86_400_000) });
  const newer = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator);
  await row(page, newer.shown).getByRole("link").click();
  await expect(panel(page, newer.shown)).toBeVisible();
  await page.getByLabel("Search by phone ending").fill(old.ending);
  await page.keyboard.press("Enter");
  await expect(page.locator("[data-row]")).toHaveCount(1);
  await expect(row(page, old.shown)).toBeVisible();
  await expect(panel(page, old.shown).getByRole("button", { name: /^Seal ₺/ })).toBeVisible();
  await expect(panel(page, newer.shown)).toHaveCount(0);
  await expect(page.locator("[data-row][data-on]")).toHaveCount(1);
});

test("a link to a lead that is not here says so", async ({ visit }) => {
  await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator, "?lead=00000000-0000-4000-8000-000000000000");
  await expect(page.getByText("This lead is not on this site.")).toBeVisible();
  await page.goto(`/dashboard/site/${desk.team.siteId}?lead=nonsense`);
  await expect(page.getByText("This lead is not on this site.")).toBeVisible();
});

// Guarantee: a page whose session has ended does not pretend to be live, and offers the way back to itself.
test("an ended session is said, with a way to sign in, and nothing is called live", async ({ visit }) => {
  const page = await visit();
  await desk.open(page, desk.team.viewer, "?view=open");
  await page.context().clearCookies();
  await expect(page.getByText("You were signed out.")).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText(/^Live/)).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Sign in again" })).toHaveAttribute("href", /^\/sign-in\?next=.*view%3Dopen$/);
});

// Guarantee: a forgotten tab costs nothing. Mutation: ask on while the tab is hidden.
test("a hidden tab asks nothing, and asks at once when it is shown again", async ({ visit }) => {
  const page = await visit();
  await desk.open(page, desk.team.viewer);
  const asked: string[] = [];
  const see = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} });
      document.dispatchEvent(new Event("visibilitychange"))`);
  await see(true);
  page.on("request", (request) => request.url().includes("/version?") && asked.push(request.url()));
  // The browser's own clock moves on: two rounds of questions would fall into it.
  await page.evaluate("new Promise((done) => setTimeout(done, 9000))");
  expect(asked).toEqual([]);
  // Before the event is over, not with the next round.
  await page.evaluate("{ const send = fetch; window.fetch = (...given) => ((window.sent = String(given[0])), send(...given)); }");
  await see(false);
  expect(await page.evaluate("window.sent")).toContain("/version?");
});
