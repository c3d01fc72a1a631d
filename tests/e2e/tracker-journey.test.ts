import { createServer, type Server } from "node:http";
import { devices } from "@playwright/test";
import postgres from "postgres";
import { installSnippet } from "#lib/ingest/install-snippet.ts";
import type { SiteId } from "#lib/site.ts";
import { closeServer, listenLocal } from "#scripts/local/process/local-server.ts";
import { expect, test } from "#tests/support/e2e-test.ts";

let server: Server;
let pageUrl: string;
let html = "";

test.beforeAll(async () => {
  server = createServer((_request, response) => response.setHeader("content-type", "text/html").end(html));
  pageUrl = (await listenLocal(server, "customer's page")).replace("127.0.0.1", "localhost");
});
test.afterAll(() => closeServer(server));

// Guarantee: what a customer installs with one line really ends as a lead with its click, through every part in between.
test("a call on a customer's page becomes a call in the database with its click id, once", async ({ browser, stack }) => {
  const siteId = stack.sites[0]?.siteId as SiteId;
  html = `<!doctype html><html lang="en"><head><title>Kombi</title>${installSnippet({ appUrl: stack.baseUrl, siteId })}</head>
    <body><a href="tel:+902165550101">Call us</a></body></html>`;
  const gclid = `journey-${Date.now()}`;
  // Without saying so, a headless browser is taken for the robot that it is.
  const page = await (await browser.newContext({ userAgent: devices["Desktop Chrome"].userAgent })).newPage();
  const answers: number[] = [];
  page.on("response", (response) => response.url().endsWith("/api/sync") && answers.push(response.status()));
  await page.goto(`${pageUrl}/?gclid=${gclid}`);
  await page.evaluate(`document.querySelector("a").addEventListener("click", (event) => event.preventDefault())`);
  await page.getByText("Call us").click();

  const sql = postgres(stack.adminDatabaseUrl, { max: 1 });
  try {
    const calls =
      () => sql`select c.channel, c.phone, c.status, s.had_conversion from public.calls c join public.sessions s on s.id = c.session_id
      where c.gclid = ${gclid}`;
    await expect
      .poll(async () => [...(await calls())], { timeout: 30_000 })
      .toEqual([{ channel: "phone", phone: null, status: "intent", had_conversion: true }]);
    expect(answers.every((status) => status === 200)).toBe(true);
    const [billed] =
      await sql`select count(*)::int as n from public.ingest_idempotency i join public.calls c on c.site_id = i.site_id and c.intent_stamp = i.eid
      where c.gclid = ${gclid}`;
    expect(billed?.n).toBe(1);
  } finally {
    await sql.end();
  }
});
