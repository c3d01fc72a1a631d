import { createHash, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { POST as confirmRoute } from "#app/api/sales/confirm/route.ts";
import { POST as recordRoute } from "#app/api/sales/route.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { callersOfNumber } from "#tests/fixtures/callers.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
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

describe("the match", () => {
  const withCaller = (phone: string, step = {}) => newLead(db.sql, team, { at: minutesAgo(30), phone, ...step });

  test("is by click first, and delivers with that call's click", async () => {
    const gclid = `click-${randomUUID()}`;
    const call = await newLead(db.sql, team, { at: minutesAgo(30), gclid });
    const { body } = await record({ gclid });
    expect(body).toMatchObject({ matched_by: "click", call_id: call, delivery_block: null });
    expect((await confirm(body.sale_id)).body).toMatchObject({ status: "CONFIRMED" });
    const [row] = await db.sql`select c.status, q.status as queue, q.value_cents::int as cents from public.calls c
      join public.offline_conversion_queue q on q.call_id = c.id where c.id = ${call}`;
    expect({ ...row }).toEqual({ status: "sealed", queue: "QUEUED", cents: 425_000 });
  });

  test.each([
    ["+90 532 123 45 67", "0532 123 45 67"],
    ["905321234568", "+905321234568"],
    ["5321234569", "0090 532 123 45 69"],
    ["0 (532) 123-4570", "+90 (0) 532 123 45 70"],
  ])("is by the caller's number, however each side writes it: %s and %s", async (reported, sent) => {
    const call = await withCaller(reported);
    expect((await record({ customer_phone: sent })).body).toMatchObject({ matched_by: "phone", call_id: call });
  });

  test("is by the number's hash too", async () => {
    const call = await withCaller("+905321230000");
    const hash = createHash("sha256").update("+905321230000").digest("hex");
    expect((await record({ customer_hash: hash.toUpperCase() })).body).toMatchObject({ matched_by: "phone", call_id: call });
  });

  test("takes the newest call before the sale that has no sale yet, and no junk", async () => {
    const phone = "+905327770000";
    const oldest = await withCaller(phone, { at: minutesAgo(300) });
    const taken = await withCaller(phone, { at: minutesAgo(200) });
    const junk = await withCaller(phone, { at: minutesAgo(100) });
    await withCaller(phone, { at: minutesAgo(0) }); // after the sale
    await change(db.sql, { team }, "seal_call", { id: taken, amountCents: 100 });
    await change(db.sql, { team }, "change_call", { id: junk, to: "junk" });
    expect((await record({ customer_phone: phone })).body.call_id).toBe(oldest);
    expect((await record({ customer_phone: phone })).body.call_id).toBeNull();
  });

  // Guarantee: a sale is one customer's: two drafts never wait for the same call. Mutation: without "for update" both take it.
  test("two sales at the same moment take two calls, or one of them none", async () => {
    const phone = "+905326660000";
    const call = await withCaller(phone);
    const sent = (ref: string) => ({
      externalRef: ref,
      occurredAt: minutesAgo(1).toISOString(),
      amountCents: 100,
      customerPhone: phone,
      callers: callersOfNumber(phone),
    });
    const run = (tx: Pick<TestDatabase, "sql">["sql"], ref: string) =>
      tx`select public.record_external_sale(${key.id}, ${tx.json(sent(ref))}, ${"0".repeat(64)}) ->> 'body' as body`;
    let first: string | undefined;
    const [second] = await whileOpen(
      db.sql,
      async (tx) => {
        first = (await run(tx as unknown as TestDatabase["sql"], randomUUID()))[0]?.body;
      },
      () => run(db.sql, randomUUID()),
    );
    expect([JSON.parse(String(first)).call_id, JSON.parse(second?.body).call_id]).toEqual([call, null]);
  });

  test("does not reach another site's calls", async () => {
    const gclid = `click-${randomUUID()}`;
    await newLead(db.sql, other, { at: minutesAgo(30), gclid });
    expect((await record({ gclid })).body).toMatchObject({ call_id: null, delivery_block: "NO_CONSENT" });
  });
});

describe("a sale without a call", () => {
  test("is delivered with its own click where the customer agreed", async () => {
    const { body } = await record({ gclid: "own-click", marketing_consent: true });
    expect(body).toMatchObject({ call_id: null, delivery_block: null });
    await confirm(body.sale_id);
    expect((await rowsOf(body.sale_id)).map((row) => ({ ...row }))).toEqual([{ kind: "CONVERSION", status: "QUEUED", cents: 425_000 }]);
  });

  test.each([{}, { marketing_consent: false }])("keeps no click id without consent, and says why it stays here: %j", async (more) => {
    const { body } = await record({ gclid: "own-click", ...more });
    expect(body.delivery_block).toBe("NO_CONSENT");
    expect((await confirm(body.sale_id)).body).toMatchObject({ status: "CONFIRMED", delivery_block: "NO_CONSENT" });
    expect(await rowsOf(body.sale_id)).toHaveLength(0);
    const [row] = await db.sql`select gclid from public.sales where id = ${String(body.sale_id)}`;
    expect(row?.gclid).toBeNull();
  });
});

describe("the hash of an e-mail address", () => {
  const hash = createHash("sha256").update("ayse@example.com").digest("hex");
  const kept = async (saleId: unknown) => (await db.sql`select email_hash from public.sales where id = ${String(saleId)}`)[0]?.email_hash;

  // Guarantee: what is for Google alone is kept where the customer agreed, and nowhere else.
  test("is kept with consent, in one spelling", async () => {
    const { body } = await record({ gclid: "mail-click", marketing_consent: true, customer_email_hash: hash.toUpperCase() });
    expect(await kept(body.sale_id)).toBe(hash);
  });

  test.each([{}, { marketing_consent: false }])("is not kept without: %j", async (more) => {
    const { body } = await record({ gclid: "mail-click", customer_email_hash: hash, ...more });
    expect(await kept(body.sale_id)).toBeNull();
  });

  test("is not kept when the visitor of the call took consent back since", async () => {
    const visitor = randomUUID();
    const gclid = `gclid-${visitor}`;
    await newLead(db.sql, team, { at: minutesAgo(30), visitor, gclid });
    await db.sql`select public.record_consent(${team.siteUuid}, ${db.sql.json({ visitor, scopes: [], ageMs: 0 })})`;
    const { body } = await record({ gclid, marketing_consent: true, customer_email_hash: hash, occurred_at: minutesAgo(5).toISOString() });
    expect(await kept(body.sale_id)).toBeNull();
  });

  test("is refused when it is none, and is part of what a reference means", async () => {
    expect(await record({ customer_email_hash: "ayse@example.com" })).toMatchObject({ status: 400, body: { code: "VALIDATION_FAILED" } });
    const sent = sale({ customer_email_hash: hash });
    const first = await post(recordRoute, sent);
    expect(await post(recordRoute, sent)).toEqual(first);
    expect(await post(recordRoute, { ...sent, customer_email_hash: "0".repeat(64) })).toMatchObject({ status: 409 });
  });
});
