import type { Page } from "@playwright/test";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { type DeskSite, openDeskSite } from "#tests/support/desk-site.ts";
import { e2eStack } from "#tests/support/e2e-stack.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

let desk: DeskSite;
test.beforeAll(async () => {
  desk = await openDeskSite(e2eStack(), "desk");
});
test.afterAll(() => desk.end());

let numbers = 1000;
/** A lead with a number of its own, and how the desk shows it. */
async function lead(step: Parameters<typeof newLead>[2] = {}): Promise<{ id: string; shown: string; ending: string }> {
  const ending = String(numbers++);
  const id = await newLead(desk.sql, desk.team, { phone: `+90532555${ending}`, ...step });
  return { id, ending, shown: `+90 532 ••• ${ending.slice(0, 2)} ${ending.slice(2)}` };
}
const row = (page: Page, shown: string) => page.locator("[data-row]", { hasText: shown });
const panel = (page: Page, shown: string) => page.getByRole("region", { name: `Lead ${shown}` });
/** In the browser: presses a key after the change that brings an element, before that is painted and before any timer. */
function pressAtFirstSight({ shown, key }: { shown: string; key: string }): void {
  const observer = new MutationObserver(() => {
    if (!document.querySelector(shown)) return;
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
  observer.observe(document.body, { subtree: true, childList: true, attributes: true });
}
async function stored(id: string) {
  const [call] = await desk.sql`
    select c.status, s.amount_cents::int as cents, s.note, (select count(*)::int from public.revenue_snapshots r where r.sale_id = s.id) as lines
    from public.calls c left join public.sales s on s.call_id = c.id where c.id = ${id}`;
  return call;
}

test("an operator seals a lead for an amount with a note, sees what follows, and takes it back", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator);
  await row(page, shown).getByRole("link").click();
  const detail = panel(page, shown);
  await detail.getByLabel("Other amount").fill("4.250");
  await expect(
    detail.getByText(/We'll send ₺4,250 to Google after .*Google needs the click to be 6 hours old\. You can undo until/),
  ).toBeVisible();
  await detail.getByRole("button", { name: "Add a note" }).click();
  await detail.getByLabel("Note").fill("Part replaced");
  await detail.getByRole("button", { name: "Seal ₺4,250" }).click();
  await expect(page.getByText("Sealed for ₺4,250.")).toBeVisible();
  await expect(row(page, shown)).toContainText("Sealed by you · queued");
  await expect(row(page, shown).getByRole("button", { name: /^Undo seal of ₺4,250 \((9:\d\d|10:00)\)$/ })).toBeVisible();
  expect(await stored(id)).toEqual({ status: "sealed", cents: 425_000, note: "Part replaced", lines: 1 });
  await expect(detail.getByText("by you · ").or(detail.getByText("Sealed for")).first()).toBeVisible();

  await detail.getByRole("button", { name: /^Undo/ }).click();
  await expect(page.getByText("Undone. The lead is open again.")).toBeVisible();
  await expect(detail.getByRole("button", { name: /^Seal ₺/ })).toBeVisible();
  expect(await stored(id)).toMatchObject({ status: "intent", cents: 0 });
});

test("a sealed amount is corrected, and the sale cancelled, each saying what Google will be told", async ({ visit }) => {
  const { id, shown } = await lead();
  await change(desk.sql, desk, "seal_call", { id, amountCents: 425_000 });
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  const detail = panel(page, shown);
  await detail.getByRole("button", { name: "Correct amount" }).click();
  const dialog = page.getByRole("dialog", { name: /^Correct the amount/ });
  await expect(dialog.getByText("Nothing has been sent yet. Google will only see the new amount.")).toBeVisible();
  await dialog.getByLabel("Amount actually paid").fill("4000");
  await dialog.getByLabel("Reason").fill("Discount");
  await dialog.getByRole("button", { name: "Correct to ₺4,000" }).click();
  await expect(page.getByText("Corrected to ₺4,000.")).toBeVisible();
  expect(await stored(id)).toMatchObject({ cents: 400_000, lines: 2 });
  await expect(detail.getByRole("list", { name: "Journey" })).toContainText("Corrected to ₺4,000");

  await detail.getByRole("button", { name: "Cancel sale" }).click();
  await page
    .getByRole("dialog", { name: /^Cancel the sale/ })
    .getByRole("button", { name: "Cancel sale" })
    .click();
  await expect(detail.getByRole("heading", { name: "Sale cancelled" })).toBeVisible();
  await expect.poll(() => stored(id)).toMatchObject({ status: "cancelled", cents: 0, lines: 3 });
});

test("junk asks for a reason and keeps it", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  await panel(page, shown).getByRole("button", { name: "Junk" }).click();
  const dialog = page.getByRole("dialog", { name: /^Why is/ });
  await dialog.getByText("Wrong number").click();
  await dialog.getByRole("button", { name: "Mark as junk" }).click();
  await expect(row(page, shown)).toContainText("Junk, by you");
  const notes = () =>
    desk.sql`select n.note from public.calls c join private.proof_notes n on n.proof_id = c.last_proof_id where c.id = ${id}`;
  await expect.poll(async () => (await notes())[0]?.note).toBe("Wrong number");
  await panel(page, shown).getByRole("button", { name: "Open again" }).click();
  await expect.poll(() => stored(id)).toMatchObject({ status: "intent" });
});

