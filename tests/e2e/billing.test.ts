import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { daysOf, shiftMonth } from "#lib/billing/year-month.ts";
import { parseCsv } from "#lib/csv/csv.ts";
import { createTeam, password } from "#tests/fixtures/team.ts";
import { expect, signIn, test } from "#tests/support/e2e-test.ts";
import { withOwnSite } from "#tests/support/own-site.ts";

const thisMonth = () => new Date().toISOString().slice(0, 7);
const closedMonth = shiftMonth(thisMonth(), -2);

async function saveAs(page: Page, name: RegExp | string, path: string): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).first().click()]);
  await download.saveAs(path);
  return readFileSync(path, "utf8");
}

test("the page shows what was admitted, at once", async ({ visit, stack }) => {
  await withOwnSite(stack, createTeam, async (team, sql) => {
    const page = await visit();
    await signIn(page, { email: team.viewer.email, password });
    await page.goto(`/dashboard/site/${team.siteId}/billing`);
    const figure = page.getByRole("region", { name: "Usage this month" }).locator("[data-slot=used]");
    await expect(figure).toHaveText("0");
    const events = Array.from({ length: 3 }, () => ({ k: randomBytes(32).toString("hex"), e: null, n: "interaction/view", p: {} }));
    // Twice the same: the second time they are repeats, and repeats are not billed.
    for (let time = 0; time < 2; time++) await sql`select public.admit_events(${team.siteUuid}, ${sql.json(events)})`;
    await page.reload();
    await expect(figure).toHaveText("3");
  });
});

test("the chart is read with the arrow keys, and as a table", async ({ as, stack }) => {
  const page = await as("viewer");
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/billing`);
  const chart = page.getByRole("slider", { name: "Day of the month" });
  await chart.focus();
  await page.keyboard.press("Home");
  await expect(chart).toHaveAttribute("aria-valuetext", /^\w{3},? 1 \w{3,4}: /);
  await expect(page.getByText((await chart.getAttribute("aria-valuetext")) ?? "none", { exact: true })).toBeVisible();
  await page.getByText("Show as table").click();
  await expect(page.getByRole("table", { name: "Events per day" }).getByRole("row")).toHaveCount(1 + daysOf(thisMonth()).length);
});

// Guarantee: a customer can take the invoice and its events home and prove it there, with what the page gives.
test("an invoice and its events are downloaded and prove each other offline", async ({ as, stack }, testInfo) => {
  const page = await as("viewer");
  await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/billing/invoices/${closedMonth}`);
  const invoicePath = testInfo.outputPath("invoice.json");
  const eventsPath = testInfo.outputPath("events.csv");
  const invoice = JSON.parse(await saveAs(page, "Proof file", invoicePath));
  const events = parseCsv(await saveAs(page, "Events of the month", eventsPath));
  expect(events.length - 1).toBe(invoice.eventCount);
  const verdict = execFileSync(process.execPath, ["scripts/verify-invoice.ts", invoicePath, eventsPath], { encoding: "utf8" });
  expect(verdict.match(/^ok/gm)).toHaveLength(3);
  const lines = parseCsv(await saveAs(page, "CSV", testInfo.outputPath("invoice.csv")));
  expect(lines.at(-1)?.[2]).toBe(invoice.contentHash);
});

test("on paper only the invoice is left", async ({ as, stack }) => {
  const page = await as("viewer", { theme: "dark" });
  await page.goto(`/dashboard/site/${stack.sites[1]?.siteId}/billing/invoices/${closedMonth}`);
  await expect(page.getByRole("button", { name: "Print" })).toBeVisible();
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("article")).toBeVisible();
  await expect(page.getByText("Invoice SHA-256")).toBeVisible();
  await expect(page.getByRole("button", { name: "Print" })).toBeHidden();
  await expect(page.getByRole("navigation", { name: "Main" })).toHaveCount(0);
  expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("light");
});

test("counted events are walked month by month and page by page", async ({ as, stack }) => {
  const page = await as("viewer");
  await page.goto(`/dashboard/site/${stack.sites[0]?.siteId}/billing`);
  await page.getByRole("link", { name: /See all .* counted events/ }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Counted events" })).toBeVisible();
  await page.getByRole("navigation", { name: "Month" }).getByRole("link").nth(1).click();
  await expect(page).toHaveURL(new RegExp(`month=${closedMonth}`));
  const rows = page.getByRole("table", { name: "Counted events" }).getByRole("row");
  await expect(rows).toHaveCount(101);
  await expect(page.getByRole("cell", { name: /^Page view\s*interaction\/view$/ }).first()).toBeVisible();
  const first = (await rows.nth(1).textContent()) ?? "";
  await page.getByRole("link", { name: "Next page" }).click();
  await expect(page).toHaveURL(/cursor=/);
  await expect(rows.nth(1)).not.toHaveText(first);
});

test("a month without an invoice, and another's site, are pages that do not exist", async ({ as, stack }) => {
  const page = await as("viewer");
  const base = `/dashboard/site/${stack.sites[0]?.siteId}/billing`;
  for (const path of [
    `${base}/invoices/2001-01`,
    `${base}/invoices/x`,
    `${base}/events?cursor=x`,
    `/dashboard/site/${"f".repeat(32)}/billing`,
  ]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { name: "There is nothing here" }), path).toBeVisible();
  }
});
