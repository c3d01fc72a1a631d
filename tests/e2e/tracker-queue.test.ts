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

// Guarantee: a long time offline neither fills the visitor's disk nor floods the server.
test("the queue holds the newest 200 events and is sent in order, 20 at a time", async ({ page, context, site }) => {
  await page.goto(site.url);
  await site.settled(page);
  site.deliveries.length = 0;
  await context.setOffline(true);
  await page.evaluate(() => {
    for (let index = 0; index < 250; index++) om("event", `event-${index}`);
  });
  expect((await storedBy(page))?.q).toHaveLength(200);
  await expect.poll(async () => (await storedBy(page))?.n).toBeGreaterThan(0); // it goes on trying
  await context.setOffline(false);
  await expect.poll(() => site.events().length).toBe(200);
  expect(site.events().map(({ ea }) => ea)).toEqual(Array.from({ length: 200 }, (_, index) => `event-${index + 50}`));
  expect(site.deliveries.map(({ events }) => events.length)).toEqual(Array(10).fill(20));
});

// Guarantee: long addresses do not make a request that browsers refuse to keep alive, which would never arrive.
test("a request stays below the 64 KiB that browsers keep alive", async ({ page, site }) => {
  const long = "x".repeat(1900);
  await page.goto(`${site.url}/?long=${long}`);
  await page.evaluate((text) => {
    for (let index = 0; index < 30; index++) {
      history.pushState({}, "", `/page-${index}?${text}`);
      om("event", "seen", { label: "ş".repeat(300) });
    }
  }, long);
  await expect.poll(() => site.events("seen").length).toBe(30);
  expect(Math.max(...site.deliveries.map(({ body }) => Buffer.byteLength(body)))).toBeLessThan(65_536);
});

// Guarantee: an event older than a day is not passed off as today's.
test("events are given up after a day", async ({ page, site }) => {
  site.answers = [{ status: 503 }];
  await openPaused(page, site);
  await page.clock.runFor(1000);
  await heardFailure(page, 1);
  site.answers = [{ status: 200 }];
  await page.clock.pauseAt(start + 25 * 3_600_000);
  await page.goto(`${site.url}/next-day`);
  await page.clock.runFor(1000);
  await expect.poll(() => site.events().at(-1)?.u).toBe(`${site.url}/next-day`);
  expect(site.events("view").filter(({ t }) => t > 86_400_000)).toEqual([]);
});

// Guarantee: a visitor with several tabs is not counted several times, even for the moment the server takes to see it.
test("two tabs never send the same event at the same time", async ({ page, context, site }) => {
  let release = (_answer: { status: number }) => {};
  site.answers = [new Promise((resolve) => (release = resolve)), { status: 200 }];
  await page.goto(`${site.url}/first`);
  await expect.poll(() => site.deliveries.length).toBe(1);
  const second = await context.newPage();
  await second.goto(`${site.url}/second`);
  await second.evaluate(() => om("event", "phone_call"));
  await site.barrier(second);
  expect(site.deliveries).toHaveLength(1);
  release({ status: 200 });
  // What one tab sent may come once more: browsers tell tabs of a change in storage later than of a free lock. It is the same event then.
  await expect.poll(() => new Set(site.events("phone_call").map(({ eid }) => eid)).size).toBe(1);
});

/** Records an event and puts the stored text back, as a tab does that has not heard of the event yet. */
function overwritten(page: Page, name: string, change: Record<string, unknown> = {}): Promise<void> {
  return page.evaluate(
    ([key, event, edit]) => {
      const before = JSON.stringify({ ...JSON.parse(localStorage.getItem(key) as string), ...edit });
      om("event", event);
      localStorage.setItem(key, before);
    },
    [`om_0123456789abcdef0123456789abcdef`, name, change] as const,
  );
}

// Guarantee: a lead recorded in one tab survives what another tab stores in the same moment. Mutation: send only what storage holds.
test("an event that another tab overwrote in storage is sent, and no click id after a refusal in that tab", async ({ page, site }) => {
  await page.goto(`${site.url}/?gclid=click-1`);
  await site.settled(page);
  await overwritten(page, "overwritten");
  await site.settled(page);
  expect(site.events("overwritten").map(({ meta }) => meta.gclid)).toEqual(["click-1"]);
  await overwritten(page, "refused", { k: true, g: null });
  await site.settled(page);
  expect(site.events("refused").map(({ u, meta }) => [u, meta.gclid])).toEqual([[`${site.url}/?gclid=`, ""]]);
  // After everything was withdrawn, what the earlier visitor did is not sent under the next one's consent.
  const fp = site.events().at(-1)?.meta.fp;
  await overwritten(page, "withdrawn", { v: "another-visitor" });
  await site.settled(page);
  expect(site.events("withdrawn")).toEqual([]);
  expect(site.events().at(-1)?.meta.fp).not.toBe(fp);
});

// Guarantee: in a browser that stores nothing the page works and its leads still arrive.
for (const { name, block } of [
  {
    name: "is blocked",
    block: () => {
      const denied = () => new DOMException("Access is denied.", "SecurityError");
      Object.defineProperty(window, "localStorage", {
        get: () => {
          throw denied();
        },
      });
      navigator.locks.request = () => Promise.reject(denied());
    },
  },
  {
    name: "is full",
    block: () => {
      for (let chars = 2 ** 23; chars >= 1; ) {
        try {
          localStorage[`filler-${localStorage.length}`] = "x".repeat(chars);
        } catch {
          chars /= 2;
        }
      }
    },
  },
]) {
  test(`where storage ${name}, events are sent from memory`, async ({ page, site }) => {
    await page.addInitScript(block);
    site.answers = [{ status: 503 }, { status: 200 }];
    await page.goto(site.url);
    await page.evaluate(() => om("event", "phone_call"));
    await site.settled(page);
    expect(new Set(site.events().map(({ ea, eid }) => `${ea} ${eid}`)).size).toBe(3);
  });
}
