import { expect, storedBy, test } from "#tests/support/tracker-test.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const dayMs = 86_400_000;
const start = Date.UTC(2026, 0, 15, 12);

// Guarantee: the server gets what a session is made of, in a request that no browser asks permission for.
test("a page view says where, from where and who, as plain text", async ({ page, site }) => {
  await page.goto(`${site.url}/start?utm_source=google&utm_campaign=kombi%20servisi#part`, { referer: "https://www.google.com/" });
  const [view] = await site.settled(page);
  expect(view).toEqual({
    eid: expect.stringMatching(uuid),
    t: expect.any(Number),
    sid: expect.stringMatching(uuid),
    u: `${site.url}/start?utm_source=google&utm_campaign=kombi%20servisi`,
    r: "https://www.google.com/",
    ec: "interaction",
    ea: "view",
    el: "Page /start",
    ev: null,
    meta: {
      fp: expect.stringMatching(uuid),
      utm_source: "google",
      utm_campaign: "kombi servisi",
      sw: expect.any(Number),
      sh: expect.any(Number),
      lan: "en-US",
    },
  });
  const [delivery] = site.deliveries;
  expect([delivery?.s, delivery?.v]).toEqual([site.siteId, 2]);
  expect(delivery?.headers["content-type"]).toMatch(/^text\/plain/);
  expect(delivery?.headers.origin).toBe(site.url);
  expect(delivery?.headers.cookie).toBeUndefined();
});

// Guarantee: a visitor is one visitor, and a visit ends after half an hour without an event.
test("the visitor stays, the session ends after 30 minutes", async ({ page, site }) => {
  await page.clock.setFixedTime(start);
  await page.goto(`${site.url}/?utm_source=google`);
  await page.clock.setFixedTime(start + 29 * 60_000);
  await page.goto(`${site.url}/second`);
  await site.settled(page);
  await page.clock.setFixedTime(start + 60 * 60_000);
  await page.goto(`${site.url}/third`);
  await site.settled(page);
  const [first, second, third] = ["/?", "/second", "/third"].map((path) =>
    site.events("view").find(({ u }) => u.startsWith(site.url + path)),
  );
  expect([second?.meta.fp, third?.meta.fp]).toEqual([first?.meta.fp, first?.meta.fp]);
  expect(second?.sid).toBe(first?.sid);
  expect(second?.meta.utm_source).toBe("google");
  expect(third?.sid).not.toBe(first?.sid);
  expect(third?.meta.utm_source).toBeUndefined();
});

// Guarantee: a customer pays for the pages a visitor saw, once each, however the site is built.
test("moving inside a single-page app counts each page once", async ({ page, site }) => {
  await page.goto(`${site.url}/a?gclid=click-1`);
  const move = (change: string) =>
    page.evaluate((step) => {
      const [method, url] = step.split(" ");
      if (method === "push") history.pushState({}, "", url);
      if (method === "replace") history.replaceState({}, "", url);
      if (method === "hash") location.hash = url ?? "";
      om("event", "step", { label: step });
    }, change);
  for (const step of [
    "replace /a",
    "hash part",
    "push /b",
    "push /b",
    "replace /b?tidied=1",
    "replace /c",
    "push /c?page=2",
    "push /c#/route",
  ])
    await move(step);
  await page.evaluate(async () => {
    const moved = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
    history.back();
    await moved;
  });
  const views = (await site.settled(page)).filter(({ ea }) => ea === "view");
  expect(views.map(({ u }) => u.slice(site.url.length))).toEqual(["/a?gclid=click-1", "/b", "/c", "/c?page=2", "/c#/route", "/c?page=2"]);
  expect(views[1]?.r).toBe(`${site.url}/a`);
});

// Guarantee: the dashboard names a page by its own title, not by the one before it.
test("a page of a single-page app is counted under the title that the app sets afterwards", async ({ page, site }) => {
  await page.goto(`${site.url}/a`);
  await page.evaluate(() => {
    history.pushState({}, "", "/b");
    queueMicrotask(() => {
      document.title = "The second page";
    });
  });
  await expect.poll(() => site.events("view").map(({ el }) => el)).toEqual(["Page /a", "The second page"]);
});

