import type { Page } from "@playwright/test";
import { openDeskSite } from "#tests/support/desk-site.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { change, newLead } from "#tests/support/leads.ts";

/** Asked for often: the site's own looks are 4 s apart. */
const newsMs = 20_000;
const rowsOf = (page: Page, name: string) => page.getByRole("table", { name }).locator("tbody tr");

// Guarantee: whoever leaves a list open sees what happened, and nothing moves under a hand. Mutations that break it: a version that does not
// move with a seal; a list that takes the server's rows while it is hovered.
test("sales and activity show what happens elsewhere; while a hand is on the list, new rows wait", async ({ stack, visit }) => {
  test.slow();
  const site = await openDeskSite(stack, "lists");
  try {
    const { sql, team } = site;
    const seal = async (amountCents: number) =>
      change(sql, { team }, "seal_call", { id: await newLead(sql, team), amountCents }).then(({ body }) => String(body.saleId));
    await seal(100_000);
    const page = await visit();
    await site.open(page, team.operator, "/sales");
    const sales = rowsOf(page, "Sales");
    await expect(sales).toHaveCount(1);
    await seal(200_000);
    await expect(sales, "the list follows by itself").toHaveCount(2, { timeout: newsMs });
    await sales.first().hover();
    const third = await seal(300_000);
    await expect(page.getByRole("button", { name: "Show 1 new" })).toBeVisible({ timeout: newsMs });
    await expect(sales).toHaveCount(2);
    await page.mouse.move(0, 0);
    await expect(sales, "the hand is gone").toHaveCount(3);
    await change(sql, { team }, "cancel_sale", { id: third });
    await expect(sales.filter({ hasText: "Cancelled" }), "a row changes where it stands").toHaveCount(1, { timeout: newsMs });

    await site.open(page, team.operator, "/activity");
    const activity = rowsOf(page, "Activity");
    const before = await activity.count();
    await seal(400_000);
    await expect.poll(() => activity.count(), { timeout: newsMs }).toBeGreaterThan(before);
  } finally {
    await site.end();
  }
});

// Guarantee: a page that cannot ask says so, and asks again. Mutation: a failed look that counts as heard.
test("a page that hears nothing says since when, and catches up", async ({ stack, visit }) => {
  test.slow();
  const site = await openDeskSite(stack, "deaf");
  try {
    const page = await visit();
    await site.open(page, site.team.viewer, "/sales");
    await page.route(/\/version\?of=sales/, (route) => route.abort());
    await expect(page.getByText(/^Last update \d+ (s|min) ago$/)).toBeVisible({ timeout: 40_000 });
    await page.unroute(/\/version\?of=sales/);
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await expect(page.getByText(/^Live, \d+ s ago$/)).toBeVisible();
  } finally {
    await site.end();
  }
});
