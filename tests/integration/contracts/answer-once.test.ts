import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as cleanup } from "#app/api/cron/contracts/idempotency-cleanup/route.ts";
import { purgeIdempotencyKeys } from "#lib/contracts/upkeep.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { type ContractsApp, startContractsApp, transition, withKey } from "#tests/support/contracts-app.ts";
import { send } from "#tests/support/requests.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: ContractsApp;
let byKey: Record<string, string>;
beforeAll(async () => {
  app = await startContractsApp();
  byKey = withKey(app.teamKey);
});
afterAll(() => app.stop());

const lead = () => newLead(app.db.sql, app.team);

/** The same function as the route calls, in a transaction of the test's own. */
const ask = (sql: postgres.Sql | postgres.TransactionSql, id: string, key: string, { to = "qualified", hash = "a".repeat(64) } = {}) =>
  sql`select public.transition_contract_for_key(${app.teamKey.id}, ${sql.json({ contract: "call", id, to })}, ${key}, ${hash}) as answer`;

async function effectsOf(id: string) {
  const [row] = await app.db.sql`
    select c.status, c.version, (select count(*)::int from public.transition_proofs p where p.entity_id = c.id) as proofs,
      (select count(*)::int from public.sales s where s.call_id = c.id) as sales,
      (select count(*)::int from public.offline_conversion_queue q where q.call_id = c.id) as queued
    from public.calls c where c.id = ${id}`;
  return { ...row };
}

const keysLike = async (pattern: string): Promise<number> =>
  (await app.db.sql`select count(*)::int as n from public.hos_idempotency_keys where key like ${pattern}`)[0]?.n;

// Guarantee: a storm of retries is one effect, and nobody in it learns anything different.
test("64 calls with one key at once are one effect and 64 identical answers", async () => {
  const id = await lead();
  const move = { contract: "call", id, to: "sealed", idempotency_key: randomUUID() };
  const answers = await Promise.all(Array.from({ length: 64 }, () => transition(byKey, move)));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(200);
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  expect(await effectsOf(id)).toEqual({ status: "sealed", version: 2, proofs: 1, sales: 1, queued: 1 });
});

describe("a twin at the same moment", () => {
  test("waits for the first and gives its bytes", async () => {
    const id = await lead();
    const key = randomUUID();
    let first: unknown;
    const twin = await whileOpen(
      app.db.sql,
      async (tx) => {
        first = (await ask(tx, id, key))[0]?.answer;
      },
      () => ask(app.db.sql, id, key),
    );
    expect(twin[0]?.answer).toEqual({ ...(first as object), replayed: true });
    expect(await effectsOf(id)).toMatchObject({ version: 2, proofs: 1 });
  });

  test("takes over when the first rolls back", async () => {
    const id = await lead();
    const key = randomUUID();
    const twin = await whileOpen(
      app.db.sql,
      (tx) => ask(tx, id, key),
      () => ask(app.db.sql, id, key),
      "rollback",
    );
    expect(twin[0]?.answer).toMatchObject({ status: 200, replayed: false });
    expect(await effectsOf(id)).toMatchObject({ version: 2, proofs: 1 });
  });

  // Guarantee: a caller is told to come again rather than kept waiting, and nothing is kept of that.
  test("gives up after the lock timeout: 409, come again in 5 s, and the key is still the first one's", async () => {
    const id = await lead();
    const key = randomUUID();
    const move = { contract: "call", id, to: "qualified", idempotency_key: key };
    const first = await app.db.sql.begin(async (tx) => {
      const [row] = await ask(tx, id, key);
      const twin = await transition(byKey, move); // waits its 5 s
      expect([twin.status, twin.body.code]).toEqual([409, "REQUEST_IN_FLIGHT"]);
      return row?.answer;
    });
    expect(first).toMatchObject({ status: 200 });
    expect(await effectsOf(id)).toMatchObject({ version: 2, proofs: 1 });
  });
});

// Guarantee: what fails for a reason that passes is not remembered as the answer.
test("a failure that may pass leaves nothing: the same key then succeeds", async () => {
  const id = await lead();
  const move = { contract: "call", id, to: "qualified", idempotency_key: randomUUID() };
  await app.db.sql.begin(async (tx) => {
    await tx`select from public.calls where id = ${id} for update`;
    const blocked = await transition(byKey, move); // the effect waits for the call's row until the lock timeout
    expect([blocked.status, blocked.body.code]).toEqual([503, "DATABASE_UNAVAILABLE"]);
  });
  const later = await transition(byKey, move);
  expect([later.status, later.replayed]).toEqual([200, false]);
  const unknown = { ...move, id: randomUUID(), idempotency_key: randomUUID() };
  expect((await transition(byKey, unknown)).status).toBe(404);
  expect(await keysLike(unknown.idempotency_key)).toBe(0);
});

