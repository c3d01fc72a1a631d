import type { Page } from "@playwright/test";
import { expect, storedBy, type TrackedSite, test } from "#tests/support/tracker-test.ts";

const start = Date.UTC(2026, 0, 15, 12);

/** Opens the page with a clock that only the test moves; the first view waits in the queue. */
async function openPaused(page: Page, site: TrackedSite): Promise<void> {
  await page.clock.install({ time: start });
  await page.clock.pauseAt(start + 1000);
  await page.goto(site.url);
}

/** Until the page has taken note of an answer that it must wait after. */
async function heardFailure(page: Page, failures: number): Promise<void> {
  await expect.poll(async () => (await storedBy(page))?.n).toBe(failures);
}

const actions = ({ events }: { events: { ea: string }[] }) => events.map(({ ea }) => ea);

// Guarantee: a lead made in a tunnel is delivered after it, once, and recognisably the same.
test("what happens offline arrives when the network is back, once and with the id it was given", async ({ page, context, site }) => {
  await page.goto(site.url);
  await site.settled(page);
  await context.setOffline(true);
  const eid = await page.evaluate(() => {
    om("event", "phone_call", { label: "+905321234107" });
    return om.stamp();
  });
  await expect.poll(async () => (await storedBy(page))?.n).toBeGreaterThan(0); // it goes on trying
  await context.setOffline(false);
  await site.settled(page);
  expect(site.events("phone_call").map((event) => event.eid)).toEqual([eid]);
  expect((await storedBy(page))?.q).toEqual([]);
});

// Guarantee: an outage of ours costs a customer no lead and is not made worse by its trackers.
test("a failing server is asked again later and later, with the same events", async ({ page, site }) => {
  site.answers = [{ status: 503 }, { status: 500 }, { status: 200 }];
  await openPaused(page, site);
  await page.clock.runFor(1000);
  await heardFailure(page, 1);
  await page.clock.runFor(900);
  await site.barrier(page);
  expect(site.deliveries).toHaveLength(1);
  await page.clock.runFor(1100);
  await heardFailure(page, 2);
  await page.clock.runFor(1900);
  await site.barrier(page);
  expect(site.deliveries).toHaveLength(2);
  await page.clock.runFor(2100);
  await expect.poll(async () => (await storedBy(page))?.q).toEqual([]);
  expect(new Set(site.events().map(({ eid }) => eid)).size).toBe(1);
  expect(site.events().map(({ t }) => t >= 1000)).toEqual([true, true, true]);
});

// Guarantee: a tracker that was told to wait does not use up the patience of the server it waits for.
for (const { name, headers, seconds } of [
  { name: "for as long as Retry-After says", headers: { "retry-after": "120" }, seconds: 120 },
  { name: "for ten minutes where nothing is said", headers: {}, seconds: 600 },
]) {
  test(`after a 429 nothing is sent ${name}, on this page and the next`, async ({ page, site }) => {
    site.answers = [{ status: 429, headers }, { status: 200 }];
    await openPaused(page, site);
    await page.clock.runFor(1000);
    await heardFailure(page, 0);
    await page.evaluate(() => om("event", "phone_call"));
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.clock.runFor((seconds / 2) * 1000);
    await page.goto(`${site.url}/next`);
    await page.clock.runFor((seconds / 2) * 1000 - 1000);
    await site.barrier(page);
    expect(site.deliveries).toHaveLength(1);
    await page.clock.runFor(2500);
    await expect.poll(() => site.deliveries.map(actions)).toEqual([["view"], ["view", "phone_call", "view"]]);
    expect(site.deliveries[1]?.events[0]?.eid).toBe(site.deliveries[0]?.events[0]?.eid);
  });
}

// Guarantee: what the server will never take does not stand in the way of what it would.
for (const status of [204, 400, 403, 413]) {
  test(`an answer of ${status} ends the matter`, async ({ page, site }) => {
    site.answers = [{ status }, { status: 200 }];
    await openPaused(page, site);
    await page.clock.runFor(1000);
    await expect.poll(async () => (await storedBy(page))?.q).toEqual([]);
    await page.evaluate(() => om("event", "later"));
    await page.clock.runFor(1000);
    await expect.poll(() => site.deliveries.map(actions)).toEqual([["view"], ["later"]]);
  });
}

// Guarantee: the last thing a visitor does before leaving is not lost.
test("a page that is left delivers what is queued", async ({ page, site }) => {
  await openPaused(page, site);
  await page.evaluate(() => om("event", "farewell"));
  expect(site.deliveries).toEqual([]);
  await page.goto("about:blank");
  await expect.poll(() => site.deliveries.map(actions)).toEqual([["view", "farewell"]]);
});

// Guarantee: the same in a browser that ends the requests of a page that is left (Firefox before 133), also for a lead whose request
// was under way; and the server hears of it with the same id until it has answered. Mutation: send the beacon without what is in flight.
test("without keepalive a page that is left sends a beacon, and the next page the same events", async ({ page, site }) => {
  await page.addInitScript(() => {
    Reflect.deleteProperty(Request.prototype, "keepalive");
    const original = fetch;
    globalThis.fetch = (url, options) => original(url, { ...options, keepalive: false });
  });
  site.answers = [new Promise(() => {}), { status: 200 }];
  await openPaused(page, site);
  await page.evaluate(() => om("event", "phone_call"));
  await expect.poll(() => site.deliveries.length).toBe(1);
  await page.evaluate(() => om("event", "farewell"));
  await page.goto("about:blank");
  await expect
    .poll(() => site.deliveries.map(actions))
    .toEqual([
      ["view", "phone_call"],
      ["view", "phone_call", "farewell"],
    ]);
  const [, beacon] = site.deliveries;
  expect(beacon?.headers["sec-fetch-mode"]).toBe("no-cors"); // how a beacon differs from a fetch
  expect(beacon?.headers["content-type"]).toMatch(/^text\/plain/);
  expect(beacon?.headers.origin).toBe(site.url);

  await page.goto(`${site.url}/next`);
  await page.clock.runFor(3000); // the request that was ended may have been taken for a failure, which is waited after
  await expect.poll(async () => (await storedBy(page))?.q).toEqual([]);
  const ids = (delivery?: { events: { eid: string }[] }) => delivery?.events.map(({ eid }) => eid);
  expect(ids(site.deliveries[2])?.slice(0, 3)).toEqual(ids(beacon));
});

// Guarantee: an event that found no room in the plan is not given up because others in its request did, and those are not sent again.
// Mutation: clear the whole batch, or keep all of it.
test("of a mixed answer only the events over the quota stay, and wait like any that were refused", async ({ page, site }) => {
  site.answers = [
    { status: 200, results: ["accepted", "quota", "duplicate", "quota", "invalid", "consent"] },
    { status: 429, headers: { "retry-after": "600" }, results: ["quota", "quota"] },
    { status: 200, results: ["accepted", "accepted"] },
  ];
  await openPaused(page, site);
  await page.evaluate(() => ["second", "third", "fourth", "fifth", "sixth"].map((name) => om("event", name)));
  await page.clock.runFor(1000);
  await expect.poll(() => site.deliveries.length).toBe(2);
  await heardFailure(page, 0);
  await page.clock.runFor(590_000);
  await site.barrier(page);
  expect(site.deliveries).toHaveLength(2);
  await page.clock.runFor(15_000);
  await expect.poll(async () => (await storedBy(page))?.q).toEqual([]);
  expect(site.deliveries.map(actions).slice(1)).toEqual([
    ["second", "fourth"],
    ["second", "fourth"],
  ]);
});
