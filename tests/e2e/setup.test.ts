import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { devices, type Locator } from "@playwright/test";
import postgres from "postgres";
import { closeServer, listenLocal } from "#scripts/local/process/local-server.ts";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import { expectAccessible } from "#tests/support/accessibility.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

// Guarantee: somebody with nothing but the screen gets from a new site to a delivered conversion. Every text that is pasted is the page's own, and
// every tick turns green without a reload. Mutation: without the topic "setup" in site_version no tick appears.
test("a new owner walks from a new site to the first delivered conversion on the setup page", async ({ as, browser, baseURL, stack }) => {
  test.setTimeout(240_000);
  const page = await as("owner");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/dashboard/sites/new");
  await page.getByLabel("Name").fill(`Yeni ${Date.now()}`);
  await page.getByLabel("Domains").fill("localhost");
  await page.getByRole("radio", { name: /Do not ask/ }).check({ force: true });
  await page.getByLabel("Average order (TRY)").fill("3000");
  await page.getByRole("button", { name: "Create site" }).click();
  await expect(page).toHaveURL(/\/dashboard\/site\/[0-9a-f]{32}\/setup$/);
  await expect(page.getByText("1 of 9 done")).toBeVisible(); // consent: the owner chose not to ask
  await expectAccessible(page, "the setup of a new site");
  const siteUrl = page.url().replace("/setup", "");

  const step = (name: string) => page.locator(`details#${name}`);
  const ticked = (name: string) => expect(step(name).locator("summary")).toContainText("Done.", { timeout: 30_000 });
  /** What a button copies; the clipboard has it some time after the press. */
  const copiedBy = async (button: Locator) => {
    await page.evaluate(() => navigator.clipboard.writeText("nothing yet"));
    await button.click();
    const read = () => page.evaluate(() => navigator.clipboard.readText());
    await expect.poll(read).not.toBe("nothing yet");
    return read();
  };

  const snippet = await copiedBy(step("snippet").getByRole("button", { name: "Copy" }));
  const server = createServer((_request, response) =>
    response.setHeader("content-type", "text/html").end(
      `<!doctype html><html lang="en"><head><title>Kombi</title>${snippet}</head><body><a href="tel:+902165550101">Call us</a>
       <script>document.querySelector("a").addEventListener("click", (event) => event.preventDefault())</script></body></html>`,
    ),
  );
  const website = (await listenLocal(server, "website")).replace("127.0.0.1", "localhost");
  const visitor = await (await browser.newContext({ userAgent: devices["Desktop Chrome"].userAgent })).newPage();
  try {
    await visitor.goto(`${website}/kombi-servisi`);
    await ticked("snippet");
    await expect(step("snippet").getByText(`First visit seen on ${new URL(website).host}`)).toBeVisible();
    await expect(step("clicks").locator("summary")).toContainText("Open.");
    await visitor.goto(`${website}/?gclid=Cj0KCQ-setup-walk`);
    await visitor.getByRole("link", { name: "Call us" }).click();
    await ticked("clicks");

    const calls = step("calls");
    await calls.getByRole("button", { name: "Create secret" }).click();
    const secret = ((await calls.locator("code", { hasText: /^[0-9a-f]{64}$/ }).textContent()) ?? "").trim();
    const example = await copiedBy(calls.getByRole("figure").getByRole("button", { name: "Copy" }));
    const run = (text: string) => execFileSync("bash", ["-c", text], { encoding: "utf8" });
    run(example);
    await expect(calls.getByText("Refused: signature wrong.", { exact: false })).toBeVisible({ timeout: 15_000 });
    expect(run(example.replace("paste your call secret here", secret))).toContain('"ok":true');
    await ticked("calls");

    const values = step("values");
    await expect(values.getByLabel("Usual")).toHaveValue("3000"); // half, one and two average orders
    await values.getByLabel("Large").fill("7500");
    await values.getByRole("button", { name: "Save amounts" }).click();
    await ticked("values");

    const names = step("actions").getByRole("list", { name: "Names to create" });
    const name = await copiedBy(names.getByRole("button", { name: "Copy" }).first());
    expect(name).toBe("Sealed sale (OpsMantik)");

    await step("delivery").getByRole("button", { name: "Create key and script" }).click();
    const ready = page.getByRole("dialog", { name: "Your script is ready" });
    await expect(ready).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(ready.locator("pre")).toContainText(/var OPSMANTIK_API_KEY = "[^"]+"/); // for whom the clipboard is closed
    const script = await copiedBy(ready.getByRole("button", { name: "Copy script with key" }));
    await page.getByRole("button", { name: "I have stored it" }).click();

    const account = new AdsAccount({ OPSMANTIK_BASE_URL: String(baseURL) });
    const pasted = { edit: () => script };
    const action = { name, type: "UPLOAD_CLICKS", status: "ENABLED", countingType: "MANY_PER_CLICK" };
    await account.runScript({ ...pasted, isPreview: true });
    await ticked("delivery");
    await expect(step("test").getByText(`The account has no conversion action “${name}”.`, { exact: false })).toBeVisible({
      timeout: 15_000,
    });
    expect(await account.runScript({ ...pasted, isPreview: true, conversionActions: [action] })).toMatchObject({ error: null, files: [] });
    await ticked("test");
    await expect(step("test").getByRole("heading", { name: "What this test does not prove" })).toBeVisible(); // it does not fold away
    await ticked("actions");
    await expect(page.getByText("8 of 9 done")).toBeVisible();

    await page.goto(`${siteUrl}/settings`);
    await page.getByLabel("Sending delay (minutes)").fill("0");
    await page.getByLabel("Minimum click age (hours)").fill("0");
    await page.getByRole("region", { name: "Values and delivery" }).getByRole("button", { name: "Save changes" }).click();
    await expect(page.getByText("Changes saved. They apply from now on.")).toBeVisible();
    // The lead of the ad click: the telephone system's test call is one, too, and has none.
    const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
    const leads = () => sql`select c.id from public.calls c join public.sites s on s.id = c.site_id
      where s.public_id = ${siteUrl.slice(-32)} and c.gclid = 'Cj0KCQ-setup-walk'`;
    await expect.poll(async () => (await leads()).length, { timeout: 30_000 }).toBe(1);
    const [lead] = await leads();
    await sql.end();
    await page.goto(`${siteUrl}?lead=${lead?.id}`);
    await expect(page.getByText("Setup: 8 of 9 done.")).toBeVisible();
    await page.getByRole("button", { name: "Seal ₺3,000" }).first().click();
    // The row says so at once, the toast once it is stored.
    await expect(page.getByRole("region", { name: "Notifications" }).getByText(/^Sealed for/)).toBeVisible();
    await page.goto(`${siteUrl}/setup`);
    expect(await account.runScript(pasted)).toMatchObject({ error: null });
    expect(account.conversions.size).toBe(1);
    await ticked("delivered");
    await expect(page.getByText("Everything works.")).toBeVisible();
  } finally {
    await visitor.context().close();
    await closeServer(server);
  }
});

