import { describe, expect, test } from "vitest";
import { countSet, type FilterField, withValue } from "#components/workbench/filter/filter-field.ts";
import { appendPage, type HeldRows, patchRows, startRows, takePage } from "#components/workbench/live/held-rows.ts";
import { rowsBetween } from "#components/workbench/use-selection.ts";

interface Row {
  id: string;
  version: number;
}
const rowsOf = (ids: string, version = 1): Row[] => [...ids].map((id) => ({ id, version }));
const pageOf = (ids: string, { next = "more" as string | null, version = 1 } = {}) => ({ rows: rowsOf(ids, version), next });
const shown = ({ rows }: Pick<HeldRows<Row>, "rows">) => rows.map(({ id }) => id).join("");
const isOlder = (row: Row, before: Row) => row.version < before.version;

// Guarantee: a list that somebody is at does not jump, and one that nobody is at shows what the server knows.
describe("a list that somebody is at", () => {
  const start = startRows(pageOf("cba"));
  test("rows change where they stand, new ones wait", () => {
    const held = takePage(start, pageOf("edcb", { version: 2 }), { isTouched: true });
    expect(shown(held)).toBe("cba");
    expect(held.rows.map(({ version }) => version)).toEqual([2, 2, 1]);
    expect(shown({ rows: held.waiting })).toBe("ed");
  });
  test("what was pulled up from below is not new; after the end of a list it is", () => {
    expect(takePage(start, pageOf("cb9"), { isTouched: true }).waiting).toEqual([]);
    const whole = startRows(pageOf("cba", { next: null }));
    expect(shown({ rows: takePage(whole, pageOf("cba9", { next: null }), { isTouched: true }).waiting })).toBe("9");
  });
  test("rows that left the filter stay when their news can be read, and go when they cannot", () => {
    const without = pageOf("ca");
    expect(shown(takePage(start, without, { isTouched: true, keepsGone: true }))).toBe("cba");
    expect(shown(takePage(start, without, { isTouched: true }))).toBe("ca");
    // The last row was only pushed off the page.
    expect(shown(takePage(start, pageOf("dcb"), { isTouched: true }))).toBe("cba");
  });
  test("nobody is at it: the server's list, and what is new in it", () => {
    const held = takePage(takePage(start, pageOf("dcb"), { isTouched: true }), pageOf("dcb"), { isTouched: false });
    expect(shown(held)).toBe("dcb");
    expect(held.waiting).toEqual([]);
    expect([...held.freshIds]).toEqual(["d"]);
  });
});

// Guarantee: whoever loaded more keeps it. Mutation: without the rows below, a refresh throws the reader back to the first page.
test("rows loaded below stay below a fresh beginning, without a gap and without a double", () => {
  const enlarged = appendPage(startRows(pageOf("fed", { next: "1" })), pageOf("dcb", { next: "2" }));
  expect(shown(enlarged)).toBe("fedcb");
  const taken = takePage(enlarged, pageOf("gfe", { next: "1" }), { isTouched: false });
  expect(shown(taken)).toBe("gfedcb");
  expect(taken.next).toBe("2");
  const gap = takePage(enlarged, pageOf("zyx", { next: "3" }), { isTouched: false });
  expect(shown(gap)).toBe("zyx");
  expect(gap.next).toBe("3");
  expect(shown(takePage(enlarged, pageOf("fe", { next: null }), { isTouched: false }))).toBe("fe");
});

// Guarantee: a slow read from before a change does not bring the old state back under somebody's fingers.
test("what was read before what is shown does not replace it", () => {
  const patched = { ...startRows(pageOf("ba")), rows: patchRows(rowsOf("ba"), rowsOf("b", 3), isOlder) };
  for (const isTouched of [true, false]) {
    const held = takePage(patched, pageOf("ba", { version: 2 }), { isTouched, isOlder });
    expect(held.rows.map(({ version }) => version)).toEqual([3, 2]);
  }
  const rows = rowsOf("ba");
  expect(patchRows(rows, rowsOf("x"))).toBe(rows);
});

test("Shift selects what lies between, in either direction", () => {
  expect(rowsBetween(rowsOf("dcba"), "b", "d")).toEqual(["d", "c", "b"]);
  expect(rowsBetween(rowsOf("dcba"), "gone", "c")).toEqual(["c"]);
});

test("a filter is set, let go and counted", () => {
  const fields: FilterField<"status" | "q">[] = [{ key: "status", kind: "choice", label: "State" }];
  expect(withValue<"status" | "q">({ q: "1" }, "status", "FAILED")).toEqual({ q: "1", status: "FAILED" });
  expect(withValue<"status" | "q">({ q: "1", status: "FAILED" }, "status", undefined)).toEqual({ q: "1" });
  expect(countSet(fields, { q: "1", status: "FAILED" })).toBe(1);
});
