import { expect, test } from "vitest";
import { type DeskState, isSaved, reduceDesk, startDesk } from "#components/desk/desk-state.ts";
import { reloadGate } from "#components/desk/reload-gate.ts";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";

const at = "2026-11-16T09:00:00Z";
const lead: DeskLead = {
  id: "lead",
  channel: "phone",
  phone: null,
  status: "intent",
  version: 1,
  score: 0,
  points: {},
  calledAt: at,
  pagePath: null,
  campaign: null,
  keyword: null,
  clickBlock: null,
  clickedAt: null,
  clickExpiresAt: null,
  needsYou: null,
  visitsBefore: 0,
  changedAt: null,
  changedBy: null,
  changedByYou: false,
  undoUntil: null,
  sale: null,
  delivery: null,
};
const sale: DeskSale = {
  id: "",
  version: 0,
  status: "CONFIRMED",
  amountCents: 500,
  currency: "TRY",
  isPredicted: false,
  deliveryBlock: null,
  note: null,
  adjustableUntil: at,
  atGoogle: null,
};
const page = { asOf: at, open: 1, leads: [lead], next: null, needsYou: [], needsYouCount: 0, todayCount: 1 };
const expected = () => reduceDesk(startDesk(page), { type: "expect", id: "lead", patch: { status: "sealed", version: 2, sale } });
const sealed: DeskLead = { ...lead, status: "sealed", version: 2, sale: { ...sale, id: "sale", version: 1 } };
const look = (state: ReturnType<typeof startDesk>) =>
  reduceDesk(state, {
    type: "changes",
    changes: { asOf: at, open: 0, changed: [{ ...sealed, matches: true }], truncated: false },
    isTouched: false,
    of: at,
  }).leads[0];

// Guarantee: a lead whose answer could not be read is not cut off from live updates.
test("after a change that was taken but not read, the next look wins; while it is under way it does not", () => {
  expect(look(expected())?.sale).toEqual(sale);
  const unread = reduceDesk(expected(), { type: "unread", id: "lead" });
  expect(unread.leads[0]).toMatchObject({ status: "sealed", version: 2 });
  expect(look(unread)).toEqual(sealed);
});

// Guarantee: nobody is offered to correct or cancel a sale that cannot be named.
test("a sale is saved when the server has told its id and version", () => {
  expect(isSaved(sale)).toBe(false);
  expect(isSaved({ ...sale, id: "sale" })).toBe(false);
  expect(isSaved({ ...sale, id: "sale", version: 1 })).toBe(true);
});

// Guarantee: changes that were too many for one answer reach the list, without moving it under a hand or reading it at every look.
test("too many changes reload the list once nobody touches it, and at most every 15 s", () => {
  const isDue = reloadGate();
  const look = (nowMs: number, isTruncated: boolean, isTouched = false) => isDue({ nowMs, isTruncated, isTouched });
  expect(look(0, false)).toBe(false);
  expect(look(4000, true, true)).toBe(false);
  expect(look(8000, false)).toBe(true);
  expect(look(12_000, true)).toBe(false);
  expect(look(23_000, false)).toBe(true);
  expect(look(60_000, false)).toBe(false);
});

// Guarantee: a slow read from before an undo does not bring the sealed panel back under the operator's fingers.
// Mutation that breaks it: take a detail whatever its version.
test("a lead that was read before our own change does not replace the answer to it", () => {
  const rest = {
    asOf: at,
    fullPhone: null,
    clickKind: null,
    visits: [],
    choices: [],
    history: [],
    ledger: [],
    deliveries: [],
    siblings: [],
  };
  const read = (state: DeskState, was: DeskLead, isAnswer = false) =>
    reduceDesk(state, { type: "detail", detail: { ...was, ...rest }, isAnswer });
  const reopened = read(startDesk(page), { ...lead, version: 3 }, true);
  expect(read(reopened, sealed)).toBe(reopened);
  expect(read(reopened, { ...sealed, version: 4 }).leads[0]?.status).toBe("sealed");
});
