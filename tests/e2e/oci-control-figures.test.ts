import type { Page } from "@playwright/test";
import { change } from "#tests/fixtures/leads.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { alive, openControl, statusOf, withQueueSite } from "#tests/support/queue-scene.ts";

const noAction = { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", message: "No conversion action named Sale exists." };
const unreadable = { code: "UNPARSEABLE_GCLID", category: "VALIDATION", message: "The gclid cannot be decoded." };
const wrongAccount = { code: "INVALID_CUSTOMER_FOR_CLICK", category: "VALIDATION", message: "The click is of another account." };
const timedOut = { code: "TIMEOUT", category: "TRANSIENT", message: "No answer." };

/** What of `others` the toast lies over, all looked at in one moment: a toast comes up from below, and what it tells of redraws the page. */
function covered(page: Page, others: string): Promise<string[]> {
  return page.evaluate(async (selector) => {
    const shown = document.querySelector("[role=region][aria-label=Notifications] [role=dialog]");
    await Promise.allSettled(shown?.getAnimations().map((animation) => animation.finished) ?? []);
    const toast = shown?.getBoundingClientRect();
    const seen = [...document.querySelectorAll(selector)].filter((other) => other.checkVisibility());
    if (!toast || seen.length === 0) return ["one of the two is not on the screen"];
    const isUnder = (box: DOMRect) => toast.left < box.right && box.left < toast.right && toast.top < box.bottom && box.top < toast.bottom;
    return seen.filter((other) => isUnder(other.getBoundingClientRect())).map((other) => other.outerHTML.slice(0, 200));
  }, others);
}

// Guarantee: a cancelled sale is nobody's failure on any figure, row or bar, and its story says who cancelled it.
test("a cancelled sale is Not sent: a tile, a badge and a story of its own, and no failure", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    await scene.deliver(await scene.some(1, 120), 90);
    const [id = ""] = await scene.some(1, 30);
    const [row] = await sql`select sale_id from public.offline_conversion_queue where id = ${id}`;
    await change(sql, { team }, "cancel_sale", { id: row?.sale_id });
    const page = await openControl(await visit(), team, team.operator);
    await expect(page.getByRole("button", { name: /^Failed/ })).toHaveText(/^Failed00/);
    await expect(page.getByRole("region", { name: "Causes" })).toContainText("Nothing failed");
    await page.getByRole("button", { name: /^Not sent/ }).click();
    await expect(page.locator("[data-row]")).toHaveCount(1);
    await expect(page.locator(`[data-row="${id}"]`)).toContainText("Not sent");
    await page.locator("[data-row-link]").click();
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText(`Not sent: ${team.operator.email} cancelled the sale`)).toBeVisible();
    await expect(drawer.getByText("Marked as failed", { exact: false })).toHaveCount(0);
  });
});

// Guarantee: a figure opens the list that holds what it counts, here and from Today.
test("Value waiting and Today's Waiting open lists that hold what they count", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    await scene.some(2, 60);
    const retried = await scene.some(1, 90);
    await scene.fail(retried, 60, timedOut);
    await scene.recover(45);
    await scene.claim(await scene.some(1, 40), 2);
    const page = await openControl(await visit(), team, team.viewer);
    const tile = page.getByRole("button", { name: /^Value waiting/ });
    await expect(tile).toContainText("3 wait");
    await tile.click();
    await expect(page.locator("[data-row]")).toHaveCount(3);
    await page.goto(`/dashboard/site/${team.siteId}`);
    const figure = page.getByRole("link", { name: /^Waiting/ });
    await expect(figure).toContainText("Waiting3");
    await figure.click();
    await expect(page).toHaveURL(/status=WAITING/);
    await expect(page.locator("[data-row]")).toHaveCount(3);
  });
});

// Guarantee: no moment that has passed is promised.
test("a try whose time has passed goes with the next run, on the desk too", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const [id = ""] = await scene.some(1, 240);
    await scene.fail([id], 200, timedOut);
    await scene.recover(150);
    const [row] =
      await sql`select call_id, status, greatest(next_retry_at, not_before) < now() as is_over from public.offline_conversion_queue where id = ${id}`;
    expect(row).toMatchObject({ status: "RETRY", is_over: true });
    const page = await openControl(await visit(), team, team.viewer, `?row=${id}`);
    await expect(page.getByRole("complementary").getByText("Tried again with the next run; nothing to do")).toBeVisible();
    await page.goto(`/dashboard/site/${team.siteId}?lead=${row?.call_id}`);
    await expect(page.getByText(/We try again with the next run; nothing to do\./)).toBeVisible();
    await expect(page.getByText(/We try again (at|after) /)).toHaveCount(0);
  });
});