// Guarantee: reading depth is a fact about a page, not about how much a visitor scrolls up and down.
test("half and nearly all of a page are counted once each, and again on the next page", async ({ page, site }) => {
  await page.goto(`${site.url}/a`);
  const scroll = (share: number) =>
    page.evaluate(async (part) => {
      window.scrollTo(0, document.documentElement.scrollHeight * part - innerHeight);
      // Scroll events come before the callbacks of their frame.
      for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    }, share);
  for (const share of [0.4, 0.6, 0.3, 0.7, 1, 0.2, 1]) await scroll(share);
  await scroll(0.1);
  await page.evaluate(() => history.pushState({}, "", "/b"));
  await scroll(0.6);
  const depths = (await site.settled(page)).filter(({ ea }) => ea === "scroll_depth");
  expect(depths.map(({ u, el, ev }) => [new URL(u).pathname, el, ev])).toEqual([
    ["/a", "50%", 50],
    ["/a", "90%", 90],
    ["/b", "50%", 50],
  ]);
});

// Guarantee: a conversion names the click that led to it, and no time of the browser's, whose clock may be wrong.
test("click ids come from query and fragment, and stay until another click", async ({ page, site }) => {
  await page.clock.setFixedTime(start);
  const lastView = async (path: string) => {
    await page.goto(site.url + path);
    await site.settled(page);
    const { gclid, wbraid, gbraid, cts } = site.events("view").at(-1)?.meta ?? {};
    return { gclid, wbraid, gbraid, cts };
  };
  const click = { gclid: "click-1", wbraid: "web-1", gbraid: undefined, cts: undefined };
  expect(await lastView("/?gclid=click-1&wbraid=web-1")).toEqual(click);
  await page.clock.setFixedTime(start + dayMs);
  expect(await lastView("/contact")).toEqual(click);
  expect(await lastView("/?gclid=click-1&wbraid=web-1")).toEqual(click);
  expect(await lastView("/#gbraid=app-1")).toEqual({ gclid: undefined, wbraid: undefined, gbraid: "app-1", cts: undefined });
});

// Guarantee: a visit is never credited to a click that is older than Google accepts.
test("a click id is sent for 90 days and then forgotten", async ({ page, site }) => {
  await page.clock.setFixedTime(start);
  await page.goto(`${site.url}/?gclid=click-1`);
  await site.settled(page);
  await page.clock.setFixedTime(start + 89 * dayMs);
  await page.goto(`${site.url}/day-89`);
  await site.settled(page);
  expect(site.events("view").at(-1)?.meta.gclid).toBe("click-1");
  await page.clock.setFixedTime(start + 91 * dayMs);
  await page.goto(`${site.url}/day-91`);
  await site.settled(page);
  expect(site.events("view").at(-1)?.meta).not.toHaveProperty("gclid");
  expect(JSON.stringify(await storedBy(page))).not.toContain("click-1");
});

// Guarantee: a page may call the tracker before it has loaded, and its own events arrive with label and value.
test("calls made before the tracker came are replayed in order", async ({ page, site }) => {
  await page.addInitScript(() => {
    const stub = ((...args: unknown[]) => stub.q?.push(args)) as typeof om;
    stub.q = [];
    globalThis.om = stub;
    om("event", "price_shown", { label: "Kombi", value: 12.5 });
    om("event", "phone_call", { label: "+905321234107" });
  });
  await page.goto(site.url);
  const events = await site.settled(page);
  expect(events.map(({ ec, ea, el, ev }) => [ec, ea, el, ev])).toEqual([
    ["interaction", "view", "Page /", null],
    ["interaction", "price_shown", "Kombi", 12.5],
    ["conversion", "phone_call", "+905321234107", null],
  ]);
});

// Guarantee: two copies of the snippet do not double a customer's bill.
test("a page with the snippet twice is counted once", async ({ page, site }) => {
  site.options.twice = true;
  await page.goto(site.url);
  expect((await site.settled(page)).map(({ ea }) => ea)).toEqual(["view"]);
});

// Guarantee: a page the browser renders ahead is no visit, and one it takes out of its cache is.
test("a view is counted when a page is shown, not when it is prepared", async ({ page, site }) => {
  await page.addInitScript(() => Object.defineProperty(document, "prerendering", { value: true, configurable: true }));
  await page.goto(site.url);
  await site.barrier(page);
  expect(await storedBy(page)).toBeNull();
  expect(site.deliveries).toEqual([]);
  await page.evaluate(() => {
    document.dispatchEvent(new Event("prerenderingchange"));
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
  });
  expect((await site.settled(page)).map(({ ea }) => ea)).toEqual(["view", "view"]);
});