test("everything is done with the keyboard alone", async ({ visit }) => {
  const first = await lead();
  const second = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator, `?view=open&lead=${second.id}`);
  await expect(panel(page, second.shown)).toBeVisible();
  await page.keyboard.press("j");
  await expect(panel(page, first.shown)).toBeVisible();
  await page.keyboard.press("k");
  await expect(panel(page, second.shown)).toBeVisible();
  await page.keyboard.press("s");
  await expect.poll(() => stored(second.id)).toMatchObject({ status: "sealed" });
  await expect(row(page, second.shown)).toContainText("Sealed by you");
  await page.keyboard.press("u");
  await expect.poll(() => stored(second.id)).toMatchObject({ status: "intent" });
  await expect(panel(page, second.shown).getByRole("button", { name: /^Seal ₺/ })).toBeVisible();
  await page.keyboard.press("x");
  await expect(page.getByRole("dialog", { name: /Why is/ })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: /Why is/ })).toHaveCount(0);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toHaveCount(0);
  await page.keyboard.press("/");
  await expect(page.getByLabel("Search by phone ending")).toBeFocused();
  // Keys sleep while somebody types.
  await page.keyboard.type("sx");
  expect(await stored(second.id)).toMatchObject({ status: "intent" });
  await expect(page.getByRole("dialog", { name: /Why is/ })).toHaveCount(0);
});

// Guarantee: somebody who types fast is heard, and never acts on the lead before.
// Mutations that break it: bind the panel's keys in useEffect, which runs after the paint; let keys sleep while a dialog fades out.
test("a key acts on what is shown from its first frame", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  await page.keyboard.press("s");
  await expect.poll(() => stored(id)).toMatchObject({ status: "sealed" });
  await expect(panel(page, shown).getByRole("button", { name: "Correct amount" })).toBeEnabled();
  await page.evaluate(pressAtFirstSight, { shown: '[aria-keyshortcuts="x"]', key: "x" });
  await page.keyboard.press("u");
  await expect(page.getByRole("dialog", { name: /Why is/ })).toBeVisible();
  await page.evaluate(pressAtFirstSight, { shown: "[data-slot=dialog][data-closed]", key: "?" });
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toBeVisible();
});

test("on a phone a lead is sealed in two taps, and its journey is one level below", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit({ phone: true });
  await desk.open(page, desk.team.operator);
  expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(0);
  await row(page, shown).getByRole("link").tap();
  const sheet = page.getByRole("dialog", { name: shown });
  await sheet.getByRole("button", { name: /Journey/ }).tap();
  await expect(sheet.getByRole("list", { name: "Journey" })).toBeVisible();
  await sheet.getByRole("button", { name: "Back" }).tap();
  await sheet.getByRole("button", { name: /^Seal ₺/ }).tap();
  await expect(sheet).toHaveCount(0);
  await expect.poll(() => stored(id)).toMatchObject({ status: "sealed" });
  await expect(row(page, shown)).toContainText("Sealed by you");
});

