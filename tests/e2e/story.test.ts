import { randomInt, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { devices, type Page } from "@playwright/test";
import postgres from "postgres";
import { receiptFault } from "#lib/contracts/proof-hash.ts";
import { proofReceipt } from "#lib/contracts/receipt-shape.ts";
import { signInAsOwner } from "#scripts/local/demo/connect-as-owner.ts";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { connectOwnAccount, openAccount } from "#scripts/local/demo/story/others/trouble-sites.ts";
import { startStory } from "#scripts/local/demo/story/story.ts";
import type { Way } from "#scripts/local/demo/story/story-notes.ts";
import { freePort } from "#scripts/local/process/free-port.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { StopList } from "#scripts/local/process/stop-list.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createKey, createSite, deliverySettings, sendAtOnce } from "#tests/fixtures/site.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { untilAwake } from "#tests/support/awake.ts";
import { test as base, expect } from "#tests/support/e2e-test.ts";
import { founderOf } from "#tests/support/own-site.ts";
import { takeTurn, tickDelivery } from "#tests/support/tick-delivery.ts";

interface ToldStory {
  url: string;
  sql: postgres.Sql;
  demo: DemoFile;
}

/** The demo's story over two sites of its own: what it sends disturbs no other test, and nobody else reaches out. */
const test = base.extend<{ story: ToldStory }>({
  story: async ({ stack }, use) => {
    const stopList = new StopList();
    const stateDir = temporaryStateDir();
    stopList.add(async () => rmSync(stateDir, { recursive: true, force: true }));
    const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
    stopList.add(() => sql.end());
    await takeTurn(sql, "delivering");
    const owner = await founderOf(sql, stack);
    const sites: DemoFile["sites"] = [];
    const scriptAccount = `777${randomInt(1_000_000, 9_999_999)}`;
    for (const syncMethod of ["script", "api"] as const) {
      const name = `Story ${syncMethod} ${randomUUID().slice(0, 8)}`;
      const { siteId } = await createSite(sql, owner, { name, domains: ["localhost"], syncMethod });
      await deliverySettings(sql, { siteId, owner }, sendAtOnce);
      const { key } = await createKey(sql, { siteId, owner }, ["script"]);
      sites.push({ siteId, syncMethod, domain: "localhost", apiKey: key, crmKey: "", callEventSecret: "" });
      const db = await signInAsOwner({ supabaseUrl: stack.supabaseUrl, publishableKey: stack.supabasePublishableKey }, stack);
      const opening = { sql, googleUrl: stack.googleUrl, owner: { id: owner.id, db } };
      const account = { siteId, name, currency: "TRY" };
      if (syncMethod === "script") await openAccount(opening, { ...account, customerId: scriptAccount });
      else await connectOwnAccount(opening, { ...account, customerId: `888${randomInt(1_000_000, 9_999_999)}` });
    }
    const demo = { ...stack, sites };
    const url = await startStory({ demo, stateDir, port: await freePort(), hasOthers: false, scriptAccount }, stopList);
    await use({ url, sql, demo });
    for (const { siteId } of sites) await callAs(sql, owner, (tx) => tx`select public.set_site_archived(${siteId}, true)`);
    await stopList.stopAll();
  },
});

/** The station with this title, and the ids that it shows. */
const stop = (page: Page, name: string) => page.locator(`#stop-${name}`);
async function shownId(page: Page, name: string, label: string): Promise<string> {
  const id = stop(page, name).locator("dl > div", { hasText: label }).locator("dd");
  await expect(id).toBeVisible({ timeout: 30_000 });
  return (await id.textContent()) ?? "";
}
/** A page of the product, which the story opens beside itself. */
async function openFrom(page: Page, name: string, link: string): Promise<Page> {
  const [opened] = await Promise.all([page.context().waitForEvent("page"), stop(page, name).getByRole("link", { name: link }).click()]);
  await opened.waitForLoadState();
  await untilAwake(opened);
  return opened;
}

/** Everything the database has of one click, found from the event on by the product's own keys. */
async function chainFrom(sql: postgres.Sql, eventId: string) {
  const rows = await sql`
    select c.id as lead, c.gclid as click, s.id as sale, s.order_id as order, q.id as row, q.status, d.id as dispatch, d.order_id as sent_order, d.transport,
      d.verdict, p.id as proof, (select count(*)::int from public.ingest_idempotency i where i.site_id = c.site_id and i.eid = c.intent_stamp) as units
    from public.calls c join public.sales s on s.call_id = c.id join public.offline_conversion_queue q on q.sale_id = s.id
    join public.provider_dispatches d on d.queue_id = q.id
    join public.transition_proofs p on p.entity_id = c.id and p.to_state = 'sealed'
    where c.intent_stamp = ${eventId}`;
  expect(rows, "one of each").toHaveLength(1);
  return { ...rows[0] };
}

// Guarantee: a stranger who follows the first page takes an ad click to a conversion that Google counted once, by either way, and every id
// that a station shows is the one that the next station's record carries.
for (const way of ["script", "api"] satisfies Way[])
  test(`the story leads from the shop to a conversion that Google counted, by ${way}`, async ({ browser, story, stack }) => {
    test.slow();
    const { url, sql, demo } = story;
    // Without saying so, a headless browser is taken for the robot that it is.
    const context = await browser.newContext({ userAgent: devices["Desktop Chrome"].userAgent, locale: "en-GB", baseURL: stack.baseUrl });
    const page = await context.newPage();
    await page.goto(`${url}/?by=${way}`);
    await expectAccessible(page, "the story before anything happened");
    const click = await shownId(page, "shop", "click id");

    await stop(page, "shop").getByRole("link", { name: "Open the shop" }).click();
    await expectAccessible(page, "the shop");
    await page.getByRole("link", { name: way === "script" ? /^Call/ : "Write on WhatsApp" }).click();
    await page.getByRole("link", { name: "See the lead" }).click();
    const eventId = await shownId(page, "shop", "event");
    const lead = await shownId(page, "lead", "lead");

    const desk = await openFrom(page, "seal", "Open the lead"); // signed in on the way
    await expect(desk).toHaveURL(new RegExp(`lead=${lead}`));
    await desk.getByLabel("Other amount").fill("4250");
    await desk.getByRole("button", { name: "Seal ₺4,250" }).click();
    const sale = await shownId(page, "seal", "sale");
    const order = await shownId(page, "seal", "order id");
    const row = await shownId(page, "queue", "queue row");
    await expect(stop(page, "seal")).toContainText("sealed ₺4,250");

    if (way === "script") await stop(page, "send").getByRole("button", { name: "Run the script now" }).click();
    const answered = async () => {
      if (way === "api") await tickDelivery(stack);
      return stop(page, "google").getAttribute("data-state");
    };
    await expect.poll(answered, { timeout: 45_000 }).toBe("done");
    await expect(stop(page, "google")).toContainText("once, worth ₺4,250");
    const dispatch = await shownId(page, "send", "dispatch");
    const proof = await shownId(page, "proof", "proof");
    await expect(page.getByRole("status").filter({ hasText: "You have seen it all" })).toBeVisible();
    await expectAccessible(page, "the story at its end");

    // Google gives a verdict on what comes through its API, and none on a script's file.
    const sent = way === "api" ? { transport: "data_manager", verdict: "CONFIRMED" } : { transport: "script", verdict: null };
    const chain = { click, lead, sale, order, row, dispatch, proof, sent_order: order, status: "COMPLETED", units: 1, ...sent };
    expect(await chainFrom(sql, eventId)).toEqual(chain);
    const { conversions } = await (await fetch(`${demo.googleUrl}/__sim/state`)).json();
    const counted = conversions.filter(({ orderId }: { orderId: string }) => orderId === order);
    expect(counted).toMatchObject([{ via: sent.transport, value: 4250, currency: "TRY", isRetracted: false }]);

    const receipt = proofReceipt.parse(await (await context.request.get(`/v1/contract/proofs/${proof}`)).json());
    expect([receiptFault(receipt), receipt.entity_id, receipt.to]).toEqual([null, lead, "sealed"]);
    const siteId = demo.sites.find(({ syncMethod }) => syncMethod === way)?.siteId;
    for (const [link, path] of [
      ["Journey", `/dashboard/site/${siteId}?lead=${lead}`],
      ["Proof", `/dashboard/proofs/${proof}`],
      ["Bill", `/dashboard/site/${siteId}/billing`],
    ] as const) {
      const href = await stop(page, "proof").getByRole("link", { name: link }).getAttribute("href");
      await desk.goto(new URL(href ?? "", url).href);
      await expect(desk).toHaveURL(new URL(path, stack.baseUrl).href);
      await expect(desk.getByRole("main")).toBeVisible();
    }
    await context.close();
  });

// Guarantee: the story's pages and its ways in exist only beside a demo: the product that is deployed answers none of them.
test("the product itself has neither the story nor the sample shop", async ({ story, request, stack }) => {
  for (const path of ["/kombi-servisi", "/new-patients", "/live", "/google", "/enter?to=/dashboard", "/story.css"]) {
    expect((await request.get(story.url + path, { maxRedirects: 0 })).status(), path).toBeLessThan(400);
    expect((await request.get(stack.baseUrl + path)).status(), path).toBe(404);
  }
});
