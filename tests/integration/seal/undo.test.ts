import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { claim, succeed } from "#tests/support/delivery.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
const noon = new Date("2026-11-10T12:00:00.000Z");
const later = (ms: number) => new Date(noon.getTime() + ms);
const minute = 60_000;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "undo");
  const settings = '{"sendDelayMinutes": 0, "clickMinAgeHours": 0, "signalsEnabled": true}';
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_delivery(${team.siteId}, (${settings}::text)::jsonb)`);
});
afterAll(() => db.drop());

async function sealedAt(at: Date, step = {}) {
  const call = await newLead(db.sql, team, { at, ...step });
  const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, { at });
  return { call, sale: String(body.saleId) };
}
const rowsOf = async (sale: string) => {
  const rows =
    await db.sql`select kind, status, value_cents::int as cents from public.offline_conversion_queue where sale_id = ${sale} order by created_at, id`;
  return rows.map(({ kind, status, cents }) => `${kind} ${status} ${cents}`);
};
const undo = (call: string, at: Date) => change(db.sql, { team }, "undo_call", { id: call }, { at });

describe("the undo window", () => {
  // Guarantee: the screen's countdown is true at both ends.
  test.each([
    ["nine minutes and 59.999 seconds", 10 * minute - 1, 200],
    ["exactly ten minutes", 10 * minute, 200],
    ["ten minutes and a millisecond", 10 * minute + 1, 409],
  ])("at %s answers %i", async (_name, ms, status) => {
    const { call } = await sealedAt(noon);
    const answer = await undo(call, later(ms as number));
    expect(answer.status).toBe(status);
    if (status === 409) expect(answer.body.code).toBe("UNDO_EXPIRED");
  });

  test("what was undone can not be undone, and what never moved has nothing to undo", async () => {
    const { call } = await sealedAt(noon);
    await undo(call, later(minute));
    expect((await undo(call, later(2 * minute))).body.code).toBe("NOTHING_TO_UNDO");
    const fresh = await newLead(db.sql, team, { at: noon });
    expect((await undo(fresh, later(minute))).body.code).toBe("NOTHING_TO_UNDO");
  });

  test("an undo of what a colleague has changed since is refused", async () => {
    const { call } = await sealedAt(noon);
    const stale = await change(db.sql, { team }, "undo_call", { id: call, expectedVersion: 1 }, { at: later(minute) });
    expect(stale).toMatchObject({ status: 409, body: { code: "STALE_VERSION", version: 2 } });
  });
});

// Guarantee: what is undone is the step that was made last, and nobody takes back a colleague's step without naming it.
describe("two people at one sale", () => {
  // Mutation: take the newest by time.
  test("a correction that began first and was made last is undone first", async () => {
    const { call, sale } = await sealedAt(noon);
    await change(db.sql, { team }, "correct_sale", { id: sale, amountCents: 300_000 }, { at: later(2 * minute) });
    await change(db.sql, { team }, "correct_sale", { id: sale, amountCents: 200_000 }, { at: later(minute) });
    const amounts: number[] = [];
    for (const ms of [3, 4]) {
      await undo(call, later(ms * minute));
      const [row] = await db.sql`select amount_cents::int as cents from public.sales where id = ${sale}`;
      amounts.push(row?.cents);
    }
    expect(amounts).toEqual([300_000, 425_000]);
  });

  // Mutation: undo whatever is newest.
  test("an undo that names no step leaves a colleague's correction alone", async () => {
    const { call, sale } = await sealedAt(noon);
    await change(db.sql, { team, person: team.owner }, "correct_sale", { id: sale, amountCents: 300_000 }, { at: later(minute) });
    expect(await undo(call, later(2 * minute))).toMatchObject({ status: 409, body: { code: "STALE_VERSION" } });
  });
});

describe("what Google hears of an undo", () => {
  test("nothing, before the row was claimed", async () => {
    const { call, sale } = await sealedAt(noon);
    await undo(call, later(minute));
    expect(await rowsOf(sale)).toEqual(["CONVERSION FAILED 425000"]);
    expect(await claim(db.sql, sale, later(2 * minute))).toBeNull();
  });

  test("a retraction, once the claim that was in flight succeeded", async () => {
    const { call, sale } = await sealedAt(noon);
    const row = String(await claim(db.sql, sale, later(1)));
    await undo(call, later(minute));
    expect(await rowsOf(sale)).toEqual(["CONVERSION PROCESSING 425000"]);
    await succeed(db.sql, row, later(2 * minute));
    expect(await rowsOf(sale)).toEqual(["CONVERSION COMPLETED 425000", "RETRACT QUEUED 0"]);
  });

  test("a retraction that is not needed any more is taken back too", async () => {
    const { call, sale } = await sealedAt(noon);
    await succeed(db.sql, String(await claim(db.sql, sale, later(1))), later(2));
    await change(db.sql, { team }, "cancel_sale", { id: sale }, { at: later(minute) });
    await undo(call, later(2 * minute));
    expect(await rowsOf(sale)).toEqual(["CONVERSION COMPLETED 425000", "RETRACT FAILED 0"]);
  });

  // Guarantee: undoing a cancellation gives back the amount that was there, also when Google was already told to forget the sale and
  // needs a new order. Mutation: the site's expected value would come back instead.
  test("a new order with the old amount, when it was already told to forget the sale", async () => {
    const { call, sale } = await sealedAt(noon);
    await succeed(db.sql, String(await claim(db.sql, sale, later(1))), later(2));
    await change(db.sql, { team }, "cancel_sale", { id: sale }, { at: later(minute) });
    await claim(db.sql, sale, later(2 * minute));
    const { body } = await undo(call, later(3 * minute));
    expect(body).toMatchObject({ from: "cancelled", to: "sealed" });
    expect(body.saleId).not.toBe(sale);
    const [row] = await db.sql`select amount_cents::int as cents, currency, value_source as source, status,
      (select order_id from public.sales where id = ${sale}) <> order_id as own_order from public.sales where id = ${String(body.saleId)}`;
    expect({ ...row }).toEqual({ cents: 425_000, currency: "TRY", source: "OPERATOR", status: "CONFIRMED", own_order: true });
  });
});

describe("an undo beside another sale of the visit", () => {
  // Guarantee: one visit does not become two sales by way of undo.
  test("is refused when that one was sealed since", async () => {
    const visitor = `visitor-${randomUUID()}`;
    const { sale, call } = await sealedAt(noon, { visitor });
    await change(db.sql, { team }, "cancel_sale", { id: sale }, { at: later(minute) });
    const other = await newLead(db.sql, team, { at: later(minute), visitor });
    await change(db.sql, { team }, "seal_call", { id: other, amountCents: 100 }, { at: later(2 * minute) });
    expect(await undo(call, later(3 * minute))).toMatchObject({ status: 409, body: { code: "VISIT_ALREADY_SEALED", callId: other } });
  });

  test("is made when both stood before", async () => {
    const visitor = `visitor-${randomUUID()}`;
    await sealedAt(noon, { visitor });
    const other = await newLead(db.sql, team, { at: later(1), visitor });
    await change(db.sql, { team }, "seal_call", { id: other, amountCents: 100, separateSale: true }, { at: later(2) });
    await change(db.sql, { team }, "change_call", { id: other, to: "cancelled" }, { at: later(minute) });
    expect(await undo(other, later(2 * minute))).toMatchObject({ status: 200, body: { to: "sealed" } });
  });
});

describe("a stage that is taken back", () => {
  const signalsOf = async (call: string) => {
    const rows = await db.sql`select signal_type, dispatch_status as status from public.marketing_signals
      where call_id = ${call} and signal_type <> 'INTENT_CAPTURED' order by 1`;
    return rows.map((row) => `${row.signal_type} ${row.status}`);
  };

  // Guarantee: Google does not hear of a stage that an operator set by mistake, and hears of it once when it comes true.
  test("falls silent, and speaks when it is reached again", async () => {
    const call = await newLead(db.sql, team, { at: noon });
    await change(db.sql, { team }, "change_call", { id: call, to: "qualified" }, { at: later(1) });
    expect(await signalsOf(call)).toEqual(["SEAL_PENDING PENDING"]);
    await undo(call, later(minute));
    expect(await signalsOf(call)).toEqual(["SEAL_PENDING FAILED"]);
    await change(db.sql, { team }, "change_call", { id: call, to: "meeting" }, { at: later(2 * minute) });
    expect(await signalsOf(call)).toEqual(["MEETING_BOOKED PENDING", "SEAL_PENDING FAILED"]);
    await change(db.sql, { team }, "change_call", { id: call, to: "qualified" }, { at: later(3 * minute) });
    expect(await signalsOf(call)).toEqual(["MEETING_BOOKED PENDING", "SEAL_PENDING PENDING"]);
  });
});

describe("the undo of a correction", () => {
  const stepOf = async (call: string, at: Date) =>
    (
      await callAs<{ undo: Record<string, unknown> | null }>(
        db.sql,
        team.operator,
        (tx) => tx`select public.desk_lead(${team.siteId}, ${call})`,
        at,
      )
    ).undo;
  const correct = (sale: string, amountCents: number, at: Date) =>
    change(db.sql, { team }, "correct_sale", { id: sale, amountCents }, { at });
  const worth = async (sale: string) => {
    const [row] = await db.sql`select s.amount_cents::int as cents, s.status, s.value_source as source,
      (select sum(delta_cents)::int from public.revenue_snapshots r where r.sale_id = s.id) as sum from public.sales s where id = ${sale}`;
    return { ...row };
  };

  // Guarantee: an undo after a correction takes back the correction, never the whole sale; each step is undone by itself, newest first.
  // Mutation: undo the call's last move whatever came after it.
  test("brings back the amount before it, step by step down to the seal", async () => {
    const { call, sale } = await sealedAt(noon);
    await correct(sale, 200_000, later(minute));
    await correct(sale, 300_000, later(2 * minute));
    const steps: unknown[] = [];
    for (const after of [3, 4, 5]) {
      const step = await stepOf(call, later(after * minute));
      steps.push([step?.kind, step?.amountCents, step?.beforeCents]);
      const answer = await change(db.sql, { team }, "undo_call", { id: call, proofId: step?.proofId }, { at: later(after * minute) });
      expect(answer.status).toBe(200);
      if (after === 3) expect(await worth(sale)).toEqual({ cents: 200_000, status: "CONFIRMED", source: "OPERATOR", sum: 200_000 });
      if (after === 4) expect(await rowsOf(sale)).toEqual(["CONVERSION QUEUED 425000"]);
    }
    expect(steps).toEqual([
      ["correct", 300_000, 200_000],
      ["correct", 200_000, 425_000],
      ["seal", 425_000, null],
    ]);
    expect(await worth(sale)).toMatchObject({ cents: 0, status: "CANCELED", sum: 0 });
    expect(await stepOf(call, later(6 * minute))).toBeNull();
    expect((await undo(call, later(6 * minute))).body.code).toBe("NOTHING_TO_UNDO");
  });

  test("gives back an expected value as expected", async () => {
    const call = await newLead(db.sql, team, { at: noon });
    const { body } = await change(db.sql, { team }, "seal_call", { id: call }, { at: noon });
    const before = await worth(String(body.saleId));
    expect(before.source).toBe("PREDICTED");
    await correct(String(body.saleId), Number(before.cents), later(minute));
    await undo(call, later(2 * minute));
    expect(await worth(String(body.saleId))).toEqual(before);
  });

  test("has its own ten minutes", async () => {
    const { call, sale } = await sealedAt(noon);
    await correct(sale, 200_000, later(9 * minute));
    expect((await undo(call, later(18 * minute))).body).toMatchObject({ ok: true });
    expect((await undo(call, later(18 * minute))).body.code, "the seal's are over").toBe("UNDO_EXPIRED");
  });

  // Guarantee: a button never undoes another step than the one it names. Mutation: ignore proofId.
  test("is refused for a step that is no longer the newest", async () => {
    const { call, sale } = await sealedAt(noon);
    const seal = await stepOf(call, later(1));
    await correct(sale, 200_000, later(minute));
    const stale = await change(db.sql, { team }, "undo_call", { id: call, proofId: seal?.proofId }, { at: later(2 * minute) });
    expect(stale).toMatchObject({ status: 409, body: { code: "STALE_VERSION" } });
    expect(await worth(sale)).toMatchObject({ cents: 200_000 });
  });

  test("is not offered once the sale was cancelled and that was undone", async () => {
    const { call, sale } = await sealedAt(noon);
    await correct(sale, 200_000, later(minute));
    await change(db.sql, { team }, "cancel_sale", { id: sale }, { at: later(2 * minute) });
    expect(await stepOf(call, later(3 * minute))).toMatchObject({ kind: "cancel" });
    expect((await undo(call, later(3 * minute))).body).toMatchObject({ to: "sealed" });
    expect(await worth(sale)).toMatchObject({ cents: 200_000, status: "CONFIRMED" });
    expect(await stepOf(call, later(4 * minute))).toBeNull();
  });

  // Guarantee: a reload, or a list that no longer holds the lead, takes nobody's undo away; colleagues are not offered it as theirs.
  test("stands on the desk as the reader's own newest step", async () => {
    const own = await createTeam(db.sql, "own-step", team.owner);
    const call = await newLead(db.sql, own, { at: noon, phone: "+905325551234" });
    const { body } = await change(db.sql, { team: own }, "seal_call", { id: call, amountCents: 100 }, { at: noon });
    await change(db.sql, { team: own }, "correct_sale", { id: String(body.saleId), amountCents: 200 }, { at: later(minute) });
    const lastStep = async (person: Team["operator"], at: Date) =>
      (await callAs<{ lastStep: unknown }>(db.sql, person, (tx) => tx`select public.desk_leads(${own.siteId}, '{"view": "open"}')`, at))
        .lastStep;
    const mine = { leadId: call, phone: "+90 532 ••• 12 34", version: 2, undo: { kind: "correct", amountCents: 200, byYou: true } };
    expect(await lastStep(own.operator, later(2 * minute))).toMatchObject(mine);
    expect(await lastStep(own.owner, later(2 * minute))).toBeNull();
    expect(await lastStep(own.operator, later(12 * minute))).toBeNull();
  });
});
