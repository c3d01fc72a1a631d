import type { Page } from "@playwright/test";
import { e2eActionBatch } from "#tests/support/e2e-stack.ts";
import { expect, test } from "#tests/support/e2e-test.ts";
import { alive, openControl, type Site, withQueueSite } from "#tests/support/queue-scene.ts";

/** Three requests: 25, 25 and 5. More than the 50 rows that the list shows at first. */
const rows = 2 * e2eActionBatch + 5;

async function counted({ sql, team }: Site): Promise<Record<string, number>> {
  const found = await sql<{ status: string; n: number }[]>`
    select status, count(*)::int as n from public.offline_conversion_queue where site_id = ${team.siteUuid} group by 1`;
  return Object.fromEntries(found.map(({ status, n }) => [status, n]));
}

async function giveUpAll(page: Page): Promise<void> {
  await page.getByLabel("Select all in view").check();
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  await bar.getByRole("button", { name: "All 55 matching" }).click();
  await bar.getByRole("button", { name: "Mark failed" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("Mark 55 conversions as failed?")).toBeVisible();
  await expect(dialog.getByText(/₺55,000 will not be sent/)).toBeVisible();
  await dialog.getByLabel("Reason").fill("A test of the account");
  await dialog.getByRole("button", { name: "Mark 55 failed" }).click();
}

/** Refuses the given request to act, counted from one, as a server does that is restarted. */
async function refuseOnce(page: Page, at: number): Promise<void> {
  let asked = 0;
  await page.route(/\/api\/oci\/queue-actions$/, async (route) => {
    if (++asked === at) await route.fulfill({ status: 503, json: { code: "DATABASE_UNAVAILABLE" } });
    else await route.continue();
  });
}

/** Holds the given request back, counted from one: what a screen shows meanwhile can be looked at. Gives what lets it go. */
async function holdBack(page: Page, url: RegExp, at: number): Promise<() => void> {
  const { promise: released, resolve: letGo } = Promise.withResolvers<void>();
  let asked = 0;
  await page.route(url, async (route) => {
    if (++asked === at) await released;
    await route.continue();
  });
  return letGo;
}

// Guarantee: a long action says how far it is, stops where it is refused or left, goes on from there, and every row is changed once.
test("more rows than one request takes: progress, a refusal, a page that is left, the rest, and back", async ({ stack, visit }) => {
  test.slow();
  await withQueueSite(stack, async (site) => {
    await site.scene.sealed(Array.from({ length: rows }, () => ({ amountCents: 100_000, sealedAgo: 30 })));
    const page = await openControl(await visit(), site.team, site.team.operator);
    await refuseOnce(page, 2);
    await giveUpAll(page);
    const run = page.getByRole("region", { name: "Progress" });
    await expect(run.getByText("25 of 55", { exact: true })).toBeVisible();
    await expect(run.getByText(/Our database did not answer.*Stopped after 25 of 55\. Finished rows stay changed/)).toBeVisible();
    await expect(run.getByRole("progressbar")).toHaveAttribute("value", "25");
    expect(await counted(site)).toEqual({ FAILED: 25, QUEUED: 30 });

    // Left and come back to: the job is still there.
    await page.unroute(/\/api\/oci\/queue-actions$/);
    await page.goto(`/dashboard/site/${site.team.siteId}`);
    await alive(page, () => page.goto(`/dashboard/site/${site.team.siteId}/oci-control`));
    await expect(run.getByText("25 of 55", { exact: true })).toBeVisible();
    const seen = new Set<string>();
    await page.exposeFunction("sawProgress", (value: string) => seen.add(value));
    await page.evaluate(`new MutationObserver(() => {
      const bar = document.querySelector("[data-slot=run-bar] progress");
      if (bar) window.sawProgress(String(bar.value));
    }).observe(document.body, { subtree: true, attributes: true, childList: true })`);
    await run.getByRole("button", { name: "Continue" }).click();
    await expect(page.getByText("55 conversions marked as failed.")).toBeVisible({ timeout: 30_000 });
    await expect(run).toHaveCount(0);
    expect([...seen], "the bar moved").toContain("50");
    expect(await counted(site)).toEqual({ FAILED: 55 });

    const undo = await holdBack(page, /\/api\/oci\/queue-actions\/[^/]+\/undo$/, 2);
    await page
      .getByRole("button", { name: /^Undo marking 55 failed \(\d+:\d\d\)/ })
      .first()
      .click();
    await expect(run.getByText("Undoing")).toBeVisible({ timeout: 20_000 });
    undo();
    await expect(page.getByText("55 conversions are as before.")).toBeVisible({ timeout: 30_000 });
    expect(await counted(site)).toEqual({ QUEUED: 55 });
  });
});

test("a long action that somebody stops is taken back as far as it got", async ({ stack, visit }) => {
  await withQueueSite(stack, async (site) => {
    await site.scene.sealed(Array.from({ length: rows }, () => ({ amountCents: 100_000, sealedAgo: 30 })));
    const page = await openControl(await visit({ phone: true }), site.team, site.team.operator);
    // The second answer waits for the hand that stops it.
    const letGo = await holdBack(page, /\/api\/oci\/queue-actions$/, 2);
    await page.locator("[data-row] input[type=checkbox]").first().check();
    const bar = page.getByRole("toolbar", { name: "Selected rows" });
    await bar.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "All 55 matching" }).click();
    await bar.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Mark failed" }).click();
    await page.getByLabel("Reason").fill("Too much of it");
    await page.getByRole("button", { name: "Mark 55 failed" }).click();
    const run = page.getByRole("region", { name: "Progress" });
    await expect(run.getByText("25 of 55", { exact: true })).toBeVisible(); // pressed sooner, it would stop after the first answer
    await run.getByRole("button", { name: "Stop" }).click();
    letGo();
    await expect(run.getByText(/Stopped after 50 of 55/)).toBeVisible({ timeout: 20_000 });
    expect(await counted(site)).toEqual({ FAILED: 50, QUEUED: 5 });
    await run.getByRole("button", { name: "Undo 50" }).click();
    await expect(page.getByText("50 conversions are as before.")).toBeVisible({ timeout: 30_000 });
    expect(await counted(site)).toEqual({ QUEUED: 55 });
  });
});
