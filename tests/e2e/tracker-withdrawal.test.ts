import type { Page } from "@playwright/test";
import { expect, holdLinks, storedBy, type TrackedSite, test } from "#tests/support/tracker-test.ts";

/** A visitor who came by an ad and agreed to everything; returns their id. */
async function agree(page: Page, site: TrackedSite, path = "/?gclid=click-1"): Promise<string> {
  site.options.consent = "required";
  await page.goto(site.url + path);
  await page.evaluate(() => om.consent(["analytics", "marketing"]));
  await site.settled(page);
  return String(site.events().at(-1)?.meta.fp);
}

const said = (site: TrackedSite) => site.choices.map(({ fp, consent_scopes }) => [fp, consent_scopes]);
const withdraw = (page: Page) => page.evaluate(() => om.consent([]));
/** Until the page has taken note of an answer, or of its absence. */
const heardFailure = (page: Page) => expect.poll(async () => (await storedBy(page))?.n).toBeGreaterThanOrEqual(0);

// Guarantee: the server hears of a withdrawal whenever the network is back, and until then the browser holds nothing else of the visitor.
// Mutation: erase before the answer, or keep queue, click or session beside the message.
test("a withdrawal made offline is all that is kept, is told once the network is back, and is then forgotten", async ({
  page,
  context,
  site,
}) => {
  const fp = await agree(page, site, "/start?gclid=click-1&a=1#part");
  await context.setOffline(true);
  await page.evaluate(() => {
    om("event", "still_queued");
    om.consent([]);
    om.consent([]);
  });
  await heardFailure(page);
  const { c, q, n, w, ...rest } = (await storedBy(page)) ?? {};
  expect(c).toEqual([{ fp, consent_scopes: [], t: expect.any(Number), u: `${site.url}/start?gclid=&a=1` }]);
  expect(n).toBeGreaterThan(0); // it goes on trying
  expect([q, typeof w, rest]).toEqual([[], "number", {}]);
  await context.setOffline(false);
  await expect.poll(() => storedBy(page)).toBeNull();
  expect(site.choices).toEqual([
    { s: site.siteId, v: 2, fp, consent_scopes: [], t: expect.any(Number), u: `${site.url}/start?gclid=&a=1` },
  ]);
  expect(site.choices[0]?.t).toBeLessThan(60_000);
  expect(site.events("still_queued")).toEqual([]);
});

// Guarantee: a closed tab loses no withdrawal. Mutation: send choices only while consent is given.
test("a tab closed before the answer leaves the message to the next page, also where consent is still missing", async ({
  page,
  context,
  site,
}) => {
  const fp = await agree(page, site);
  site.choiceAnswers = [new Promise(() => {}), { status: 200 }];
  await withdraw(page);
  await expect.poll(() => site.choices.length).toBe(1);
  await page.close();
  const next = await context.newPage();
  site.choiceAnswers = [{ status: 200 }];
  const before = site.deliveries.length;
  await next.goto(`${site.url}/next`);
  await expect.poll(() => storedBy(next)).toBeNull();
  expect(new Set(said(site).map(String))).toEqual(new Set([String([fp, []])]));
  expect(site.choices.length).toBeGreaterThan(1);
  expect(site.deliveries).toHaveLength(before);
});

// Guarantee: no tab goes on under a name that was withdrawn in another. Mutation: without the storage listener, or without the look at
// the store before an event.
for (const { name, deaf } of [
  { name: "hears of it", deaf: false },
  { name: "has not heard of it yet", deaf: true },
]) {
  test(`a second tab that ${name} records nothing after a withdrawal`, async ({ page, context, site }) => {
    const fp = await agree(page, site);
    const other = await context.newPage();
    if (deaf) await other.addInitScript(() => addEventListener("storage", (event) => event.stopImmediatePropagation(), true));
    await agree(other, site, "/other");
    await holdLinks(other);
    site.choiceAnswers = [{ status: 503 }];
    site.deliveries.length = 0;
    await withdraw(page);
    await expect.poll(() => site.choices.length).toBeGreaterThan(0);
    await other.click("#tel");
    await other.evaluate(() => om("event", "mine"));
    expect(await other.evaluate(() => om.stamp())).toBeUndefined();
    expect(await storedBy(other)).toMatchObject({ c: [{ fp }], q: [] });
    expect(await storedBy(other)).not.toHaveProperty("v");
    await site.barrier(other);
    expect(site.deliveries).toEqual([]);
  });
}

