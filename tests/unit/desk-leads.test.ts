import { expect, test } from "vitest";
import { isOlderLead, isSaved } from "#components/desk/list/lead-state.ts";
import { patchRows, startRows, takePage } from "#components/workbench/live/held-rows.ts";
import { layOver } from "#components/workbench/live/use-expected.ts";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";

const at = "2026-11-16T09:00:00Z";
const lead: DeskLead = {
  id: "lead",
  channel: "phone",
  phone: null,
  name: null,
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
  undo: null,
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
const expected = { status: "sealed", version: 2, sale } as const;
const sealed: DeskLead = { ...lead, status: "sealed", version: 2, sale: { ...sale, id: "sale", version: 1 } };
const pageOf = (row: DeskLead) => ({ rows: [row], next: null });
/** The row after the server drew the page again, with and without a hand on the list. */
const afterLook = (shown: DeskLead, read: DeskLead) =>
  [true, false].map((isTouched) => takePage(startRows(pageOf(shown)), pageOf(read), { isTouched, isOlder: isOlderLead }).rows[0]);

// Guarantee: a lead whose answer could not be read is not cut off from live updates.
test("after a change that was taken but not read, the next look wins; while it is under way it does not", () => {
  for (const row of afterLook(lead, sealed)) expect(layOver(row ?? lead, { lead: expected }).sale).toEqual(sale);
  const [unread = lead] = patchRows([lead], [{ ...lead, ...expected }], isOlderLead);
  expect(unread).toMatchObject({ status: "sealed", version: 2 });
  expect(layOver(unread, {})).toBe(unread);
  expect(afterLook(unread, lead)).toEqual([unread, unread]);
  expect(afterLook(unread, sealed)).toEqual([sealed, sealed]);
});

// Guarantee: nobody is offered to correct or cancel a sale that cannot be named.
test("a sale is saved when the server has told its id and version", () => {
  expect(isSaved(sale)).toBe(false);
  expect(isSaved({ ...sale, id: "sale" })).toBe(false);
  expect(isSaved({ ...sale, id: "sale", version: 1 })).toBe(true);
});

// Guarantee: a slow read from before an undo does not bring the sealed panel back under the operator's fingers.
// Mutation that breaks it: take a lead whatever its version.
test("a lead that was read before our own change does not replace the answer to it", () => {
  const reopened = { ...lead, version: 3 };
  expect(patchRows([reopened], [sealed], isOlderLead)).toEqual([reopened]);
  expect(patchRows([reopened], [{ ...sealed, version: 4 }], isOlderLead)[0]?.status).toBe("sealed");
});
