import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { POST as confirmRoute } from "#app/api/sales/confirm/route.ts";
import { POST as recordRoute } from "#app/api/sales/route.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
let other: Team;
let dinars: Team;
let key: { id: string; key: string };
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const newKey = (site: Team) => createKey(db.sql, site, ["sales"]);
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
  team = await createTeam(db.sql, "till");
  other = await createTeam(db.sql, "other", team.owner);
  dinars = await createTeam(db.sql, "dinars", team.owner);
  await callAs(
    db.sql,
    team.owner,
    (tx) => tx`select public.update_site(${dinars.siteId}, 'dinars', ${["d.test"]}, 'KWD', 'Asia/Kuwait', 'en', 2500)`,
  );
  key = await newKey(team);
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});
afterEach(() => void vi.useRealTimers());

interface Answer {
  status: number;
  body: Record<string, unknown>;
  replayed: boolean;
}
async function post(route: typeof recordRoute, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await send(route, { path: "/api/sales", body, headers: { "x-api-key": key.key, ...headers } });
  return { status: response.status, body: await response.json(), replayed: response.headers.get("idempotent-replayed") === "true" };
}
const sale = (more: Record<string, unknown> = {}) => ({
  external_ref: `order-${randomUUID()}`,
  occurred_at: minutesAgo(1).toISOString(),
  amount: 4250,
  ...more,
});
const record = (more: Record<string, unknown> = {}, headers = {}) => post(recordRoute, sale(more), headers);
const confirm = (saleId: unknown, more = {}) => post(confirmRoute, { sale_id: saleId, ...more });
const rowsOf = (saleId: unknown) =>
  db.sql`select kind, status, value_cents::int as cents from public.offline_conversion_queue where sale_id = ${String(saleId)}`;

