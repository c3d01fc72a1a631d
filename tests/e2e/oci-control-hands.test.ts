import { addTroubles } from "#scripts/local/demo/seed-queue.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { openControl, statusOf, withQueueSite } from "#tests/support/queue-scene.ts";

const noAction = { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", message: "No conversion action named Sale exists." };

// Guarantee: everything that a mouse does here a keyboard does too, and keys sleep while somebody types.
test("the queue is worked through by keyboard alone", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const [older = "", newer = ""] = await scene.sealed([
      { amountCents: 425_000, sealedAgo: 95 },
      { amountCents: 240_000, sealedAgo: 90 },
    ]);
    await scene.fail([older, newer], 60, noAction);
    const page = await openControl(await visit(), team, team.operator);
    const rows = page.locator("[data-row]");
    await expect(rows).toHaveCount(2);
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog").getByText("Shortcuts are off while you type.")).toBeVisible();
    // The next key comes while the dialog fades out: it acts all the same.
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await expect(page.locator(`[data-row="${newer}"] [data-row-link]`)).toBeFocused();
    await expect(page.getByRole("dialog")).toBeHidden();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(new RegExp(`row=${older}`));
    await page.keyboard.press("k");
    await expect(page).toHaveURL(new RegExp(`row=${newer}`));
    await page.keyboard.press("Escape");
    await expect(page.getByRole("complementary")).toHaveCount(0);
    await page.keyboard.press("x");
    await expect(page.getByRole("toolbar").getByText("1 selected")).toBeVisible();
    await page.keyboard.press("/");
    await expect(page.getByRole("searchbox")).toBeFocused();
    await page.keyboard.type("rux");
    await expect(page.getByRole("searchbox")).toHaveValue("rux");
    await expect(page.getByText("No conversion matches")).toBeVisible();
    expect(await statusOf(sql, [older, newer])).toEqual(["FAILED", "FAILED"]);
    await page.getByRole("searchbox").fill("");
    await expect(rows).toHaveCount(2);
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Retry 1" }).press("Enter"); // a selection is previewed
    await expect(page.getByText("1 conversion will be retried.")).toBeVisible();
    expect(await statusOf(sql, [older, newer])).toEqual(["FAILED", "QUEUED"]);
    await page.keyboard.press("u");
    await expect(page.getByText("1 conversion is as before.")).toBeVisible();
    expect(await statusOf(sql, [older, newer])).toEqual(["FAILED", "FAILED"]);
  });
});

test("the heading of the value sorts the queue, says so, and stays in the address", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    const [large = ""] = await scene.sealed([{ amountCents: 925_000, sealedAgo: 95 }]);
    await scene.sealed([{ amountCents: 240_000, sealedAgo: 20 }]);
    const page = await openControl(await visit(), team, team.operator);
    const heading = page.getByRole("columnheader", { name: "Value" });
    await expect(page.locator("[data-row]").first()).not.toHaveAttribute("data-row", large);
    await heading.getByRole("button").press("Enter");
    await expect(page).toHaveURL(/sort=value/);
    await expect(heading).toHaveAttribute("aria-sort", "descending");
    await expect(page.locator("[data-row]").first()).toHaveAttribute("data-row", large);
    await heading.getByRole("button").press("Enter");
    await expect(page).not.toHaveURL(/sort=/);
  });
});

test("Shift carries the selection along", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    await scene.some(5, 30);
    const page = await openControl(await visit(), team, team.operator);
    const boxes = page.locator("[data-row] input[type=checkbox]");
    await boxes.nth(0).click();
    await boxes.nth(3).click({ modifiers: ["Shift"] });
    await expect(page.getByRole("toolbar").getByText("4 selected")).toBeVisible();
  });
});

// Guarantee: a list that somebody is reading does not jump: rows change where they stand, new ones wait to be asked for.
test("news arrive by themselves, and wait while the list is touched", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    const [id = ""] = await scene.some(1, 30);
    const page = await openControl(await visit(), team, team.operator);
    const row = page.locator(`[data-row="${id}"]`);
    await row.hover();
    await expect(row.getByText("Queued")).toBeVisible();
    await scene.deliver([id], 0);
    await scene.some(1, 0);
    await expect(row.getByText("Completed")).toBeVisible({ timeout: 20_000 });
    await expect(page.locator("[data-row]")).toHaveCount(1);
    await page.getByRole("button", { name: "Show 1 new conversion" }).click();
    await expect(page.locator("[data-row]")).toHaveCount(2);
  });
});