test("one key is independent in each tenant and each scope", async () => {
  const key = "shared-key";
  const [ours, theirs] = [await lead(), await newLead(app.db.sql, app.other)];
  const answers = [
    await transition(byKey, { contract: "call", id: ours, to: "qualified", idempotency_key: key }),
    await transition(withKey(app.otherKey), { contract: "call", id: theirs, to: "junk", idempotency_key: key }),
  ];
  expect(answers.map(({ status, replayed, body }) => [status, replayed, body.to])).toEqual([
    [200, false, "qualified"],
    [200, false, "junk"],
  ]);
  const desk = await change(app.db.sql, { team: app.team }, "change_call", { id: ours, to: "meeting" }, { key });
  const seal = await change(app.db.sql, { team: app.team }, "seal_call", { id: ours }, { key });
  expect([desk.replayed, desk.status, seal.replayed, seal.status]).toEqual([false, 200, false, 200]);
  const again = [
    await transition(byKey, { contract: "call", id: ours, to: "qualified", idempotency_key: key }),
    await transition(withKey(app.otherKey), { contract: "call", id: theirs, to: "junk", idempotency_key: key }),
  ];
  expect(again.map(({ replayed, text }) => [replayed, text])).toEqual(answers.map(({ text }) => [true, text]));
  const deskAgain = await change(app.db.sql, { team: app.team }, "change_call", { id: ours, to: "meeting" }, { key });
  const sealAgain = await change(app.db.sql, { team: app.team }, "seal_call", { id: ours }, { key });
  expect([deskAgain.body, sealAgain.body]).toEqual([desk.body, seal.body]);
  expect(await keysLike(key)).toBe(4);
});

// Guarantee: a restart of the service forgets nothing.
test("a new process on the same database answers the same bytes", async () => {
  const id = await lead();
  const body = { idempotency_key: randomUUID(), contract: "call", id, to: "sealed", reason: "Satış kapandı" };
  const first = await transition(byKey, body);
  const order = JSON.stringify({ headers: byKey, body: JSON.stringify(body) });
  const child = await promisify(execFile)(process.execPath, ["tests/support/transition-in-child.ts", order], {
    env: { ...process.env, ...app.env },
  });
  const lines = child.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const answer = lines.find((line) => "replayed" in line); // beside it stands the log of the request
  expect(answer).toEqual({ status: first.status, replayed: true, text: first.text });
  expect(await effectsOf(id)).toMatchObject({ proofs: 1, sales: 1 });
});

describe("after its time", () => {
  const at = (days: number) => new Date(Date.now() + days * 86_400_000);
  /** Made by the product, at a time of the test's. */
  const askAt = (when: Date, id: string, key: string) =>
    app.db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${when.toISOString()}, true)`;
      return ask(tx, id, key);
    });

  test("an answer is forgotten, the others stay, and the setting decides the time", async () => {
    await askAt(at(-7.1), await lead(), "ttl-old");
    await askAt(at(-6.9), await lead(), "ttl-young");
    const response = await send(cleanup, { method: "GET", headers: { authorization: `Bearer ${app.env.CRON_SECRET}` } });
    expect([response.status, (await response.json()).purged]).toEqual([200, 1]);
    expect([await keysLike("ttl-old"), await keysLike("ttl-young")]).toEqual([0, 1]);
    const [row] = await app.db.sql`select (expires_at - created_at)::text as ttl from public.hos_idempotency_keys where key = 'ttl-young'`;
    expect(row?.ttl).toBe("7 days");

    const name = new URL(app.db.adminUrl).pathname.slice(1);
    await app.db.sql.unsafe(`alter database ${name} set opsmantik.idempotency_ttl = '14 days'`);
    const fresh = postgres(app.db.adminUrl, { max: 1 });
    await ask(fresh, await lead(), "ttl-longer");
    await fresh.end();
    await app.db.sql.unsafe(`alter database ${name} reset opsmantik.idempotency_ttl`);
    const [longer] = await app.db
      .sql`select (expires_at - created_at)::text as ttl from public.hos_idempotency_keys where key = 'ttl-longer'`;
    expect(longer?.ttl).toBe("14 days");
  });

  test("is cleaned in batches until fewer come back than asked for", async () => {
    for (let index = 0; index < 5; index++) await askAt(at(-30), await lead(), `ttl-batch-${index}`);
    expect(await purgeIdempotencyKeys(2)).toEqual({ purged: 5 });
    expect(await keysLike("ttl-batch-%")).toBe(0);
  });

  // Guarantee: cleaning up never takes the key of a request that is still being answered, however old its clock.
  test("one in flight is never touched", async () => {
    const id = await lead();
    await app.db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${at(-30).toISOString()}, true)`;
      await ask(tx, id, "ttl-in-flight");
      expect(await purgeIdempotencyKeys()).toEqual({ purged: 0 }); // and does not wait for it either
    });
    expect(await keysLike("ttl-in-flight")).toBe(1);
    expect(await effectsOf(id)).toMatchObject({ proofs: 1 });
    expect(await purgeIdempotencyKeys()).toEqual({ purged: 1 });
  });

  test("the cron is for whoever has its secret", async () => {
    expect((await send(cleanup, { method: "GET" })).status).toBe(401);
  });
});

// Guarantee: what an operator sends again is not queued for a sale that is being cancelled at that moment.
test("a conversion waits for its sale, and is refused when the sale was cancelled meanwhile", async () => {
  const id = await lead();
  await transition(byKey, { contract: "call", id, to: "sealed" });
  const [row] = await app.db.sql`select id, sale_id from public.offline_conversion_queue where call_id = ${id}`;
  await transition(byKey, { contract: "conversion", id: row?.id, to: "FAILED" });
  const again = await whileOpen(
    app.db.sql,
    (tx) => ask(tx, id, randomUUID(), { to: "cancelled" }),
    () => transition(byKey, { contract: "conversion", id: row?.id, to: "QUEUED" }),
  );
  expect([again.status, again.body.code]).toEqual([409, "SALE_CANCELLED"]);
});
