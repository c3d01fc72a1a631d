import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { POST as salesRoute } from "#app/api/sales/route.ts";
import { drainEvents } from "#lib/ingest/drain.ts";
import { callersOfNumber, sha256Of } from "#tests/fixtures/callers.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { type IngestApp, type IngestSite, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { send } from "#tests/support/requests.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import { untilSomebodyWaits } from "#tests/support/while-open.ts";

let app: IngestApp;
let gateway: TestGateway;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  gateway = await startTestGateway(app.db.adminUrl);
});
afterEach(() => {
  vi.resetModules();
  Object.assign(process.env, app.env);
  delete process.env.OPSMANTIK_VAULT_KEY_PREVIOUS;
});
afterAll(async () => {
  await gateway.stop();
  await app.stop();
});

let numbers = 0;
const newNumber = () => `+90532${String(1_000_000 + ++numbers)}`;
const nextKey = Buffer.alloc(32, "the next vault key").toString("base64");
const bothKeys = () => ({ OPSMANTIK_VAULT_KEY: nextKey, OPSMANTIK_VAULT_KEY_PREVIOUS: String(app.env.OPSMANTIK_VAULT_KEY) });

/** A site with a key for sales. */
async function newShop() {
  const site = await app.newSite();
  return { ...site, ...(await createKey(app.db.sql, { ...site, owner: app.owner }, ["sales"])) };
}
type Shop = Awaited<ReturnType<typeof newShop>>;

/** A sale as the till sends it, to an app that was started with these variables; "" takes one away. */
async function sell(shop: Shop, more: Record<string, unknown>, variables?: Record<string, string>) {
  if (variables) vi.resetModules();
  Object.assign(process.env, variables);
  const { POST } = variables ? await import("#app/api/sales/route.ts") : { POST: salesRoute };
  const body = { external_ref: randomUUID(), occurred_at: new Date(Date.now() + 1000).toISOString(), amount: 100, ...more };
  const answer = await send(POST, { path: "/api/sales", body, headers: { "x-api-key": shop.key } });
  return { status: answer.status, body: await answer.json() };
}

/** A call with a click, whose number a telephone system reports. */
async function callFrom(shop: IngestSite, phone: string, order: "tracker first" | "telephone first" | "number late" = "telephone first") {
  const stamp = randomUUID();
  const tracker = () => app.sync(shop, phoneCall(shop, { meta: { fp: stamp, gclid: `click-${stamp}`, intent_stamp: stamp } }));
  const system = () => app.call(shop, { intent_stamp: stamp, phone_number: phone });
  for (const report of order === "telephone first" ? [system, tracker] : [tracker, system]) {
    await report();
    if (order === "tracker first") await drainEvents();
  }
  if (order === "number late") await app.call(shop, { intent_stamp: stamp, phone_number: phone });
  await drainEvents();
  const [row] = await app.db
    .sql`select id, caller_hash as hash from public.calls where site_id = ${shop.siteUuid} and intent_stamp = ${stamp}`;
  return { id: String(row?.id), hash: row?.hash as string | null };
}

