import type { Page } from "@playwright/test";
import { expect, holdLinks, storedBy, type TrackedSite, test } from "#tests/support/tracker-test.ts";

/** The visitor does what would be recorded, and enough time passes for a request. */
async function behave(page: Page): Promise<void> {
  await page.click("#tel");
  await page.evaluate(async () => {
    // A busy browser tells of a scroll a frame or more later; what comes then belongs to this behaviour, not to what follows it.
    const told = new Promise((resolve) => addEventListener("scroll", resolve, { once: true }));
    const before = scrollY;
    scrollTo(0, document.documentElement.scrollHeight);
    if (scrollY !== before) await told;
    history.pushState({}, "", "/moved");
    om("event", "mine");
    dispatchEvent(new Event("online"));
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  });
  await page.clock.runFor(60_000);
}

async function open(page: Page, url: string): Promise<void> {
  await page.clock.install();
  await page.goto(url);
  await holdLinks(page);
}

async function expectNothing(page: Page, site: TrackedSite): Promise<void> {
  await site.barrier(page);
  expect(site.deliveries).toEqual([]);
  expect(await page.evaluate(() => [Object.keys(localStorage), Object.keys(sessionStorage), document.cookie])).toEqual([[], [], ""]);
}

function tellGoogle(page: Page, ...commands: [string, Record<string, unknown>][]): Promise<void> {
  return page.evaluate((list) => {
    const host = globalThis as unknown as { dataLayer?: unknown[] };
    host.dataLayer ??= [];
    // gtag() pushes its arguments object, which is no array.
    for (const [kind, settings] of list) host.dataLayer.push({ 0: "consent", 1: kind, 2: settings, length: 3 });
  }, commands);
}

// Guarantee: a site that promised to ask first can prove that nothing happened before the answer.
test("where consent is required nothing is stored or sent until it is given", async ({ page, site }) => {
  site.options.consent = "required";
  await open(page, `${site.url}/?gclid=click-1`);
  await behave(page);
  await tellGoogle(page, ["default", { analytics_storage: "denied", ad_storage: "denied" }]);
  await expectNothing(page, site);

  await page.evaluate(() => om.consent(["analytics", "marketing"]));
  const events = await site.settled(page);
  expect(events.map(({ ea, u }) => [ea, u])).toEqual([["view", `${site.url}/moved`]]);
  expect(events[0]?.consent_scopes).toEqual(["analytics", "marketing"]);
  expect(events[0]?.meta.gclid).toBe("click-1"); // of the landing page, which is no longer shown
});

// Guarantee: withdrawn consent leaves no trace in the browser and ends all traffic, in every tab, but for the server's being told.
test("withdrawal erases ids and queue, here and in other tabs", async ({ page, context, site }) => {
  site.options.consent = "required";
  await open(page, `${site.url}/?gclid=click-1`);
  const other = await context.newPage();
  await open(other, `${site.url}/other`);
  for (const tab of [other, page]) {
    await tab.evaluate(() => om.consent(["analytics", "marketing"]));
    await site.settled(tab);
  }
  const visitor = site.events()[0]?.meta.fp;
  site.deliveries.length = 0;

  await page.evaluate(() => {
    om("event", "still_queued");
    om.consent([]);
  });
  await behave(page);
  await behave(other);
  await expect.poll(() => site.choices.map(({ fp, consent_scopes }) => [fp, consent_scopes])).toEqual([[visitor, []]]);
  await expect.poll(() => storedBy(page)).toBeNull();
  await expectNothing(other, site);

  await page.evaluate(() => om.consent(["analytics"]));
  const [view] = await site.settled(page);
  expect(view?.ea).toBe("view");
  expect(view?.meta.fp).not.toBe(visitor);
});

// Guarantee: consent withdrawn while a request is under way is not undone by its answer. Mutation: save() without asking for a visitor.
test("an answer that comes after withdrawal stores nothing but the message", async ({ page, site }) => {
  let release = (_answer: { status: number }) => {};
  site.answers = [new Promise((resolve) => (release = resolve))];
  await page.goto(site.url);
  await expect.poll(() => site.deliveries.length).toBe(1);
  await page.evaluate(() => om.consent([]));
  release({ status: 200 });
  await expect.poll(() => site.choices.length).toBe(1);
  await expect.poll(() => storedBy(page)).toBeNull();
  expect(site.deliveries).toHaveLength(1);
});

