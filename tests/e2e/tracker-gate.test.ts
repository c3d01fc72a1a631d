import { Agent, request } from "node:http";
import type { Page } from "@playwright/test";
import { expect, test } from "#tests/support/customer-site.ts";

/** A visitor's call needs a wake-up, a worker and, where that was lost, the cron's minute. */
const stored = { timeout: 30_000 };
/** By keyboard: a mouse that stays on the link would be an event of its own. */
const callUs = (page: Page) => page.getByText("Call us").press("Enter");
const stampOf = (page: Page) => page.evaluate("om.stamp()");

// Guarantee: a lead made without a network is one lead and one unit, however often it was tried. Mutation: let a retry make a new eid
// (two calls), or clear the queue on a failed request (none).
test("a call made offline is in the database once, with its click id, after the network is back", async ({ customer }) => {
  const gclid = `offline-${Date.now()}`;
  const page = await customer.visit(`/?gclid=${gclid}`);
  await expect.poll(async () => (await customer.held()).events, stored).toBe(1);
  await page.context().setOffline(true);
  const failed = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/sync"));
  await callUs(page);
  const stamp = await stampOf(page);
  await failed;
  expect((await customer.held()).billed).toBe(1); // the page view

  await page.context().setOffline(false);
  await expect.poll(() => customer.calls(), stored).toEqual([{ gclid, phone: null, intentStamp: stamp, billedRows: 1 }]);
  // What the next page sends comes after anything that was left to send.
  await page.goto(`${customer.url}/thanks`);
  await expect.poll(async () => (await customer.held()).events, stored).toBe(3);
  expect(await customer.held()).toEqual({ billed: 3, captured: 3, sessions: 1, events: 3, calls: 1 });
});

// Guarantee: a visitor who says no is nowhere, neither in a table nor on a bill; one who then says yes is counted from there on.
// Mutation: let the gate take events without analytics consent, and the tracker send them.
test("refused consent leaves no row anywhere; granted, the next call is stored", async ({ customer, stack }) => {
  await customer.requireConsent();
  const gclid = `consent-${Date.now()}`;
  const page = await customer.visit(`/?gclid=${gclid}`);
  const answers: number[] = [];
  page.on("response", (response) => response.url().endsWith("/api/sync") && answers.push(response.status()));
  await page.evaluate("om.consent([])");
  await callUs(page);
  await page.reload();
  await callUs(page);
  expect(await stampOf(page)).toBeUndefined();
  expect(answers).toEqual([]);

  // A page whose snippet does not say that consent is required sends all the same; the gate knows better.
  const event = { u: customer.url, ec: "conversion", ea: "phone_call", el: "+902165550101", meta: { fp: "refused", gclid } };
  for (const scopes of [undefined, [], ["marketing"]]) {
    const status = await page.evaluate(
      ([url, body]) => fetch(String(url), { method: "POST", body: String(body) }).then((response) => response.status),
      [`${stack.baseUrl}/api/sync`, JSON.stringify({ s: customer.siteId, events: [{ ...event, consent_scopes: scopes }] })],
    );
    expect(status).toBe(204);
  }
  expect(await customer.held()).toEqual({ billed: 0, captured: 0, sessions: 0, events: 0, calls: 0 });
  expect(await page.evaluate("Object.keys(localStorage)")).toEqual([]);

  await page.evaluate(`om.consent(["analytics", "marketing"])`);
  await callUs(page);
  const stamp = await stampOf(page);
  await expect.poll(() => customer.calls(), stored).toEqual([{ gclid, phone: null, intentStamp: stamp, billedRows: 1 }]);
  expect(await customer.held()).toEqual({ billed: 2, captured: 2, sessions: 1, events: 2, calls: 1 }); // the page, and the call
});

// Guarantee: a visitor who takes consent back is forgotten by the browser and by us, through every part in between.
// Mutation: let the tracker erase its ids without telling, or let the gate drop the message.
test("consent withdrawn in the browser takes the click out of the call that was stored before", async ({ customer }) => {
  const gclid = `withdrawn-${Date.now()}`;
  const page = await customer.visit(`/?gclid=${gclid}`);
  await callUs(page);
  const stamp = await stampOf(page);
  await expect.poll(() => customer.calls(), stored).toEqual([{ gclid, phone: null, intentStamp: stamp, billedRows: 1 }]);
  await page.evaluate("om.consent([])");
  await expect.poll(() => customer.calls(), stored).toEqual([{ gclid: null, phone: null, intentStamp: stamp, billedRows: 1 }]);
  await expect.poll(() => page.evaluate("Object.keys(localStorage)")).toEqual([]);
});

// Guarantee: a customer's own code that sends application/json is heard; browsers ask first. Mutation: take OPTIONS away.
test("a page may send application/json, with the browser's question before it", async ({ customer, stack }) => {
  const page = await customer.visit("/");
  const send = ([url, body]: string[]) =>
    fetch(String(url), { method: "POST", headers: { "content-type": "application/json" }, body: String(body) }).then((answer) =>
      answer.json(),
    );
  const event = { s: customer.siteId, u: `${customer.url}/own-code`, ea: "own_code", meta: { fp: "own-code" } };
  expect(await page.evaluate(send, [`${stack.baseUrl}/api/sync`, JSON.stringify(event)])).toMatchObject({ ok: true, status: "queued" });
});

// Guarantee: one page that sends too much does not lose the next one's events on the same connection. Mutation: answer 413 without
// `connection: close`: the rest of the body then stands where the next request should begin.
test("after a body that is too large the connection is closed in good order, and the next request is answered", async ({ stack }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const status = (method: string, path: string, body = "") =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(new URL(path, stack.baseUrl), { agent, method, headers: { "content-length": body.length } }, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode));
      });
      sent.on("error", reject).end(body);
    });
  for (let round = 0; round < 5; round++) {
    expect(await status("POST", "/api/sync", "x".repeat(1024 * 1024))).toBe(413);
    expect(await status("GET", "/api/health")).toBe(200);
  }
  agent.destroy();
});
