import { readFileSync } from "node:fs";
import { parseCsv } from "#lib/csv/csv.ts";
import { change } from "#tests/fixtures/leads.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { alive, openControl, statusOf, withQueueSite } from "#tests/support/queue-scene.ts";

const noAction = { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", message: "No conversion action named Sale exists." };
const unreadable = { code: "UNPARSEABLE_GCLID", category: "VALIDATION", message: "The gclid cannot be decoded." };

// Guarantee: an operator finds out why one conversion failed without asking anybody, and can send a colleague the link.
test("why one failed: what, who and fix, under an address of its own", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    const [lost = ""] = await scene.sealed([{ amountCents: 675_000, sealedAgo: 90 }]);
    await scene.fail([lost], 60, noAction);
    await scene.deliver(await scene.some(9, 200), 100);
    const page = await openControl(await visit(), team, team.operator);
    await page.getByRole("button", { name: /^Failed/ }).click();
    await expect(page).toHaveURL(/status=FAILED/);
    const row = page.getByRole("row", { name: /Failed/ });
    await expect(row).toHaveCount(1);
    await row.getByRole("link").click();
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("₺6,750.00")).toBeVisible();
    await expect(drawer.getByText("Google does not know the conversion action", { exact: false }).first()).toBeVisible();
    await expect(drawer.getByText("The person who manages your Google Ads account")).toBeVisible();
    await expect(drawer.getByText("NO_CONVERSION_ACTION_FOUND", { exact: false }).first()).toBeVisible();
    await expect(drawer.getByText(/^Try 1/)).toBeVisible();
    await expect(drawer.getByText("Would be sent to Google")).toBeVisible();
    await expect(page).toHaveURL(new RegExp(`row=${lost}`));
    await alive(page, () => page.reload());
    await expect(drawer.getByText("₺6,750.00")).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(drawer).toBeHidden();
  });
});

// Guarantee: a group is acted on as it was shown, in numbers and money, and can be taken back.
test("a group with one cause is retried from the preview, and undone", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const group = await scene.sealed([425_000, 240_000, 320_000].map((amountCents) => ({ amountCents, sealedAgo: 90 })));
    await scene.fail(group, 60, noAction);
    await scene.fail(await scene.some(1, 90), 50, unreadable);
    const page = await openControl(await visit(), team, team.operator);
    await expect(page.getByRole("alert").getByText(/100\s?% of finished conversions failed/)).toBeVisible();
    const causes = page.getByRole("region", { name: "Causes" });
    await causes.getByRole("button", { name: "Show 3" }).click();
    await expect(page.locator("[data-row]")).toHaveCount(3);
    await causes.getByRole("button", { name: "Retry 3" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText("Retry 3 conversions?")).toBeVisible();
    await expect(dialog.getByText(/₺9,850 will be sent/)).toBeVisible();
    await dialog.getByRole("button", { name: "Retry 3" }).click();
    await expect(page.getByText("3 conversions will be retried.")).toBeVisible();
    expect(await statusOf(sql, group)).toEqual(["QUEUED", "QUEUED", "QUEUED"]);
    await page
      .getByRole("button", { name: /^Undo retry of 3 \(\d+:\d\d\)/ })
      .first()
      .click();
    await expect(page.getByText("3 conversions are as before.")).toBeVisible();
    expect(await statusOf(sql, group)).toEqual(["FAILED", "FAILED", "FAILED"]);
  });
});

test("stuck rows are one press away and go back to the queue", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const stuck = await scene.some(2, 60);
    await scene.claim(stuck, 25);
    await scene.claim(await scene.some(1, 30), 2);
    const page = await openControl(await visit(), team, team.operator);
    await page.getByRole("button", { name: "Show stuck" }).click();
    await expect(page.locator("[data-row]")).toHaveCount(2);
    await expect(page.getByText(/^No answer for 2\d min/)).toHaveCount(2);
    await page.getByLabel("Select all in view").check();
    const bar = page.getByRole("toolbar", { name: "Selected rows" });
    await expect(bar.getByText("2 selected")).toBeVisible();
    await expect(bar.getByRole("button", { name: /^Retry/ })).toBeDisabled();
    await bar.getByRole("button", { name: "Back to queue" }).click();
    await page.getByRole("dialog").getByLabel("Clear the old errors too").check();
    await page.getByRole("dialog").getByRole("button", { name: "Put 2 back" }).click();
    await expect(page.getByText("2 conversions are back in the queue.")).toBeVisible();
    expect(await statusOf(sql, stuck)).toEqual(["QUEUED", "QUEUED"]);
  });
});