// Guarantee: the back button does not bring consent back. A page in the browser's cache hears nothing, and the message may be answered
// before it is shown again. Mutation: without the look at the store when a page is shown again.
test("a page taken from the browser's cache after a withdrawal on the next one stays silent", async ({ page, context, site }) => {
  await page.addInitScript(() => addEventListener("storage", (event) => event.stopImmediatePropagation(), true));
  await agree(page, site);
  const next = await context.newPage();
  await agree(next, site, "/privacy");
  await withdraw(next);
  await expect.poll(() => storedBy(next)).toBeNull();
  site.deliveries.length = 0;
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await page.evaluate(() => om("event", "phone_call"));
  await site.barrier(page);
  expect([await storedBy(page), site.deliveries, site.choices.length]).toEqual([null, [], 1]);
});

// Guarantee: who refuses marketing is rid of it at once, here and at the server, and their call is not lost with it.
// Mutation: keep the click in the queue, tell nobody, or let a page without a decision undo the refusal.
test("withdrawing marketing alone drops click ids, tells the server once, and goes on with what remains", async ({
  page,
  context,
  site,
}) => {
  const fp = await agree(page, site);
  const other = await context.newPage();
  await agree(other, site, "/other?gclid=click-1");
  await context.setOffline(true);
  await page.evaluate(() => {
    om("event", "phone_call");
    om.consent(["analytics"]);
  });
  expect(JSON.stringify(await storedBy(page))).not.toContain("click-1");
  await context.setOffline(false);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  // Both tabs may send choice and call, if one has not heard yet that the other did: it is the same choice and the same event.
  await expect.poll(() => new Set(said(site).map(String))).toEqual(new Set([`${fp},analytics`]));
  await expect.poll(() => new Set(site.events("phone_call").map(({ eid, meta }) => [eid, meta.fp, meta.gclid].join())).size).toBe(1);
  expect(site.events("phone_call")[0]?.meta).toMatchObject({ fp, gclid: "" });

  await other.evaluate(() => om("event", "elsewhere"));
  await site.settled(other);
  const told = said(site);
  expect(new Set(told.map(String)).size).toBe(1);
  expect(site.events("elsewhere")[0]).toMatchObject({ consent_scopes: ["analytics"], u: `${site.url}/other?gclid=` });

  // Pages on which nobody decides, and one on which the visitor says the same again.
  delete site.options.consent;
  await page.goto(`${site.url}/next?gclid=click-2`);
  await site.settled(page);
  expect(JSON.stringify(await storedBy(page))).not.toContain("click-");
  await page.evaluate(() => om.consent(["analytics"]));
  await site.settled(page);
  expect(JSON.stringify(await storedBy(page))).not.toContain("click-");
  expect(site.events("view").at(-1)).toMatchObject({ consent_scopes: ["analytics"], u: `${site.url}/next?gclid=`, meta: { fp } });
  expect(said(site)).toEqual(told);

  await page.evaluate(() => om.consent(["analytics", "marketing"]));
  await page.evaluate(() => om("event", "agreed_again"));
  await site.settled(page);
  expect(site.events("agreed_again")[0]).toMatchObject({ consent_scopes: ["analytics", "marketing"], meta: { fp, gclid: "click-2" } });
});

