import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { GET as exportRoute } from "#app/api/oci/google-ads-export/route.ts";
import { POST as testAnswerRoute } from "#app/api/oci/test-answer/route.ts";
import { POST as salesRoute } from "#app/api/sales/route.ts";
import { POST as transitionRoute } from "#app/v1/contract/transition/route.ts";
import { keepPageView, viewsOfVisitor } from "#lib/oci/handout/page-views.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { readRow, type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { send } from "#tests/support/requests.ts";

/** Whoever has a site's script key, and nothing else, can fetch and answer what this site sends. Nothing more. */

let app: OciApp;
let site: OciSite;
let neighbour: OciSite;
let token: string;
let row: Sealed;
let theirs: Sealed;
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  [site, neighbour] = [await app.newSite(), await app.newSite()];
  [row, theirs] = [await sealLead(app.db.sql, site, { at: hoursAgo(3) }), await sealLead(app.db.sql, neighbour, { at: hoursAgo(3) })];
  token = await app.session(site);
});
const statusOf = async ({ id }: Sealed) => (await readRow(app.db.sql, id)).status;

describe("with a session of its own", () => {
  test("reports a conversion as delivered that it never fetched: it waits as before", async () => {
    await app.ack(site, token, [`seal_${row.id}`]);
    expect(await statusOf(row)).toBe("QUEUED");
  });

  test("reports a conversion as failed that it never fetched: it waits as before", async () => {
    await app.ackFailed(site, token, { queueIds: [`seal_${row.id}`], errorCode: "INVALID_GCLID" });
    expect(await statusOf(row)).toBe("QUEUED");
  });

  test.each(["ack", "ackFailed"] as const)("answers for another site's conversion by %s: nothing changes there", async (how) => {
    const other = await app.session(neighbour);
    expect(await (await app.exportRows(neighbour, other)).json()).toHaveLength(1);
    const queueIds = [`seal_${theirs.id}`];
    await (how === "ack" ? app.ack(site, token, queueIds) : app.ackFailed(site, token, { queueIds, errorCode: "X" }));
    expect(await statusOf(theirs)).toBe("PROCESSING");
  });

  test.each(["ack", "ackFailed"] as const)("names the other site in the body of %s: refused", async (how) => {
    const queueIds = [`seal_${theirs.id}`];
    const response = await (how === "ack"
      ? app.ack(neighbour, token, queueIds)
      : app.ackFailed(neighbour, token, { queueIds, errorCode: "X" }));
    expect(response.status).toBe(403);
  });

  test("turns a delivered conversion into a failed one: it stays delivered", async () => {
    await app.exportRows(site, token);
    await app.ack(site, token, [`seal_${row.id}`]);
    expect(await statusOf(row)).toBe("COMPLETED");
    await app.ackFailed(site, token, { queueIds: [`seal_${row.id}`], errorCode: "INVALID_GCLID" });
    expect(await statusOf(row)).toBe("COMPLETED");
  });

  test("acknowledges another site's page view: it still waits there", async () => {
    const visitor = randomUUID();
    const view = { gclid: "g", wbraid: "", gbraid: "", visitor, viewedAt: hoursAgo(2).toISOString() };
    const id = await keepPageView(neighbour.siteId, view);
    await app.ack(site, token, [String(id)]);
    expect(await viewsOfVisitor(neighbour.siteId, visitor)).toHaveLength(1);
  });

  test.each<[string, Record<string, unknown>]>([
    ["a message of a megabyte's half", { errorMessage: "x".repeat(60_000) }],
    ["half a character", { errorMessage: "\ud800" }],
    ["a sign that Postgres does not store", { errorMessage: "a\0b" }],
    // Mutation: take any text for a code in code_of_script.
    ["a code with a line break", { errorCode: "A\nB" }],
    ["a reserved code with a sign that nobody sees", { errorCode: "CLICK_EXPIRED\u200b" }],
    ["a code that turns the line around", { errorCode: "A\u202eB" }],
    ["a code of a thousand letters", { errorCode: "A".repeat(1000) }],
    ["a code that is a list", { errorCode: ["A"] }],
  ])("reports %s: refused, or stored within bounds", async (_what, more) => {
    await app.exportRows(site, token);
    const response = await app.ackFailed(site, token, { queueIds: [`seal_${row.id}`], errorCode: "X", ...more });
    expect([200, 400, 413]).toContain(response.status);
    const [stored] = await app.db
      .sql`select provider_error_code as code, last_error as text from public.offline_conversion_queue where id = ${row.id}`;
    expect(String(stored?.code ?? "")).toMatch(/^[\w.-]{0,64}$/);
    expect(String(stored?.text ?? "").length).toBeLessThanOrEqual(1000);
  });

  test.each<[string, unknown]>([
    ["ten thousand ids", Array.from({ length: 10_000 }, () => `seal_${randomUUID()}`)],
    ["an id that is SQL", ["seal_' or true --"]],
    ["an id that is none", [{}]],
    ["a test's id", [`test_${randomUUID()}`]],
    ["a key of Redis", ["pv_../pv:queue:x", "pv_*"]],
  ])("acknowledges %s: no 500, and nothing moves", async (_what, queueIds) => {
    await app.exportRows(site, token);
    expect((await app.ack(site, token, queueIds as string[])).status).toBeLessThan(500);
    expect(await statusOf(row)).toBe("PROCESSING");
  });

  test("answers a test that nobody made: no step of setup is ticked", async () => {
    await recordVisit(app.db.sql, site.siteUuid, "visitor", [
      { at: new Date(), url: "https://shop.test/", gclid: "g", marketingConsent: true },
    ]);
    const body = { siteId: site.siteId, orderId: `test_${randomUUID()}`, problem: null, field: null, hasAction: true };
    await send(testAnswerRoute, { path: "/api/oci/test-answer", body, headers: { authorization: `Bearer ${token}` } });
    const setup = await callAs<{ steps: { step: string; at: string | null }[] }>(
      app.db.sql,
      site.owner,
      (tx) => tx`select public.site_setup(${site.siteId})`,
    );
    const ticked = setup.steps.filter(({ at }) => at !== null).map(({ step }) => step);
    expect([ticked.includes("test"), ticked.includes("actions")]).toEqual([false, false]);
  });

  test.each([
    ["another site's id beside its own", (own: string, other: string) => `siteId=${own}&siteId=${other}`],
    ["another site's id alone", (_own: string, other: string) => `siteId=${other}`],
    ["no site", () => ""],
    ["the database's own id", () => `siteId=${site.siteUuid}`],
  ])("fetches with %s: never another site's rows", async (_what, query) => {
    const path = `/api/oci/google-ads-export?${query(site.siteId, neighbour.siteId)}&markAsExported=true`;
    const response = await send(exportRoute, { method: "GET", path, headers: { authorization: `Bearer ${token}` } });
    expect(await response.text()).not.toContain(theirs.id);
    expect(await statusOf(theirs)).toBe("QUEUED");
  });
});

