import { storedBy, test } from "#tests/support/tracker-test.ts";
const dayMs = 86_400_000;
test("debug", async ({ page, site }) => {
  await page.clock.install();
  await page.goto(`${site.url}/?gclid=click-1`);
  await site.settled(page);
  await page.clock.fastForward(89 * dayMs);
  await page.goto(`${site.url}/day-89`);
  for (let i = 0; i < 4; i++) {
    console.log(await page.evaluate(() => Date.now()), JSON.stringify(await storedBy(page)), site.events().length);
    await new Promise((r) => setTimeout(r, 1000));
  }
});