// Guarantee: who agrees to statistics alone is not followed from an ad to a sale.
test("without marketing consent no click id is stored or sent, wherever it stands", async ({ page, site }) => {
  site.options.consent = "required";
  await page.goto(`${site.url}/?gclid=click-1&fbclid=click-2&next=%2F%3Fgbraid%3Dclick-3%26a%3D1`);
  await page.evaluate(() => om.consent(["analytics"]));
  await page.evaluate(() => history.pushState({}, "", "/second"));
  await site.settled(page);
  expect(site.deliveries.map(({ body }) => body).join()).not.toContain("click-");
  expect(JSON.stringify(await storedBy(page))).not.toContain("click-");
  expect(site.events("view").map(({ u, r }) => [u, r].map((url) => url.slice(site.url.length)))).toEqual([
    ["/?gclid=&fbclid=&next=%2F%3Fgbraid%3D%26a%3D1", ""],
    ["/second", "/?gclid=&fbclid=&next=%2F%3Fgbraid%3D%26a%3D1"],
  ]);

  await page.evaluate(() => om.consent(["analytics", "marketing"]));
  await page.evaluate(() => om("event", "phone_call"));
  await site.settled(page);
  expect(site.events("phone_call")[0]?.meta.gclid).toBe("click-1");

  await page.evaluate(() => om.consent(["analytics"]));
  expect(JSON.stringify(await storedBy(page))).not.toContain("click-");
});

// Guarantee: a site with Google Consent Mode needs no second consent manager, and its defaults are not taken for decisions.
test("Google Consent Mode grants, withholds and withdraws", async ({ page, site }) => {
  site.options.consent = "required";
  const denied = { analytics_storage: "denied", ad_storage: "denied" };
  const granted = { analytics_storage: "granted", ad_storage: "granted" };
  await page.goto(`${site.url}/?gclid=click-1`);
  await tellGoogle(page, ["default", denied], ["update", granted]);
  const [first] = await site.settled(page);
  expect([first?.consent_scopes, first?.meta.gclid]).toEqual([["analytics", "marketing"], "click-1"]);

  // The next page starts with the default again, and then hears the same visitor's answer.
  await page.goto(`${site.url}/next`);
  await tellGoogle(page, ["default", { ...denied, analytics_storage: "granted" }], ["default", granted]);
  const next = (await site.settled(page)).at(-1);
  expect([next?.consent_scopes, next?.meta.gclid, next?.meta.fp]).toEqual([["analytics"], undefined, first?.meta.fp]);
  await tellGoogle(page, ["update", { ad_storage: "granted" }]);
  await page.evaluate(() => om("event", "phone_call"));
  await site.settled(page);
  expect(site.events("phone_call")[0]?.meta.gclid).toBe("click-1");

  site.deliveries.length = 0;
  await tellGoogle(page, ["update", denied]);
  await expect.poll(() => site.choices.map(({ fp, consent_scopes }) => [fp, consent_scopes])).toEqual([[first?.meta.fp, []]]);
  await expect.poll(() => storedBy(page)).toBeNull();
  await expectNothing(page, site);
});

// Guarantee: a grant for visitors of one country is not taken for everybody's.
test("a regional default of Consent Mode grants nothing, whatever its place", async ({ page, site }) => {
  site.options.consent = "required";
  const all = (state: string) => ({ analytics_storage: state, ad_storage: state });
  await page.addInitScript(() =>
    Object.assign(globalThis, { dataLayer: [["consent", "default", { analytics_storage: "granted", region: ["US"] }]] }),
  );
  await open(page, site.url);
  await tellGoogle(page, ["default", { ...all("denied"), region: ["DE"] }], ["default", all("granted")]);
  await behave(page);
  await expectNothing(page, site);
});

// Guarantee: a site that says it respects the visitor's signal does, and its pages can still call the tracker.
for (const signal of [{ doNotTrack: "1" }, { globalPrivacyControl: true }]) {
  test(`${Object.keys(signal)} is respected where the site says so`, async ({ page, site }) => {
    await page.addInitScript((signals) => {
      for (const [name, value] of Object.entries(signals)) Object.defineProperty(navigator, name, { value });
    }, signal);
    await page.goto(site.url);
    await site.settled(page);
    expect(await storedBy(page)).not.toBeNull();

    const visitor = site.events()[0]?.meta.fp;
    site.deliveries.length = 0;
    site.options.dnt = "respect";
    await open(page, site.url);
    // The signal is the visitor's own word: the server forgets them too.
    await expect.poll(() => site.choices.map(({ fp, consent_scopes }) => [fp, consent_scopes])).toEqual([[visitor, []]]);
    await expect.poll(() => storedBy(page)).toBeNull();
    await behave(page);
    await page.evaluate(() => om.consent(["analytics", "marketing"]));
    await behave(page);
    await expectNothing(page, site);
  });
}
