import { expect, holdLinks, storedBy, test } from "#tests/support/tracker-test.ts";

const start = Date.UTC(2026, 0, 15, 12);

// Guarantee: no call and no chat that a visitor starts is missed, and a telephone system can name the same click.
test("clicks on telephone and WhatsApp links are conversions with a stamp the page can read", async ({ page, site }) => {
  await page.goto(site.url);
  await holdLinks(page);
  await page.evaluate(() => {
    const seen: (string | undefined)[] = [];
    Object.assign(globalThis, { seen });
    for (const link of document.querySelectorAll("a")) {
      link.addEventListener("click", (event) => {
        seen.push(om.stamp());
        event.stopPropagation();
        event.preventDefault();
      });
    }
  });
  // Apart from each other: within five seconds the same number would be the same call.
  let clicks = 0;
  const click = async (selector: string, button: "left" | "middle" = "left") => {
    await page.clock.setFixedTime(start + ++clicks * 6_000);
    await page.click(selector, { button });
  };
  for (const selector of ["#tel b", "#wa-me", "#wa-api", "#wa-scheme"]) await click(selector);
  const stamps = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
  await click("#wa-me", "middle");
  await page.click("#plain");
  await page.click("#tel", { button: "right" });
  const conversions = (await site.settled(page)).filter(({ ec }) => ec === "conversion");
  expect(conversions.map(({ ea, el }) => [ea, el])).toEqual([
    ["phone_call", "+905321234107"],
    ["whatsapp", "905321234107"],
    ["whatsapp", "905321234107"],
    ["whatsapp", "905321234107"],
    ["whatsapp", "905321234107"],
  ]);
  expect(conversions.map(({ eid, meta }) => eid === meta.intent_stamp)).toEqual([true, true, true, true, true]);
  expect(stamps).toEqual(conversions.slice(0, 4).map(({ eid }) => eid));
});

// Guarantee: a lead from a form arrives although the page goes away, without a word of what was typed.
test("a submitted form is a conversion named after the form, and searches are none", async ({ page, site }) => {
  for (const button of ["Ask", "Send", "Find", "Look", "Ignored"]) {
    await page.goto(site.url);
    await page.getByRole("button", { name: button }).click();
    await page.waitForURL("**/thanks");
  }
  await site.settled(page);
  const forms = new Map(site.events("form_submit").map(({ eid, ec, el }) => [eid, [ec, el]]));
  expect([...forms.values()]).toEqual([
    ["conversion", "quote"],
    ["conversion", "contact"],
  ]);
  expect(site.deliveries.map(({ body }) => body).join()).not.toContain("secret");
});

// Guarantee: a pointer that only crosses a call button says nothing; one that rests on it says so once.
test("resting on a call button counts once per page", async ({ page, site }) => {
  await page.clock.install({ time: start });
  await page.goto(site.url);
  await page.clock.pauseAt(start + 60_000);
  await page.hover("#tel");
  await page.clock.runFor(200);
  await page.hover("#plain");
  await page.clock.runFor(1000);
  expect((await storedBy(page))?.q).not.toContainEqual(expect.objectContaining({ ea: "hover_intent" }));
  for (const selector of ["#tel", "#plain", "#wa-me", "#plain"]) {
    await page.hover(selector);
    await page.clock.runFor(400);
  }
  await page.clock.resume();
  const hovers = (await site.settled(page)).filter(({ ea }) => ea === "hover_intent");
  expect(hovers.map(({ ec, el }) => [ec, el])).toEqual([["interaction", "+905321234107"]]);
});

// Guarantee: a double tap is one call and one unit, and a telephone system is told of the call that was sent. Mutation: give each tap a stamp.
test("a second press of the same button within five seconds is the same call", async ({ page, site }) => {
  await page.clock.setFixedTime(start);
  await page.goto(`${site.url}/a`);
  const press = () => page.evaluate("om('event', 'phone_call', { label: '+902165550101' }); om.stamp()");
  const stamps = [await press(), await press()];
  await page.clock.setFixedTime(start + 5_000);
  stamps.push(await press());
  expect(stamps[1]).toBe(stamps[0]);
  expect(stamps[2]).not.toBe(stamps[0]);
  const calls = (await site.settled(page)).filter(({ ea }) => ea === "phone_call");
  expect(calls.map(({ eid }) => eid)).toEqual([stamps[0], stamps[2]]);
});