test("on a phone: cards, a filter sheet, the bulk bar and a page for one row", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene, sql }) => {
    const failed = await scene.some(2, 90);
    await scene.fail(failed, 60, noAction);
    await scene.some(2, 30);
    const page = await openControl(await visit({ phone: true }), team, team.operator);
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    const sheet = page.getByRole("dialog", { name: "Filter" });
    await sheet.getByLabel("State").selectOption("FAILED");
    await sheet.getByRole("button", { name: "Apply" }).click();
    const cards = page.locator("[data-row]");
    await expect(cards).toHaveCount(2);
    await cards.nth(0).getByRole("checkbox").check();
    await page
      .getByRole("toolbar")
      .getByRole("button", { name: /^Retry/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Retry 1" }).click();
    await expect(page.getByText("1 conversion will be retried.")).toBeVisible();
    await page.getByRole("toolbar").getByRole("button", { name: "Clear selection" }).click();
    await page.locator(`[data-row="${failed[0]}"] [data-row-link]`).or(page.locator("[data-row-link]")).last().click();
    const story = page.getByRole("dialog", { name: /^Conversion / });
    await expect(story.getByText("Timeline")).toBeVisible();
    await story.getByRole("button", { name: "Back to queue" }).click();
    await expect(page.getByRole("button", { name: "Put 1 back" })).toBeVisible();
    await page.getByRole("button", { name: "Cancel" }).click();
    await story.getByRole("button", { name: "Close" }).click();
    await expect(story).toBeHidden();
    expect((await statusOf(sql, failed)).sort()).toEqual(["FAILED", "QUEUED"]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")).toBe(true);
  });
});

// Guarantee: who may only look is never offered what would be refused.
test("a viewer sees everything and can do nothing", async ({ stack, visit }) => {
  await withQueueSite(stack, async ({ team, scene }) => {
    const [id = ""] = await scene.some(1, 90);
    await scene.fail([id], 60, noAction);
    const page = await openControl(await visit(), team, team.viewer, `?row=${id}`);
    const drawer = page.getByRole("complementary", { name: /^Conversion / });
    await expect(drawer.getByText("Timeline")).toBeVisible();
    await expect(drawer.getByRole("button", { name: /Retry|Back to queue|Mark failed/ })).toHaveCount(0);
    await expect(page.getByRole("checkbox")).toHaveCount(0);
    await page.keyboard.press("r");
    await expect(page.getByText(/will be retried/)).toHaveCount(0);
  });
});

for (const { size, phone, theme } of [
  { size: "desktop", phone: false, theme: "light" },
  { size: "phone", phone: true, theme: "dark" },
] as const) {
  test(`list, story and question are accessible in both themes, ${size}, first ${theme}`, async ({ stack, visit }) => {
    test.slow();
    await withQueueSite(stack, async ({ team, scene }) => {
      await addTroubles(scene);
      const page = await openControl(await visit({ theme, phone }), team, team.operator);
      const noise: string[] = [];
      page.on("console", (message) => message.type() === "error" && noise.push(message.text()));
      page.on("pageerror", (error) => noise.push(String(error)));
      // High enough that neither the bar nor the table's head lies over half a row, which a reader would scroll away.
      if (!phone) await page.setViewportSize({ width: 1440, height: 2600 });
      await page.locator("[data-row] input[type=checkbox]").nth(1).click();
      await expectAccessible(page, "list");
      await page.getByRole("toolbar").getByRole("button", { name: "Back to queue" }).click();
      await expect(page.getByRole("dialog").getByRole("button", { name: "Put 1 back" })).toBeVisible();
      await expectAccessible(page, "question");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.locator("[data-row-link]").nth(8).click();
      await expect(page.getByText("Timeline")).toBeVisible();
      await expectAccessible(page, "story");
      await page.getByRole("button", { name: "Close", exact: true }).last().click();
      await page.getByRole("button", { name: "Next upload" }).click();
      await expect(page.getByText("A dry run.")).toBeVisible();
      await expectAccessible(page, "export");
      expect(noise).toEqual([]);
    });
  });
}
