import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let on: Team;
let off: Team;
const dayMs = 86_400_000;
beforeAll(async () => {
  db = await createTestDatabase();
  on = await createTeam(db.sql, "on");
  off = await createTeam(db.sql, "off", on.owner);
  await deliverySettings(db.sql, on, { signalsEnabled: true, defaultAovCents: 100000 });
});
afterAll(() => db.drop());

const signalsOf = async (call: string) => {
  const rows = await db.sql`select signal_type as type, conversion_value::int as value, currency, dispatch_status as status
    from public.marketing_signals where call_id = ${call} order by created_at, signal_type`;
  return rows.map((row) => ({ ...row }));
};
const stages = async (team: Team, call: string) => {
  await change(db.sql, { team }, "change_call", { id: call, to: "qualified" });
  await change(db.sql, { team }, "change_call", { id: call, to: "meeting" });
};

// Guarantee: stages before the seal reach Google only where an owner switched them on.
test("a site that did not switch signals on has none", async () => {
  const call = await newLead(db.sql, off);
  await stages(off, call);
  expect(await signalsOf(call)).toEqual([]);
});

test("each stage is one signal, valued by how fresh the click is", async () => {
  const at = new Date(Date.now() - 5 * dayMs);
  const call = await newLead(db.sql, on, { at });
  await stages(on, call);
  await change(db.sql, { team: on }, "change_call", { id: call, to: "qualified" }); // back and forth makes no second one
  await change(db.sql, { team: on }, "change_call", { id: call, to: "meeting" });
  expect((await signalsOf(call)).sort((a, b) => String(a.type).localeCompare(String(b.type)))).toEqual([
    { type: "INTENT_CAPTURED", value: 500, currency: "TRY", status: "PENDING" },
    { type: "MEETING_BOOKED", value: 250, currency: "TRY", status: "PENDING" },
    { type: "SEAL_PENDING", value: 250, currency: "TRY", status: "PENDING" },
  ]);
});

test("the same call reported again is no second signal", async () => {
  const stamp = randomUUID();
  const first = await newLead(db.sql, on, { intentStamp: stamp, visitor: "reported-twice" });
  const again = await newLead(db.sql, on, { intentStamp: stamp, visitor: "reported-twice", at: new Date(Date.now() + 1000) });
  expect(again).toBe(first);
  expect(await signalsOf(first)).toHaveLength(1);
});

test.each([
  ["without a click id", { gclid: null }],
  ["without consent", { marketingConsent: false, marketingDefault: false }],
])("a call %s has none", async (_name, step) => {
  const call = await newLead(db.sql, on, step);
  await stages(on, call);
  expect(await signalsOf(call)).toEqual([]);
});

test("a click that ran out before the stage makes none", async () => {
  const call = await newLead(db.sql, on, { at: new Date(Date.now() - 91 * dayMs) });
  await stages(on, call);
  expect((await signalsOf(call)).map(({ type }) => type)).toEqual(["INTENT_CAPTURED"]);
});

// Guarantee: a signal for a move that never happened would be a lie that Google keeps.
test("a move that is rolled back leaves no signal", async () => {
  const call = await newLead(db.sql, on);
  const move = actAs(db.sql, on.operator.id, async (tx) => {
    await tx`select public.change_call(${on.siteId}, ${tx.json({ id: call, to: "qualified" })}, ${"0".repeat(64)})`;
    const [inside] = await tx`select count(*)::int as n from public.marketing_signals`.catch(() => [{ n: -1 }]);
    throw new Error(`rolled back with ${inside?.n}`);
  });
  await expect(move).rejects.toThrow();
  expect((await signalsOf(call)).map(({ type }) => type)).toEqual(["INTENT_CAPTURED"]);
});