describe("a sale from elsewhere", () => {
  test("is a draft: in no ledger and on no queue until somebody confirms it", async () => {
    const { status, body } = await record({ amount: "4250.50", notes: "Boiler" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: "DRAFT",
      amount_cents: 425_050,
      currency: "TRY",
      matched_by: null,
      call_id: null,
      delivery_block: "NO_MATCH",
    });
    const [row] =
      await db.sql`select (select count(*)::int from public.revenue_snapshots where sale_id = s.id) as lines, s.note, s.value_source as source
      from public.sales s where s.id = ${String(body.sale_id)}`;
    expect({ ...row }).toEqual({ lines: 0, note: "Boiler", source: "EXTERNAL" });
    expect(await rowsOf(body.sale_id)).toHaveLength(0);
    // The queue's own trigger, past every function.
    await expect(
      db.sql`insert into public.offline_conversion_queue (site_id, sale_id, order_id, snapshot_id, value_cents, currency, conversion_time, click_expires_at,
        not_before, created_at, updated_at) values (${team.siteUuid}, ${String(body.sale_id)}, 'om_by_hand', gen_random_uuid(), 1, 'TRY', now(), now(), now(), now(), now())`,
    ).rejects.toMatchObject({ message: "SALE_NOT_SEALED" });
  });

  // Guarantee: a system that sends everything again every night records nothing twice, and notices when it changed something.
  test("sent again with the same values is the same sale, with others a conflict", async () => {
    const sent = sale({ customer_phone: "0532 111 22 33" });
    const first = await post(recordRoute, sent);
    expect(await post(recordRoute, sent)).toEqual(first);
    expect((await post(recordRoute, { ...sent, amount: undefined, amount_cents: 425_000 })).body).toEqual(first.body);
    const changed = await post(recordRoute, { ...sent, amount: 4251 });
    expect(changed).toMatchObject({ status: 409, body: { code: "EXTERNAL_REF_CONFLICT", saleId: first.body.sale_id } });
  });

  test("two at the same moment with one reference are one sale", async () => {
    const sent = { externalRef: `order-${randomUUID()}`, occurredAt: minutesAgo(1).toISOString(), amountCents: 425_000 };
    const call = (tx: Pick<TestDatabase, "sql">["sql"]) =>
      tx`select public.record_external_sale(${key.id}, ${tx.json(sent)}, ${"0".repeat(64)}) ->> 'body' as body`;
    let first: string | undefined;
    const [second] = await whileOpen(
      db.sql,
      async (tx) => {
        first = (await call(tx as unknown as TestDatabase["sql"]))[0]?.body;
      },
      () => call(db.sql),
    );
    expect(second?.body).toBe(first);
  });

  test("with an Idempotency-Key is answered with the same bytes", async () => {
    const sent = sale();
    const headers = { "idempotency-key": randomUUID() };
    const first = await post(recordRoute, sent, headers);
    expect(await post(recordRoute, sent, headers)).toEqual({ ...first, replayed: true });
    expect(await post(recordRoute, { ...sent, amount: 1 }, headers)).toMatchObject({
      status: 422,
      body: { code: "IDEMPOTENCY_KEY_REUSED" },
    });
  });

  test.each([
    ["no reference", { external_ref: "" }, 400, "VALIDATION_FAILED"],
    ["no time", { occurred_at: "yesterday" }, 400, "VALIDATION_FAILED"],
    ["a time without a zone", { occurred_at: "2026-11-16T10:00:00" }, 400, "VALIDATION_FAILED"],
    ["91 days ago", { occurred_at: minutesAgo(91 * 1440).toISOString() }, 400, "VALIDATION_FAILED"],
    ["in two hours", { occurred_at: minutesAgo(-120).toISOString() }, 400, "VALIDATION_FAILED"],
    ["both amounts", { amount_cents: 1 }, 400, "VALIDATION_FAILED"],
    ["nothing", { amount: 0 }, 400, "INVALID_AMOUNT"],
    ["less than nothing", { amount: -1 }, 400, "INVALID_AMOUNT"],
    ["a tenth of a cent", { amount: "1.001" }, 400, "INVALID_AMOUNT"],
    ["half a yen", { amount: 1.5, currency: "JPY" }, 400, "INVALID_AMOUNT"],
    ["a thousandth of a dinar", { amount: "12.505", currency: "KWD" }, 400, "INVALID_AMOUNT"],
    ["the same as a number", { amount: 12.505, currency: "KWD" }, 400, "INVALID_AMOUNT"],
    ["a decimal comma", { amount: "12,50" }, 400, "VALIDATION_FAILED"],
    ["a currency that does not exist", { currency: "ZZZ" }, 400, "INVALID_CURRENCY"],
    ["a currency in small letters", { currency: "try" }, 400, "INVALID_CURRENCY"],
    ["a currency that is no more", { amount: undefined, amount_cents: 100, currency: "HRK" }, 400, "INVALID_CURRENCY"],
    ["a number that is none", { customer_phone: "ask for Ayşe" }, 400, "VALIDATION_FAILED"],
    ["a field of another system", { total: 1 }, 400, "VALIDATION_FAILED"],
    ["another site", { site_id: "0".repeat(32) }, 403, "FORBIDDEN"],
  ])("with %s is refused", async (_name, more, status, code) => {
    expect(await record(more)).toMatchObject({ status, body: { code } });
  });

  // Guarantee: a machine's point is a decimal mark in every currency, named or the site's own: 12.500 dinars are not 12,500.
  test.each([
    ["named", { currency: "KWD" }, () => team],
    ["the site's", {}, () => dinars],
  ])("of 12.500 dinars is 12.50, with the currency %s", async (_name, more, of) => {
    const headers = { "x-api-key": (await newKey(of())).key };
    for (const amount of ["12.500", "12.50", 12.5])
      expect((await record({ ...more, amount }, headers)).body).toMatchObject({ amount_cents: 1250, currency: "KWD" });
    const { body } = await record({ ...more, amount: "12.505" }, headers);
    expect(body).toMatchObject({ code: "INVALID_AMOUNT", detail: expect.stringContaining("keeps hundredths") });
  });

  test("without a key, or with a revoked one, is 401", async () => {
    expect((await record({}, { "x-api-key": "" })).status).toBe(401);
    expect((await record({}, { "x-api-key": "om_live_wrong" })).status).toBe(401);
  });

  test.each([60, -89 * 1440])("at the edge of its time is taken", async (minutes) => {
    expect((await record({ occurred_at: minutesAgo(minutes < 0 ? -minutes : -(minutes - 1)).toISOString() })).status).toBe(200);
  });
});