// Guarantee: an operator whose screen is old never seals over a colleague, and learns who was first.
test("a seal from a stale screen is refused with who was faster", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  // Once a question has failed, the one before it is answered: nothing on its way can tell the page.
  const isDeaf = page.waitForEvent("requestfailed", (request) => request.url().includes("/version?"));
  await page.route("**/version?*", (route) => route.abort());
  await isDeaf;
  await change(desk.sql, { team: desk.team, person: desk.team.owner }, "seal_call", { id, amountCents: 240_000 });
  const detail = panel(page, shown);
  await detail.getByLabel("Other amount").fill("4250");
  await detail.getByRole("button", { name: "Seal ₺4,250" }).click();
  await expect(page.getByText(/ sealed this lead .* for ₺2,400\. Your ₺4,250 was not saved\./)).toContainText(desk.team.owner.email);
  await expect(row(page, shown)).toContainText(`Sealed by ${desk.team.owner.email}`);
  expect(await stored(id)).toMatchObject({ cents: 240_000, lines: 1 });
});

// Guarantee: an answer that got lost on the way can be asked for again; the sale happens once.
test("a seal whose answer is lost is tried again and happens once", async ({ visit }) => {
  const { id, shown } = await lead();
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${id}`);
  const keys: (string | undefined)[] = [];
  await page.route("**/seal", async (route) => {
    keys.push(route.request().headers()["idempotency-key"]);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await panel(page, shown)
    .getByRole("button", { name: /^Seal ₺/ })
    .click();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText(/^Sealed for/).first()).toBeVisible();
  expect(new Set(keys).size).toBe(1);
  expect(await stored(id)).toMatchObject({ status: "sealed", lines: 1 });
});

test("a second call of a sealed visit asks whether it is another sale", async ({ visit }) => {
  const visitor = `twice-${Date.now()}`;
  const first = await lead({ visitor });
  const second = await lead({ visitor, action: "whatsapp" });
  await change(desk.sql, desk, "seal_call", { id: first.id, amountCents: 240_000 });
  const page = await visit();
  await desk.open(page, desk.team.operator, `?lead=${second.id}`);
  await panel(page, second.shown)
    .getByRole("button", { name: /^Seal ₺/ })
    .click();
  const dialog = page.getByRole("dialog", { name: "Seal a second sale of this visit?" });
  await expect(dialog).toContainText("already sealed for ₺2,400");
  await dialog.getByRole("button", { name: /It is another sale/ }).click();
  await expect.poll(() => stored(second.id)).toMatchObject({ status: "sealed" });
});

// Guarantee: a chart of other days is compared with as many before them, and can be shared by its address.
test("the chart shows 7, 30 or 90 days beside as many before them, and the address keeps it", async ({ visit }) => {
  await lead({ at: new Date(Date.now() - 40 * 86_400_000) });
  const { shown } = await lead();
  const page = await visit();
  await desk.open(page, desk.team.viewer);
  const chart = page.getByRole("figure");
  await expect(chart).toContainText("Leads per day, last 30 days");
  const [, , before = ""] = /(\d+) in all, (\d+) before/.exec((await chart.textContent()) ?? "") ?? [];
  expect(Number(before)).toBeGreaterThan(0);
  await chart.getByRole("link", { name: "90 days" }).click();
  await expect(chart).toContainText("Leads per day, last 90 days");
  await expect(chart).toContainText(/\d+ in all, 0 before/);
  await expect(page).toHaveURL(/days=90/);
  await page.reload();
  await expect(chart).toContainText("Previous 90 days");
  await row(page, shown).getByRole("link").click();
  await expect(page).toHaveURL(/days=90/);
});