// Guarantee: nobody gives up money without saying so and why.
test("marking as failed names the money and needs a reason; what cannot move is listed", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const waiting = await scene.sealed([425_000, 240_000].map((amountCents) => ({ amountCents, sealedAgo: 30 })));
    await scene.deliver(await scene.some(1, 90), 60);
    const page = await openControl(await visit(), team, team.operator);
    await page.getByLabel("Select all in view").check();
    await page.getByRole("toolbar").getByRole("button", { name: "Mark failed" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText("Mark 2 conversions as failed?")).toBeVisible();
    await expect(dialog.getByText(/₺6,650 will not be sent/)).toBeVisible();
    await dialog.getByRole("button", { name: "Mark 2 failed" }).click();
    await expect(dialog.getByText("Add a reason so your team knows why.")).toBeVisible();
    await dialog.getByLabel("Reason").fill("Paid back in cash");
    await dialog.getByRole("button", { name: "Mark 2 failed" }).click();
    await expect(page.getByText("1 conversion was skipped")).toBeVisible();
    await expect(page.getByText("not possible from its state (Completed)")).toBeVisible();
    expect(await statusOf(sql, waiting)).toEqual(["FAILED", "FAILED"]);
  });
});

// Guarantee: the number in the navigation is work for a person, on every page, and a screen reader hears what it counts.
test("the navigation counts what needs a person, and nothing that was rightly not sent", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    await scene.fail(await scene.some(2, 90), 60, noAction);
    await scene.fail(await scene.some(1, 90), 50, unreadable);
    const [cancelled = ""] = await scene.some(1, 30);
    const [row] = await sql`select sale_id from public.offline_conversion_queue where id = ${cancelled}`;
    await change(sql, { team }, "cancel_sale", { id: row?.sale_id });
    expect(await statusOf(sql, [cancelled])).toEqual(["FAILED"]);
    const page = await openControl(await visit(), team, team.viewer);
    const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "OCI Control 2 conversions need you" });
    await expect(link).toBeVisible();
    await expect(page.getByRole("button", { name: /^Failed/ })).toHaveText(/^Failed3/);
    await expect(page.getByRole("button", { name: /^Not sent/ })).toHaveText(/^Not sent1/);
    await page.goto(`/dashboard/site/${team.siteId}/activity`);
    await expect(link).toBeVisible();
  });
});

test("what the filter shows is downloaded as CSV", async ({ stack, visit }, testInfo) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    await scene.fail(await scene.some(2, 90), 60, unreadable);
    await scene.some(3, 30);
    const page = await openControl(await visit(), team, team.viewer, "?status=FAILED");
    const path = testInfo.outputPath("queue.csv");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: /CSV/ }).click()]);
    await download.saveAs(path);
    const lines = parseCsv(readFileSync(path, "utf8").replace("\uFEFF", ""));
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("error_code");
    expect(lines[1]).toContain("UNPARSEABLE_GCLID");
  });
});

// Guarantee: looking at the next export changes nothing, neither in the queue nor for the script that comes next.
test("the next export is shown as it would be handed out", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const ids = await scene.sealed([425_000, 240_000].map((amountCents) => ({ amountCents, sealedAgo: 30 })));
    const page = await openControl(await visit(), team, team.operator);
    await page.getByRole("button", { name: "Next upload" }).click();
    await expect(page.getByText("A dry run.")).toBeVisible();
    await expect(page.getByRole("table", { name: "Next upload" }).getByRole("row")).toHaveCount(3);
    await expect(page.getByText("2 of 2")).toBeVisible();
    await expect(page.getByText("₺6,650")).toBeVisible();
    expect(await statusOf(sql, ids)).toEqual(["QUEUED", "QUEUED"]);
  });
});

test("a correction that no script can make is done by hand", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const [sold = ""] = await scene.sealed([{ amountCents: 425_000, sealedAgo: 120 }]);
    await scene.deliver([sold], 60);
    await scene.correct(sold, 199_000, 30);
    const page = await openControl(await visit(), team, team.operator, "?kind=RESTATE");
    await page.locator("[data-row-link]").first().click();
    await expect(page.getByText("Adjustment type RESTATEMENT, adjusted value ₺1,990.")).toBeVisible();
    // Guarantee: no button sends what somebody may have done in Google Ads already. Mutation: the drawer offers every action.
    const drawer = page.getByRole("dialog").or(page.getByRole("complementary")).filter({ hasText: "Mark as done" });
    await expect(drawer.getByRole("button", { name: /^(Retry|Back to queue)$/ })).toHaveCount(0);
    await expect(drawer.getByRole("button", { name: "Give up" }).or(drawer.getByRole("button", { name: "Mark failed" }))).toHaveCount(1);
    await page.getByRole("button", { name: "Mark as done" }).click();
    await page.getByRole("button", { name: "Yes, it is done" }).click();
    await expect(page.getByText("Recorded as corrected by hand.")).toBeVisible();
    const [row] = await sql`select status from public.offline_conversion_queue where kind = 'RESTATE' and site_id = ${team.siteUuid}`;
    expect(row?.status).toBe("COMPLETED");
  });
});