// Guarantee: whoever guesses keys is stopped by address before the database is asked; others are not.
test.each([
  ["record", recordRoute],
  ["confirm", confirmRoute],
])("%s: over 300 a minute from one address is 429, from another it is not", async (_, route) => {
  const guess = (address: string) => send(route, { path: "/api/sales", body: {}, headers: { "x-forwarded-for": address } });
  const from = randomUUID();
  stopClock();
  const statuses: number[] = [];
  // 40 at once: with all 320 a busy machine keeps Redis's answers longer than the limit waits for them, and it counts here instead.
  while (statuses.length < 320) statuses.push(...(await Promise.all(Array.from({ length: 40 }, async () => (await guess(from)).status))));
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(statuses.filter((status) => status === 401)).toHaveLength(300);
  expect((await guess(randomUUID())).status).toBe(401);
});

describe("confirming", () => {
  test("twice is refused with what is possible", async () => {
    const { body } = await record();
    await confirm(body.sale_id);
    expect(await confirm(body.sale_id)).toMatchObject({
      status: 409,
      body: { code: "ILLEGAL_MOVE", from: "CONFIRMED", allowed: ["CANCELED"] },
    });
  });

  test("an unknown sale and another site's are the same 404", async () => {
    const theirs = await newKey(other);
    const { body } = await record({}, { "x-api-key": theirs.key });
    for (const id of [randomUUID(), body.sale_id]) expect(await confirm(id)).toMatchObject({ status: 404, body: { code: "NOT_FOUND" } });
  });

  // Guarantee: a purchase that was sealed on the desk and is then reported by the till is told to Google once.
  test("of a call that was sealed on the desk needs to be said to be another sale", async () => {
    const gclid = `gclid-${randomUUID()}`;
    const call = await newLead(db.sql, team, { at: minutesAgo(30), gclid });
    await change(db.sql, { team }, "seal_call", { id: call, amountCents: 500_000 });
    const { body } = await record({ gclid, marketing_consent: true });
    expect(await confirm(body.sale_id)).toMatchObject({ status: 409, body: { code: "VISIT_ALREADY_SEALED", callId: call } });
    expect(await rowsOf(body.sale_id)).toEqual([]);
    expect((await confirm(body.sale_id, { separate_sale: true })).body).toMatchObject({ status: "CONFIRMED" });
  });

  // Guarantee: what comes back is worth what it was worth.
  test("that was cancelled as a draft comes back with its own amount", async () => {
    const { body } = await record({ amount: "5000.00" });
    await change(db.sql, { team }, "cancel_sale", { id: body.sale_id });
    await confirm(body.sale_id);
    const [row] =
      await db.sql`select status, amount_cents::int as cents, value_source from public.sales where id = ${String(body.sale_id)}`;
    expect({ ...row }).toEqual({ status: "CONFIRMED", cents: 500_000, value_source: "EXTERNAL" });
  });

  test("a second sale of one visit needs to be said", async () => {
    const visitor = randomUUID();
    const first = await newLead(db.sql, team, { at: minutesAgo(20), visitor });
    await newLead(db.sql, team, { at: minutesAgo(19), visitor, phone: "+905325550000" });
    await change(db.sql, { team }, "seal_call", { id: first, amountCents: 100 });
    const { body } = await record({ customer_phone: "+905325550000" });
    expect(await confirm(body.sale_id)).toMatchObject({ status: 409, body: { code: "VISIT_ALREADY_SEALED" } });
    expect((await confirm(body.sale_id, { separate_sale: true })).body).toMatchObject({ status: "CONFIRMED" });
  });
});