test("the Queued tile says when the next one goes, not that it is ready, while all wait for tomorrow", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    await deliverySettings(sql, team, { sendDelayMinutes: 1_440 });
    await scene.some(2, 5);
    const page = await openControl(await visit(), team, team.viewer);
    const tile = page.getByRole("button", { name: /^Queued/ });
    await expect(tile).toContainText(/next .*\d\d:\d\d/);
    await expect(tile).not.toContainText("ready");
    await scene.some(1, 2_000);
    await page.reload();
    await expect(tile).toHaveText(/^Queued3the next one is ready/); // two of the three still wait
  });
});

// Guarantee: nobody waits for a verdict that cannot come, and it is said once.
test("a script's upload has no pending verdict, neither in its row nor on the desk", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const [id = ""] = await scene.some(1, 120);
    await scene.deliver([id], 0); // today, also soon after midnight
    const page = await openControl(await visit(), team, team.viewer, `?row=${id}`);
    await expect(page.getByText("Google reports no verdict for script uploads.", { exact: false })).toHaveCount(1);
    await expect(page.getByText("No verdict", { exact: true })).toHaveCount(0);
    const [row] = await sql`select call_id from public.offline_conversion_queue where id = ${id}`;
    await page.goto(`/dashboard/site/${team.siteId}?lead=${row?.call_id}`);
    const journey = page.getByRole("list", { name: "Journey" });
    await expect(journey).toContainText("to Google");
    await expect(journey).not.toContainText("Confirmed by Google");
    await expect(page.getByRole("link", { name: /^Delivered/ })).toHaveText(/^Delivered1sent by the script/);
  });
});

test("a script site is never told to connect Google again; the drawer's first button is the fix", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    const [account = "", action = ""] = await scene.some(2, 90);
    await scene.fail([account], 60, wrongAccount);
    await scene.fail([action], 60, noAction);
    const page = await openControl(await visit(), team, team.owner, `?row=${account}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    const foot = drawer.locator("> :last-child").locator("a, button");
    await expect(drawer.getByText("Run the script in the account in which the ads run, then retry.").first()).toBeVisible();
    await expect(page.getByText(/[Cc]onnect Google/)).toHaveCount(0);
    await expect(foot.first()).toHaveText("Retry");
    await alive(page, () => page.goto(`/dashboard/site/${team.siteId}/oci-control?row=${action}`));
    await expect(foot.first()).toHaveText("Open Settings");
    await expect(drawer.getByRole("button", { name: "Send again" })).toHaveCount(0);
  });
});

// Guarantee: a retry of a selection says what it does first and spends no try on what nobody can fix. Its undo outlives the page.
test("a retry of a selection is previewed, leaves out what cannot be fixed, and is undone after a reload", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const rows = await scene.sealed([425_000, 240_000, 320_000].map((amountCents) => ({ amountCents, sealedAgo: 90 })));
    await scene.fail(rows.slice(0, 2), 60, noAction);
    await scene.fail(rows.slice(2), 60, unreadable);
    const page = await openControl(await visit(), team, team.operator);
    await page.getByLabel("Select all in view").check();
    await page
      .getByRole("toolbar")
      .getByRole("button", { name: /^Retry/ })
      .click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByText("Retry 2 conversions?")).toBeVisible();
    await expect(dialog.getByText("1 can't be fixed by a retry and is left out.")).toBeVisible();
    await dialog.getByRole("button", { name: "Retry 2" }).click();
    await expect(page.getByText("2 conversions will be retried.")).toBeVisible();
    expect(await statusOf(sql, rows)).toEqual(["QUEUED", "QUEUED", "FAILED"]);
    await expect.poll(() => covered(page, "[role=toolbar]"), { message: "the toast is beside the bar" }).toEqual([]);
    await alive(page, () => page.reload());
    await page.getByRole("button", { name: /^Undo retry of 2 \(\d+:\d\d\)$/ }).click();
    await expect(page.getByText("2 conversions are as before.")).toBeVisible();
    expect(await statusOf(sql, rows)).toEqual(["FAILED", "FAILED", "FAILED"]);
    await expect(page.getByRole("button", { name: /^Undo retry/ })).toHaveCount(0);
  });
});

for (const phone of [false, true])
  test(`a toast covers no button of the drawer, ${phone ? "phone" : "desktop"}`, async ({ stack, visit }) => {
    await withQueueSite(stack, async ({ team, scene }) => {
      const [id = ""] = await scene.some(1, 90);
      await scene.fail([id], 60, noAction);
      const page = await openControl(await visit({ phone }), team, team.operator, `?row=${id}`);
      const drawer = page.locator("[data-slot=drawer]");
      await drawer.getByRole("button", { name: "Retry" }).click();
      const toast = page.getByRole("region", { name: "Notifications" }).getByRole("dialog").first();
      await expect(toast).toBeVisible();
      await expect.poll(() => covered(page, "[data-slot=drawer] button")).toEqual([]);
    });
  });
