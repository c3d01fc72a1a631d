import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sale } from "#lib/seal/sales-list.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { claim, succeed } from "#tests/support/delivery.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let key: { id: string };
const noon = new Date("2026-11-10T12:00:00.000Z");
const minute = 60_000;
const later = (ms: number) => new Date(noon.getTime() + ms);
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "undo-sale");
  key = await createKey(db.sql, team, ["sales"]);
  const settings = '{"sendDelayMinutes": 0, "clickMinAgeHours": 0}';
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_delivery(${team.siteId}, (${settings}::text)::jsonb)`);
});
afterAll(() => db.drop());

/** A sale that a till reported, with a click of its own: no lead. */
async function drafted(more: Record<string, unknown> = {}) {
  const sent = {
    externalRef: `order-${randomUUID()}`,
    occurredAt: later(-minute).toISOString(),
    amountCents: 425_000,
    gclid: `own-${randomUUID()}`,
    marketingConsent: true,
    ...more,
  };
  const answer = await callAt<{ body: string }>(
    db.sql,
    noon,
    (tx) => tx`select public.record_external_sale(${key.id}, ${tx.json(sent)}, ${"0".repeat(64)})`,
  );
  return String(JSON.parse(answer.body).sale_id ?? JSON.parse(answer.body).saleId);
}
const act = (name: Parameters<typeof change>[2], id: string, ms: number, more = {}) =>
  change(db.sql, { team }, name, { id, ...more }, { at: later(ms) });
async function sealed() {
  const id = await drafted();
  expect((await act("confirm_sale", id, 0)).status).toBe(200);
  return id;
}
const undo = (id: string, ms: number, more = {}) => act("undo_sale", id, ms, more);
const saleOf = async (id: string) => {
  const [row] = await db.sql`select status, amount_cents::int as cents from public.sales where id = ${id}`;
  return `${row?.status} ${row?.cents}`;
};
const rowsOf = async (id: string) => {
  const rows = await db.sql`select kind, status, value_cents::int as cents from public.offline_conversion_queue
    where sale_id = ${id} order by created_at, id`;
  return rows.map(({ kind, status, cents }) => `${kind} ${status} ${cents}`);
};
/** The sale as the list shows it at that moment. */
async function listed(id: string, ms: number, person = team.operator) {
  const { sales } = await callAs<{ sales: Sale[] }>(
    db.sql,
    person,
    (tx) => tx`select public.list_sales(${team.siteId}, ${tx.json({ sale: id })})`,
    later(ms),
  );
  return sales[0];
}

describe("a sale without a lead", () => {
  // Guarantee: a wrong press on an imported sale is taken back like one on a lead, and the list names what would be undone.
  test("an undone seal is cancelled, nothing of it is sent, and it can be sealed again", async () => {
    const id = await sealed();
    expect((await listed(id, minute))?.undo).toMatchObject({ kind: "seal", amountCents: 425_000, byYou: true });
    expect(new Date(String((await listed(id, minute))?.undo?.until))).toEqual(later(10 * minute));
    expect(await undo(id, minute)).toMatchObject({ status: 200, body: { from: "CONFIRMED", to: "CANCELED" } });
    expect(await rowsOf(id)).toEqual(["CONVERSION FAILED 425000"]);
    expect(await listed(id, minute)).toMatchObject({ status: "CANCELED", undo: null, restoreCents: 425_000 });
    expect((await undo(id, 2 * minute)).body.code, "an undo is no step").toBe("NOTHING_TO_UNDO");
    expect((await act("confirm_sale", id, 3 * minute)).status).toBe(200);
    expect(await saleOf(id)).toBe("CONFIRMED 425000");
  });

  test.each([
    ["exactly ten minutes", 10 * minute, 200],
    ["ten minutes and a millisecond", 10 * minute + 1, 409],
  ])("at %s after its seal answers %i", async (_name, ms, status) => {
    const answer = await undo(await sealed(), ms);
    expect(answer.status).toBe(status);
    if (status === 409) expect(answer.body.code).toBe("UNDO_EXPIRED");
  });

  // Guarantee: each step by itself. Mutation: undo the newest move instead, and the whole sale is gone.
  test("corrections are undone one by one, newest first, then the seal", async () => {
    const id = await sealed();
    await act("correct_sale", id, minute, { amountCents: 300_000 });
    await act("correct_sale", id, 2 * minute, { amountCents: 200_000 });
    expect((await listed(id, 3 * minute))?.undo).toMatchObject({ kind: "correct", amountCents: 200_000, beforeCents: 300_000 });
    const seen: string[] = [];
    for (const ms of [3, 4, 5]) {
      await undo(id, ms * minute);
      seen.push(await saleOf(id));
    }
    expect(seen).toEqual(["CONFIRMED 300000", "CONFIRMED 425000", "CANCELED 0"]);
  });

  test("a cancellation that Google does not know of is undone, and its retraction with it", async () => {
    const id = await sealed();
    await succeed(db.sql, String(await claim(db.sql, id, later(1))), later(2));
    await act("cancel_sale", id, minute);
    expect((await listed(id, minute))?.undo).toMatchObject({ kind: "cancel" });
    expect((await undo(id, 2 * minute)).status).toBe(200);
    expect(await saleOf(id)).toBe("CONFIRMED 425000");
    expect(await rowsOf(id)).toEqual(["CONVERSION COMPLETED 425000", "RETRACT FAILED 0"]);
  });

  // Guarantee: an order that Google may have taken back never counts again under its id.
  test("a cancellation whose retraction is in flight is neither offered nor undone", async () => {
    const id = await sealed();
    await succeed(db.sql, String(await claim(db.sql, id, later(1))), later(2));
    await act("cancel_sale", id, minute);
    await claim(db.sql, id, later(2 * minute));
    expect(await listed(id, 3 * minute)).toMatchObject({ undo: null, restoreCents: null });
    expect((await undo(id, 3 * minute)).body.code).toBe("SALE_RETRACTED");
  });

  test("a discarded draft is a draft again, with its amount", async () => {
    const id = await drafted();
    expect((await listed(id, 0))?.undo, "nobody did anything yet").toBeNull();
    await act("cancel_sale", id, minute);
    expect((await listed(id, 2 * minute))?.undo).toMatchObject({ kind: "discard" });
    expect((await undo(id, 2 * minute)).body).toMatchObject({ from: "CANCELED", to: "DRAFT" });
    expect(await saleOf(id)).toBe("DRAFT 425000");
    expect((await act("confirm_sale", id, 3 * minute)).status).toBe(200);
  });

  // Guarantee: nobody takes back a step that they did not mean. Mutation: undo whatever is newest.
  test("an undo that names another step, or no step of one's own, is refused", async () => {
    const id = await sealed();
    const first = (await listed(id, 0))?.undo?.proofId;
    await change(db.sql, { team, person: team.owner }, "correct_sale", { id, amountCents: 300_000 }, { at: later(minute) });
    expect(await undo(id, 2 * minute)).toMatchObject({ status: 409, body: { code: "STALE_VERSION" } });
    expect(await undo(id, 2 * minute, { proofId: first })).toMatchObject({ status: 409, body: { code: "STALE_VERSION" } });
    await expect(change(db.sql, { team, person: team.viewer }, "undo_sale", { id })).rejects.toMatchObject({ code: "PT403" });
    await expect(undo(randomUUID(), 0)).rejects.toMatchObject({ code: "PT404" });
  });
});

describe("a sale with a lead", () => {
  test("is undone with its lead, also over the sale", async () => {
    const call = await newLead(db.sql, team, { at: noon });
    const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, { at: noon });
    const id = String(body.saleId);
    expect((await listed(id, minute))?.undo).toMatchObject({ kind: "seal" });
    expect((await undo(id, minute)).body).toMatchObject({ from: "sealed", to: "intent" });
  });

  // Guarantee: a call keeps one living sale.
  test("a discarded draft of its call does not come back beside another sale", async () => {
    const gclid = `click-${randomUUID()}`;
    const call = await newLead(db.sql, team, { at: later(-30 * minute), gclid });
    const id = await drafted({ gclid });
    await act("cancel_sale", id, minute);
    await change(db.sql, { team }, "seal_call", { id: call, amountCents: 100 }, { at: later(2 * minute) });
    expect(await undo(id, 3 * minute)).toMatchObject({ status: 409, body: { code: "VISIT_ALREADY_SEALED" } });
  });
});