describe("without a session", () => {
  test.each<[string, (token: string) => Record<string, string>]>([
    ["the token in lower case", (given) => ({ authorization: `Bearer ${given.toLowerCase()}` })],
    ["the token with a sign changed", (given) => ({ authorization: `Bearer ${given.slice(0, -2)}${given.endsWith("A") ? "BB" : "AA"}` })],
    ["the token cut short", (given) => ({ authorization: `Bearer ${given.slice(0, -8)}` })],
    ["the token twice", (given) => ({ authorization: `Bearer ${given} ${given}` })],
    ["the token in a cookie", (given) => ({ cookie: `session_token=${given}; om_session=${given}` })],
    ["the key as a token", () => ({ authorization: `Bearer ${site.key}` })],
    ["the key alone", () => ({ "x-api-key": site.key })],
    ["nothing", () => ({})],
  ])("fetches with %s: 401, and nothing is claimed", async (_what, headers) => {
    const path = `/api/oci/google-ads-export?siteId=${site.siteId}&markAsExported=true`;
    expect((await send(exportRoute, { method: "GET", path, headers: headers(token) })).status).toBe(401);
    expect(await statusOf(row)).toBe("QUEUED");
  });

  test.each<[string, () => Promise<Response>]>([
    [
      "records a sale",
      () => send(salesRoute, { path: "/api/sales", body: { external_ref: "1", amount: 1 }, headers: { "x-api-key": site.key } }),
    ],
    [
      "cancels a sale",
      () =>
        send(transitionRoute, {
          path: "/v1/contract/transition",
          body: { contract: "sale", id: row.saleId, to: "CANCELED" },
          headers: { "x-api-key": site.key, "idempotency-key": randomUUID() },
        }),
    ],
  ])("%s with the script's key: refused", async (_what, call) => {
    expect((await call()).status).toBe(403);
    expect(await app.db.sql`select from public.sales where site_id = ${site.siteUuid} and status = 'CANCELED'`).toHaveLength(0);
  });
});
