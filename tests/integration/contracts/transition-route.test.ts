import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { asPerson, type ContractsApp, startContractsApp, transition, withKey } from "#tests/support/contracts-app.ts";

let app: ContractsApp;
let byKey: Record<string, string>;
const people: Record<"owner" | "operator" | "viewer" | "stranger", Record<string, string>> = {
  owner: {},
  operator: {},
  viewer: {},
  stranger: {},
};
beforeAll(async () => {
  app = await startContractsApp();
  byKey = withKey(app.teamKey);
  for (const role of ["owner", "operator", "viewer"] as const) people[role] = await asPerson(app.gateway, app.team[role]);
  people.stranger = await asPerson(app.gateway, app.other.owner);
});
afterAll(() => app.stop());

const lead = () => newLead(app.db.sql, app.team);
const moveCall = (id: string, to: string, more: Record<string, unknown> = {}) => ({ contract: "call", id, to, ...more });

async function proofsOf(id: string): Promise<number> {
  const [row] = await app.db.sql`select count(*)::int as n from public.transition_proofs where entity_id = ${id}`;
  return row?.n;
}

describe("POST /v1/contract/transition", () => {
  test("moves a call for the site's key and for an operator, and answers five fields", async () => {
    const id = await lead();
    const first = await transition(byKey, moveCall(id, "qualified", { reason: "Fiyat sordu" }));
    expect(first.status).toBe(200);
    expect(first.body).toEqual({ ok: true, from: "intent", to: "qualified", contract_version: "call/1", proof_id: expect.any(String) });
    const second = await transition(people.operator, moveCall(id, "meeting"));
    expect(second.body).toMatchObject({ ok: true, from: "qualified", to: "meeting" });
    const actors = await app.db.sql`select actor_kind, actor_id from public.transition_proofs where entity_id = ${id} order by occurred_at`;
    expect(actors.map((row) => ({ ...row }))).toEqual([
      { actor_kind: "api_key", actor_id: app.teamKey.id },
      { actor_kind: "user", actor_id: app.team.operator.id },
    ]);
  });

  // Guarantee: a caller that sends again because the answer was lost changes nothing and learns what it would have learned.
  test("the same key and body give the same bytes and proof, with the header, and no second effect", async () => {
    const id = await lead();
    const move = moveCall(id, "sealed", { idempotency_key: "pazar:proof:status_change:ç1" });
    const first = await transition(byKey, move);
    const again = await transition(byKey, move);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(await proofsOf(id)).toBe(1);
    const [row] = await app.db
      .sql`select (select count(*)::int from public.sales where call_id = ${id}) as sales, version from public.calls where id = ${id}`;
    expect({ ...row }).toEqual({ sales: 1, version: 2 });
  });

  test("a refusal that cannot change is kept as well; after the state has changed it is still the same bytes", async () => {
    const id = await lead();
    const refused = moveCall(id, "intent", { idempotency_key: randomUUID() });
    const first = await transition(byKey, refused);
    expect([first.status, first.body.code]).toEqual([409, "ILLEGAL_MOVE"]);
    await transition(byKey, moveCall(id, "junk"));
    const again = await transition(byKey, refused);
    expect({ status: again.status, text: again.text, replayed: again.replayed }).toEqual({ status: 409, text: first.text, replayed: true });
  });

  test("the same key with another body is 422 and changes nothing", async () => {
    const id = await lead();
    const key = randomUUID();
    await transition(byKey, moveCall(id, "qualified", { idempotency_key: key }));
    const other = await transition(byKey, moveCall(id, "junk", { idempotency_key: key }));
    expect([other.status, other.body.code]).toEqual([422, "IDEMPOTENCY_KEY_REUSED"]);
    expect(await proofsOf(id)).toBe(1);
  });

  describe("needs a key", () => {
    test.each([
      ["missing", { idempotency_key: undefined }, {}],
      ["empty", { idempotency_key: "" }, {}],
      ["null", { idempotency_key: null }, {}],
      ["null beside a good header", { idempotency_key: null }, { "idempotency-key": "good" }],
      ["a number", { idempotency_key: 7 }, {}],
      ["256 characters", { idempotency_key: "k".repeat(256) }, {}],
      ["with a NUL", { idempotency_key: "a\0b" }, {}],
      ["half a character", { idempotency_key: "\ud800" }, {}],
      ["another one in the header", { idempotency_key: "one" }, { "idempotency-key": "two" }],
      ["an empty header", { idempotency_key: undefined }, { "idempotency-key": '""' }],
    ])("%s is 400", async (_name, body, headers) => {
      const id = await lead();
      const answer = await transition({ ...byKey, ...headers }, moveCall(id, "qualified", body));
      expect([answer.status, answer.body.code]).toEqual([400, "INVALID_IDEMPOTENCY_KEY"]);
      expect(await proofsOf(id)).toBe(0);
    });

    test("of 255 characters, in the body, in the header bare or quoted, or in both", async () => {
      const id = await lead();
      const key = "ş".repeat(255);
      expect((await transition(byKey, moveCall(id, "qualified", { idempotency_key: key }))).status).toBe(200);
      expect((await transition({ ...byKey, "idempotency-key": "bare-1" }, moveCall(id, "meeting"))).status).toBe(200);
      expect((await transition({ ...byKey, "idempotency-key": '"bare-1"' }, moveCall(id, "meeting"))).replayed).toBe(true);
      const both = await transition({ ...byKey, "idempotency-key": "b" }, moveCall(id, "qualified", { idempotency_key: "b" }));
      expect(both.status).toBe(200);
    });

    test("also at the database itself", async () => {
      const id = await lead();
      for (const key of [null, "", "k".repeat(256)])
        await expect(
          callAs(
            app.db.sql,
            app.team.operator,
            (tx) => tx`
            select public.transition_contract(${tx.json({ contract: "call", id, to: "junk" })}, ${key}, ${"0".repeat(64)})`,
          ),
        ).rejects.toMatchObject({ code: "PT400", message: "INVALID_IDEMPOTENCY_KEY" });
    });
  });

  // Guarantee: an operator cannot take back an old move, or seal for another amount, by adding fields that only the desk sends.
  test("fields that only an undo or the desk may send have no effect at the database, and are refused by the route", async () => {
    const id = await lead();
    await transition(byKey, moveCall(id, "qualified"));
    await expect(
      callAs(
        app.db.sql,
        app.team.operator,
        (tx) => tx`
        select public.transition_contract(${tx.json({ contract: "call", id, to: "intent", isUndo: true })}, ${randomUUID()}, ${"0".repeat(64)}) ->> 'status'`,
      ),
    ).resolves.toBe("409");
    expect((await transition(byKey, moveCall(id, "junk", { isUndo: true }))).body.code).toBe("VALIDATION_FAILED");
    expect((await transition(byKey, moveCall(id, "junk", { siteId: app.other.siteId }))).status).toBe(403);
  });

  test.each([
    ["an unknown contract", { contract: "invoice" }],
    ["no uuid", { id: "7" }],
    ["no state", { to: "" }],
    ["a version of nought", { expected_version: 0 }],
    ["a version beyond 32 bits", { expected_version: 2 ** 31 }],
    ["a version of a conversion", { contract: "conversion", expected_version: 1 }],
    ["a reason of 501 characters", { reason: "x".repeat(501) }],
    ["a NUL in the reason", { reason: "a\0b" }],
  ])("%s is a bad body: 400", async (_name, wrong) => {
    const answer = await transition(byKey, { ...moveCall(await lead(), "qualified"), ...wrong });
    expect([answer.status, answer.body.code]).toEqual([400, "VALIDATION_FAILED"]);
  });

  // Guarantee: who read an old screen does not overwrite what somebody did meanwhile.
  test("expected_version lets the move through only while the record is as it was read", async () => {
    const id = await lead();
    expect((await transition(byKey, moveCall(id, "qualified", { expected_version: 1 }))).status).toBe(200);
    const stale = await transition(byKey, moveCall(id, "junk", { expected_version: 1 }));
    expect([stale.status, stale.body]).toEqual([409, expect.objectContaining({ code: "STALE_VERSION", status: "qualified", version: 2 })]);
    await transition(byKey, moveCall(id, "sealed", { expected_version: 2 }));
    const [sale] = await app.db.sql`select id, version from public.sales where call_id = ${id}`;
    const staleSale = await transition(byKey, { contract: "sale", id: sale?.id, to: "CANCELED", expected_version: sale?.version + 1 });
    expect([staleSale.status, staleSale.body.code]).toEqual([409, "STALE_VERSION"]);
    const cancelled = await transition(byKey, { contract: "sale", id: sale?.id, to: "CANCELED", expected_version: sale?.version });
    expect(cancelled.body).toMatchObject({ ok: true, from: "CONFIRMED", to: "CANCELED", contract_version: "sale/1" });
  });
});