const runCommand = (script: string, variables: Record<string, string>) => {
  const child = spawn(process.execPath, [script], { env: { NODE_ENV: "test", ...variables } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  return { child, ended: once(child, "close").then(([code]) => ({ code: code as number | null, output })) };
};
const sealSecrets = () =>
  runCommand("scripts/secrets-seal.ts", { DATABASE_URL: app.db.adminUrl, OPSMANTIK_VAULT_KEY: String(app.env.OPSMANTIK_VAULT_KEY) });

describe("a dump", () => {
  // Guarantee: whoever has the calls cannot find out who called by hashing every number of the country. Mutation: store SHA-256 of the number.
  test("of calls and held reports holds no hash that can be made from the number alone", async () => {
    const shop = await newShop();
    const phone = newNumber();
    expect((await callFrom(shop, phone)).hash).toBe(callersOfNumber(phone)[0]?.hash);
    await app.call(shop, { intent_stamp: "held", phone_number: phone });
    await app.call(shop, { intent_stamp: "held", phone_number: phone }); // the call is not stored yet
    const rows = await app.db.sql`
      select to_jsonb(c)::text as text from public.calls c where site_id = ${shop.siteUuid}
      union all select to_jsonb(h)::text from private.held_reports h where site_id = ${shop.siteUuid}`;
    expect(rows.length).toBeGreaterThan(1);
    for (const { text } of rows) expect(text).not.toContain(sha256Of(phone));
    await drainEvents();
  });

  // Guarantee: nor by hashing every number together with the rest of a sale's line, which the dump shows.
  test("of sales holds no hash that depends on the number and on nothing secret", async () => {
    const shop = await newShop();
    const at = new Date().toISOString();
    for (const customer_phone of [newNumber(), newNumber()]) await sell(shop, { customer_phone, occurred_at: at });
    const rows = await app.db.sql`select customer_hash, external_hash, caller_hash from public.sales where site_id = ${shop.siteUuid}`;
    expect(new Set(rows.map((row) => row.external_hash)).size).toBe(1);
    expect(new Set(rows.map((row) => row.caller_hash)).size).toBe(2);
    expect(rows.map((row) => row.customer_hash)).toEqual([null, null]); // without a click it is never sent
  });
});

describe("a sale finds its call", () => {
  test.each([
    ["phone", "tracker first"],
    ["phone", "telephone first"],
    ["phone", "number late"],
    ["hash", "tracker first"],
    ["hash", "telephone first"],
    ["hash", "number late"],
  ] as const)("by %s, %s", async (by, order) => {
    const shop = await newShop();
    const phone = newNumber();
    const call = await callFrom(shop, phone, order);
    const customer = by === "phone" ? { customer_phone: `0${phone.slice(3)}` } : { customer_hash: sha256Of(phone).toUpperCase() };
    expect((await sell(shop, customer)).body).toMatchObject({ matched_by: "phone", call_id: call.id });
  });

  test("over the Supabase API as over the driver", async () => {
    const shop = await newShop();
    const phone = newNumber();
    const call = await callFrom(shop, phone);
    const doors = { DATABASE_URL: "", SUPABASE_URL: gateway.url, SUPABASE_SECRET_KEY: gateway.secretKey };
    expect((await sell(shop, { customer_phone: phone }, doors)).body).toMatchObject({ matched_by: "phone", call_id: call.id });
  });

  test("not by somebody else's number, and not on another site", async () => {
    const [shop, other] = [await newShop(), await newShop()];
    const phone = newNumber();
    await callFrom(shop, phone);
    expect((await sell(shop, { customer_phone: newNumber() })).body.call_id).toBeNull();
    expect((await sell(other, { customer_phone: phone })).body.call_id).toBeNull();
  });

  // Guarantee: a server without a vault key takes the sale all the same; nothing bare is stored instead.
  test("by its click alone where the server has no vault key", async () => {
    const shop = await newShop();
    const phone = newNumber();
    await callFrom(shop, phone);
    expect(await sell(shop, { customer_phone: phone }, { OPSMANTIK_VAULT_KEY: "" })).toMatchObject({
      status: 200,
      body: { call_id: null },
    });
  });
});

test("a reference that comes with another number is a conflict; with the same one it is the same sale, also under a new key", async () => {
  const shop = await newShop();
  const [phone, sent] = [newNumber(), { external_ref: "order-1", occurred_at: new Date().toISOString() }];
  const first = await sell(shop, { ...sent, customer_phone: phone });
  expect(await sell(shop, { ...sent, customer_hash: sha256Of(phone) })).toEqual(first);
  expect(await sell(shop, { ...sent, customer_phone: phone }, bothKeys())).toEqual(first);
  for (const other of [{ customer_phone: newNumber() }, {}]) {
    const refused = await sell(shop, { ...sent, ...other });
    expect([refused.status, refused.body.code]).toEqual([409, "EXTERNAL_REF_CONFLICT"]);
  }
});

describe("while the vault key changes", () => {
  // Guarantee: no sale loses its call over a new key. Mutation: match under the current key only.
  test("calls under the old key are found, and after npm run vault:rotate under the new one alone", async () => {
    const shop = await newShop();
    const [before, after, lost] = [newNumber(), newNumber(), newNumber()];
    const calls = { before: await callFrom(shop, before), after: await callFrom(shop, after), lost: await callFrom(shop, lost) };
    await app.db.sql`update public.calls set phone = null where id = ${calls.lost.id}`; // as retention does
    expect((await sell(shop, { customer_phone: before }, bothKeys())).body.call_id).toBe(calls.before.id);
    const rotated = await runCommand("scripts/vault-rotate.ts", { DATABASE_URL: app.db.appUrl, ...bothKeys() }).ended;
    expect([rotated.code, rotated.output]).toEqual([0, expect.stringContaining("nothing is left under the previous key")]);
    expect((await app.db.sql`select caller_hash as hash from public.calls where id = ${calls.lost.id}`)[0]?.hash).toBeNull();
    const onlyNew = { OPSMANTIK_VAULT_KEY: nextKey, OPSMANTIK_VAULT_KEY_PREVIOUS: "" };
    expect((await sell(shop, { customer_hash: sha256Of(after) }, onlyNew)).body.call_id).toBe(calls.after.id);
    const left = await app.db.sql`select distinct caller_key_id as id from public.calls where caller_hash is not null`;
    expect(left).toHaveLength(1);
    const back = { OPSMANTIK_VAULT_KEY: String(app.env.OPSMANTIK_VAULT_KEY), OPSMANTIK_VAULT_KEY_PREVIOUS: nextKey };
    expect((await runCommand("scripts/vault-rotate.ts", { DATABASE_URL: app.db.appUrl, ...back }).ended).code).toBe(0);
  });
});

describe("npm run secrets:seal", () => {
  /** As an older version stored it. */
  async function bareCall(shop: Shop) {
    const phone = newNumber();
    const { id } = await callFrom(shop, phone);
    await app.db.sql`update public.calls set caller_hash = ${sha256Of(phone)}, caller_key_id = null where id = ${id}`;
    return { id, phone };
  }
  const bare = async () =>
    (await app.db.sql`select from public.calls where caller_hash is not null and caller_key_id is null`).length +
    (await app.db.sql`select from public.sales where customer_hash is not null and caller_key_id is null`).length;

  // Guarantee: no bare hash is left of what an older version stored, and sales find those calls before, during and after.
  test("hashes what is bare, in calls and sales, once", async () => {
    const shop = await newShop();
    const [first, second] = [await bareCall(shop), await bareCall(shop)];
    const sold = await sell(shop, { customer_phone: first.phone });
    expect(sold.body.call_id).toBe(first.id); // before
    await app.db.sql`
      update public.sales set customer_hash = ${sha256Of(first.phone)}, caller_hash = null, caller_key_id = null where id = ${sold.body.sale_id}`;
    expect(await bare()).toBeGreaterThanOrEqual(3);
    expect(await sealSecrets().ended).toMatchObject({ code: 0, output: expect.stringContaining("none is left bare") });
    expect(await bare()).toBe(0);
    expect((await sell(shop, { customer_phone: second.phone })).body.call_id).toBe(second.id);
    const [row] = await app.db.sql`select caller_hash, external_hash from public.sales where id = ${sold.body.sale_id}`;
    expect({ ...row }).toEqual({ caller_hash: callersOfNumber(first.phone)[0]?.hash, external_hash: null });
    expect(await sealSecrets().ended).toMatchObject({ code: 0, output: expect.stringContaining("0 callers' numbers") });
  });

  // Postgres may still finish the statement of a client that is gone, so the call is bare or done: it is found either way.
  test("killed on its way it leaves every call findable, and a second run finishes", async () => {
    const shop = await newShop();
    const { id, phone } = await bareCall(shop);
    await app.db.sql.begin(async (tx) => {
      await tx`select from public.calls where id = ${id} for update`;
      const { child, ended } = sealSecrets();
      await untilSomebodyWaits(app.db.sql);
      child.kill("SIGKILL");
      await ended;
    });
    expect((await sell(shop, { customer_phone: phone })).body.call_id).toBe(id);
    expect((await sealSecrets().ended).code).toBe(0);
    expect(await bare()).toBe(0);
  });

  // Guarantee: a number that is reported while the command runs is not overwritten by the older one. Mutation: rekey without "from".
  test("leaves alone what changed since it was read", async () => {
    const shop = await newShop();
    const { id, phone } = await bareCall(shop);
    const stale = [{ kind: "call", id, from: sha256Of(newNumber()), hash: "0".repeat(64), keyId: "none" }];
    await app.db.sql`select public.rekey_caller_hashes(${app.db.sql.json(stale)})`;
    const [row] = await app.db.sql`select caller_hash as hash from public.calls where id = ${id}`;
    expect(row?.hash).toBe(sha256Of(phone));
    await sealSecrets().ended;
  });
});
