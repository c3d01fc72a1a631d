import type { Page } from "@playwright/test";
import { newLead } from "#tests/fixtures/leads.ts";
import { openDeskSite } from "#tests/support/desk-site.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { openControl, withQueueSite } from "#tests/support/queue-scene.ts";

const noAction = { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", message: "No conversion action named Sale exists." };
const historyLength = (page: Page) => page.evaluate(() => window.history.length);

// Guarantee: on a phone Back closes what lies over the page, one layer at a time, and only then leaves it.
test("OCI Control: a row, a question over it and the filter are closed by Back", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    await scene.fail(await scene.some(2, 90), 60, noAction);
    const page = await openControl(await visit({ phone: true }), team, team.operator);
    const list = page.url();
    await page.locator("[data-row-link]").first().tap();
    const story = page.getByRole("dialog", { name: /^Conversion / });
    await expect(story.getByText("Timeline")).toBeVisible();
    await expect(page).toHaveURL(/row=/);
    await story.getByRole("button", { name: "Back to queue" }).tap();
    const question = page.getByRole("dialog", { name: "Put 1 conversion back in the queue?" });
    await expect(question).toBeVisible();
    await page.goBack();
    await expect(question).toHaveCount(0);
    await expect(story).toBeVisible();
    await page.goBack();
    await expect(story).toHaveCount(0);
    await expect(page).toHaveURL(list);
    await page.goForward();
    await expect(story.getByText("Timeline")).toBeVisible();
    await story.getByRole("button", { name: "Close" }).tap();
    await expect(story).toHaveCount(0);
    await expect(page).toHaveURL(list);

    await page.getByRole("button", { name: "Filter", exact: true }).tap();
    const filter = page.getByRole("dialog", { name: "Filter" });
    await expect(filter).toBeVisible();
    await page.goBack();
    await expect(filter).toHaveCount(0);
    await expect(page).toHaveURL(list);
    // A choice takes the sheet's place: one Back leads to the list without it.
    await page.getByRole("button", { name: "Filter", exact: true }).tap();
    await filter.getByLabel("State").selectOption("QUEUED");
    await filter.getByRole("button", { name: "Apply" }).tap();
    await expect(page).toHaveURL(/status=QUEUED/);
    await page.goBack();
    await expect(page).toHaveURL(list);
    await page.goBack();
    await expect(page).not.toHaveURL(/oci-control/);
  });
});

test("OCI Control: a link to a row is closed by Back and stays on the page", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    const [id = ""] = await scene.some(1, 30);
    const page = await openControl(await visit({ phone: true }), team, team.viewer, `?row=${id}`);
    await expect(page.getByRole("dialog", { name: /^Conversion / })).toBeVisible();
    await page.goBack();
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await expect(page).toHaveURL(/oci-control\??$/);
  });
});

test("Today: the lead, its journey and the filter are closed by Back; Forward opens the lead again", async ({ stack, visit }) => {
  const desk = await openDeskSite(stack, "back");
  try {
    const made = await newLead(desk.sql, desk.team);
    const page = await visit({ phone: true });
    await desk.open(page, desk.team.operator);
    const list = page.url();
    const link = page.locator("[data-row-link]").first();
    await link.tap();
    const sheet = page.getByRole("dialog");
    await expect(sheet).toBeVisible();
    await expect(page).toHaveURL(new RegExp(`lead=${made}`));
    await sheet.getByRole("button", { name: /Journey/ }).tap();
    await expect(sheet.getByRole("list", { name: "Journey" })).toBeVisible();
    await page.goBack();
    await expect(sheet.getByRole("list", { name: "Journey" })).toHaveCount(0);
    await expect(sheet).toBeVisible();
    await page.goBack();
    await expect(sheet).toHaveCount(0);
    await expect(page).toHaveURL(list);
    await page.goForward();
    await expect(sheet).toBeVisible();
    await sheet.getByRole("button", { name: "Close" }).tap();
    await expect(sheet).toHaveCount(0);
    await expect(page).toHaveURL(list);

    await page.getByRole("button", { name: "Filter", exact: true }).tap();
    await expect(sheet).toBeVisible();
    await page.goBack();
    await expect(sheet).toHaveCount(0);
    await page.getByRole("button", { name: "Filter", exact: true }).tap();
    await sheet.getByLabel("Channel").selectOption({ index: 1 });
    await sheet.locator("button[type=submit]").tap();
    await expect(page).toHaveURL(/channel=/);
    await page.goBack();
    await expect(page).toHaveURL(list);

    await page.goto(`${list.split("?")[0]}?lead=${made}`);
    await expect(sheet).toBeVisible();
    await page.goBack();
    await expect(sheet).toHaveCount(0);
    await expect(page).not.toHaveURL(/lead=/);
    expect(new URL(page.url()).pathname).toBe(new URL(list).pathname);
  } finally {
    await desk.end();
  }
});

// Guarantee: a desk's history holds what it held before: a row opened on OCI Control is one step, a lead beside the list is none.
test("at a desk a lead adds no step to the history", async ({ stack, visit }) => {
  const desk = await openDeskSite(stack, "steps");
  try {
    await newLead(desk.sql, desk.team);
    await newLead(desk.sql, desk.team);
    const page = await visit();
    await desk.open(page, desk.team.operator);
    const before = await historyLength(page);
    await page.locator("[data-row-link]").last().click();
    await expect(page).toHaveURL(/lead=/);
    expect(await historyLength(page)).toBe(before);
  } finally {
    await desk.end();
  }
});
