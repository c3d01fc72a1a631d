import { expect, test } from "#tests/support/tracker-test.ts";

const start = Date.UTC(2026, 0, 15, 12);

// Guarantee: each page seen in a visit that an ad click began is reported once, with what Google and a later withdrawal need of it.
// Mutation: report other events too, or not the pages of a single-page app.
test("with data-views each page of the click's visit is reported once, with the click and the visitor", async ({ page, site }) => {
  site.options.views = "on";
  await page.goto(`${site.url}/?gclid=click-1&wbraid=web-1`);
  await page.evaluate(() => om("event", "view_price"));
  await page.evaluate(() => history.pushState({}, "", "/prices"));
  await site.settled(page);
  await page.goto(`${site.url}/contact`);
  await site.settled(page);
  const fp = site.events()[0]?.meta.fp;
  await expect.poll(() => site.views).toEqual(Array(3).fill({ siteId: site.siteId, gclid: "click-1", wbraid: "web-1", fp, t: 0 }));
});

// Guarantee: Google is told of the visits its ads brought, and of no later one. Mutation: report every view while a click is stored.
test("a later visit without an ad is not reported, one with a new click is", async ({ page, site }) => {
  site.options.views = "on";
  await page.clock.setFixedTime(start);
  await page.goto(`${site.url}/?gclid=click-1`);
  await site.settled(page);
  await page.clock.setFixedTime(start + 3_600_000);
  await page.goto(`${site.url}/again`);
  await site.settled(page);
  expect(site.events("view").at(-1)?.meta.gclid).toBe("click-1");
  await page.goto(`${site.url}/?gclid=click-2`);
  await site.settled(page);
  await expect.poll(() => site.views.map(({ gclid }) => gclid)).toEqual(["click-1", "click-2"]);
});

// Guarantee: a view is not reported against the visitor's will, nor where the owner did not switch it on.
// Mutation: without the test for data-views, or with the click of a visitor who refused marketing.
test("no view is reported without data-views, a click or marketing consent", async ({ page, site }) => {
  await page.goto(`${site.url}/?gclid=click-1`);
  await site.settled(page);
  site.options.views = "on";
  await page.context().clearCookies();
  await page.evaluate(() => localStorage.clear());
  await page.goto(`${site.url}/no-click`);
  await site.settled(page);
  site.options.consent = "required";
  await page.goto(`${site.url}/?gclid=click-2`);
  await page.evaluate(() => om.consent(["analytics"]));
  await site.settled(page);
  await site.barrier(page);
  expect(site.views).toEqual([]);

  await page.evaluate(() => om.consent(["analytics", "marketing"]));
  await page.evaluate(() => history.pushState({}, "", "/second"));
  await site.settled(page);
  await expect
    .poll(() => site.views)
    .toEqual(Array(2).fill(expect.objectContaining({ gclid: "click-2", consent_scopes: ["analytics", "marketing"], t: 0 })));
  await page.evaluate(() => om.consent([]));
  await page.evaluate(() => history.pushState({}, "", "/third"));
  await expect.poll(() => site.choices.length).toBe(2);
  await site.barrier(page);
  expect(site.views).toHaveLength(2);
});

// Guarantee: a site whose Consent Mode counts first and asks about ads afterwards is not left out, and its pages count once.
// Mutation: report only at the moment a page is counted.
test("a page that was counted before marketing was granted is reported when it is", async ({ page, site }) => {
  site.options = { views: "on", consent: "required" };
  const tell = (kind: string, ads: string) =>
    page.evaluate(
      (command) => {
        const host = globalThis as unknown as { dataLayer: unknown[] };
        host.dataLayer.push(command);
      },
      ["consent", kind, { analytics_storage: "granted", ad_storage: ads }],
    );
  await page.goto(`${site.url}/?gclid=click-1`);
  await tell("default", "denied");
  await site.settled(page);
  expect(site.views).toEqual([]);
  await tell("update", "granted");
  await tell("update", "granted");
  await page.evaluate(() => om("event", "phone_call"));
  await site.settled(page);
  await site.barrier(page);
  expect(site.views).toEqual([expect.objectContaining({ gclid: "click-1", fp: site.events()[0]?.meta.fp })]);
});

// Guarantee: a report that cannot be delivered costs the page nothing and the visit's events neither. The fixture looks at the console.
test("a report that fails is not tried again and disturbs nobody", async ({ page, site }) => {
  site.options.views = "on";
  await page.route("**/api/track/pv", (route) => route.abort());
  await page.goto(`${site.url}/?gclid=click-1`);
  expect((await site.settled(page)).map(({ ea }) => ea)).toEqual(["view"]);
  expect(site.views).toEqual([]);
});