// Guarantee: an old withdrawal never arrives after a newer yes, and never hits the visitor who said it.
// Mutation: send events first, or drop the message when consent is given.
test("consent given again before the answer: the message first, then a new visitor", async ({ page, context, site }) => {
  const fp = await agree(page, site);
  site.deliveries.length = 0;
  site.order.length = 0;
  await context.setOffline(true);
  await withdraw(page);
  await heardFailure(page);
  await page.evaluate(() => {
    om.consent(["analytics", "marketing"]);
    om("event", "phone_call");
    om.consent([]);
    om.consent(["analytics", "marketing"]);
  });
  const [, second]: string[] = await page.evaluate(
    (key) => JSON.parse(localStorage[key]).c.map((choice: { fp: string }) => choice.fp),
    `om_${site.siteId}`,
  );
  await context.setOffline(false);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await site.settled(page);
  expect(said(site)).toEqual([
    [fp, []],
    [second, []],
  ]);
  expect(site.order.slice(0, 3)).toEqual(["choice", "choice", "events"]);
  const visitors = new Set(site.events().map(({ meta }) => meta.fp));
  expect(visitors.size).toBe(1);
  expect([fp, second].some((old) => visitors.has(old))).toBe(false);
  expect(await storedBy(page)).toMatchObject({ c: [] });
});

// Guarantee: a message that cannot be taken is not repeated for ever, and one that could be is not given up.
for (const { status, repeated } of [
  { status: 400, repeated: false },
  { status: 403, repeated: false },
  { status: 429, repeated: true },
  { status: 500, repeated: true },
]) {
  test(`a withdrawal answered ${status} is ${repeated ? "kept and repeated later" : "done with"}`, async ({ page, site }) => {
    await page.clock.install({ time: Date.UTC(2026, 0, 15, 12) });
    const fp = await agree(page, site);
    await page.clock.pauseAt(Date.UTC(2026, 0, 15, 13));
    site.choiceAnswers = [{ status }, { status: 200 }];
    await withdraw(page);
    await expect.poll(() => site.choices.length).toBe(1);
    if (repeated) {
      await heardFailure(page);
      expect(await storedBy(page)).toMatchObject({ c: [{ fp }], q: [] });
      await page.clock.runFor(status === 429 ? 605_000 : 2_500);
      await expect.poll(() => site.choices.length).toBe(2);
    }
    await expect.poll(() => storedBy(page)).toBeNull();
    await page.clock.runFor(600_000);
    await site.barrier(page);
    expect(said(site)).toEqual(Array(repeated ? 2 : 1).fill([fp, []]));
    if (repeated) expect(site.choices[1]?.t).toBeGreaterThan((site.choices[0]?.t ?? 0) + (status === 429 ? 599_000 : 999));
  });
}

// Guarantee: who never agreed is not made known by refusing.
test("a refusal of a visitor who was never stored sends nothing", async ({ page, site }) => {
  site.options.consent = "required";
  await page.goto(`${site.url}/?gclid=click-1`);
  await withdraw(page);
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await site.barrier(page);
  expect([site.choices, await storedBy(page)]).toEqual([[], null]);
});

// Guarantee: a visitor goes although the disk is full, and the server hears of it. Mutation: write the message before deleting the rest.
test("where storage is full, a withdrawal deletes the visitor and is told from memory", async ({ page, site }) => {
  const fp = await agree(page, site);
  site.choiceAnswers = [{ status: 503 }, { status: 200 }];
  const left = await page.evaluate((key) => {
    history.replaceState({}, "", `/?long=${"x".repeat(1900)}`);
    for (let chars = 2 ** 23; chars >= 1; ) {
      try {
        localStorage[`filler-${localStorage.length}`] = "x".repeat(chars);
      } catch {
        chars /= 2;
      }
    }
    om.consent([]);
    return localStorage.getItem(key);
  }, `om_${site.siteId}`);
  expect(left).toBeNull();
  await expect.poll(() => said(site)).toEqual(Array(2).fill([fp, []]));
});
