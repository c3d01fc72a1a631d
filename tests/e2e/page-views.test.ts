import type { Page } from "@playwright/test";
import type { SiteId } from "#lib/site.ts";
import { expect, test } from "#tests/support/customer-site.ts";

async function setViews(page: Page, siteId: SiteId, on: boolean): Promise<string> {
  await page.goto(`/dashboard/site/${siteId}/settings`);
  const card = page.getByRole("region", { name: "Values and delivery" });
  await card.getByLabel("Minimum click age (hours)").fill("0");
  await card.getByLabel(/Also send page views/).setChecked(on);
  await card.getByRole("button", { name: "Save changes" }).click();
  await expect(card.getByRole("status")).toContainText("Replace the snippet on your website.");
  await expect(card.getByRole("button", { name: "Copy" })).toBeVisible();
  return String(await card.getByTitle("Tracking snippet").textContent());
}

// Guarantee: the switch in Settings does what it says, from the visitor's browser to the script that hands views to Google, and back.
// Mutation: a snippet without data-views, a tracker that never reports, or a server that does not look at the switch.
test("page views switched on in Settings reach the script's export once, and stop when they are switched off", async ({ customer, as }) => {
  const owner = await as("owner");
  const gclid = `view-${Date.now()}`;
  const line = await setViews(owner, customer.siteId, true);
  expect(line).toContain(' data-views="on" ');
  await owner.goto(`/dashboard/site/${customer.siteId}/connections`);
  await expect(owner.getByTitle("Tracking snippet")).toHaveText(line);

  customer.install(line);
  const page = await customer.visit(`/?gclid=${gclid}`);
  await page.goto(`${customer.url}/second`);
  const delivered: string[][] = [];
  await expect
    .poll(
      async () => {
        delivered.push(...(await customer.deliver()).map(({ id, gclid: click }) => [id, click]));
        return delivered.length;
      },
      { timeout: 50_000, intervals: [7_000] },
    ) // the script's limits
    .toBe(2);
  expect(delivered).toEqual(Array(2).fill([expect.stringMatching(/^pv_[0-9a-f-]{36}$/), gclid]));

  const without = await setViews(owner, customer.siteId, false);
  expect(without).not.toContain("data-views");
  customer.install(without);
  const later = await customer.visit(`/?gclid=${gclid}-later`);
  await later.evaluate("om('event', 'phone_call')");
  await expect.poll(() => customer.calls(), { timeout: 30_000 }).toMatchObject([{ gclid: `${gclid}-later` }]);
  expect(await customer.deliver()).toEqual([]);
});