// Guarantee: a switch that stops all tracking says how much it stops before it does. Mutation: save on change, as it was.
test("asking first says what it drops, shows the new snippet, and ticks with the first visit that agreed", async ({ as, stack }) => {
  const page = await as("owner");
  await page.goto("/dashboard/sites/new");
  await page.getByLabel("Name").fill(`Onay ${Date.now()}`);
  await page.getByLabel("Domains").fill("https://www.onay.test:8443/iletisim");
  await page.getByRole("radio", { name: /Do not ask/ }).check({ force: true });
  await page.getByLabel("Average order (TRY)").fill("3000");
  await page.getByRole("button", { name: "Create site" }).click();
  await expect(page).toHaveURL(/\/setup$/);
  const siteId = page.url().split("/").at(-2) ?? "";
  const send = (origin: string, more: object = {}) => {
    const body = JSON.stringify({
      s: siteId,
      v: 2,
      events: [{ u: `${origin}/`, eid: crypto.randomUUID(), ec: "interaction", ea: "view", meta: { fp: crypto.randomUUID() }, ...more }],
    });
    const headers = { origin, "user-agent": "Mozilla/5.0 (X11; Linux x64) Chrome/142.0", "content-type": "text/plain" };
    return fetch(`${stack.baseUrl}/api/sync`, { method: "POST", body, headers });
  };
  expect((await send("https://onay.test")).status).toBe(200); // the bare domain and its www
  expect((await send("https://www.onay.test")).status).toBe(200);
  expect((await send("https://shop.onay.test")).status).toBe(403);
  await page.goto(`/dashboard/site/${siteId}/connections`);
  const card = page.getByRole("region", { name: "Website" });
  await card.getByRole("button", { name: "Add shop.onay.test" }).click();
  await expect(card.getByText("this domain is not on your list", { exact: false })).toBeHidden();
  await expect(card.getByText(/Last event/)).toBeVisible({ timeout: 20_000 }); // no reload

  const consent = card.getByLabel("Consent");
  await consent.selectOption("required");
  const dialog = page.getByRole("dialog", { name: "Ask visitors first?" });
  await expect(dialog).toContainText("2 events of the last 24 hours came without consent.");
  await dialog.getByRole("button", { name: "Keep as is" }).click();
  await expect(consent).toHaveValue("off");
  await consent.selectOption("required");
  await dialog.getByRole("button", { name: "Ask first" }).click();
  await expect(card.getByText("No visit with consent yet.")).toBeVisible();
  await expect(card.getByText('data-consent="required"', { exact: false })).toBeVisible();
  await send("https://onay.test", { consent_scopes: ["analytics"] });
  await expect(card.getByText(/First visit with consent/)).toBeVisible({ timeout: 20_000 });
});
