import { expect, test } from "vitest";
import { type Click, choosePrimarySource } from "#tests/models/primary-source.ts";

const convertedAt = new Date("2026-11-16T12:00:00Z");
const day = 86_400_000;
const click = (ageMs: number, given: Partial<Click> = { gclid: "g" }): Click => ({
  gclid: null,
  wbraid: null,
  gbraid: null,
  marketingConsent: true,
  clickedAt: new Date(convertedAt.getTime() - ageMs),
  ...given,
});
const chosen = (...clicks: Click[]) => {
  const forth = choosePrimarySource(clicks, convertedAt);
  // The order in which the database returns sessions must not decide who is paid for.
  expect(choosePrimarySource(clicks.toReversed(), convertedAt)).toEqual(forth);
  return forth && { kind: forth.kind, id: forth.id };
};

test("nothing to choose from is no source", () => {
  expect(chosen()).toBe(null);
  expect(chosen(click(day, {}), click(day, { gclid: "", wbraid: "" }))).toBe(null);
});

test.each([
  [{ gclid: "g", wbraid: "w", gbraid: "b" }, "gclid"],
  [{ gclid: "g", gbraid: "b" }, "gclid"],
  [{ wbraid: "w", gbraid: "b" }, "wbraid"],
  [{ gbraid: "b" }, "gbraid"],
  [{ gclid: "", gbraid: "b" }, "gbraid"],
] as const)("of one click's ids %j leads %s, and all are kept", (ids, kind) => {
  const only = click(day, ids);
  expect(choosePrimarySource([only], convertedAt)).toEqual({ click: only, kind, id: only[kind] });
});

test("the newest click wins, whatever kind of id it has", () => {
  expect(chosen(click(2 * day, { gclid: "old" }), click(day, { gbraid: "new" }))).toEqual({ kind: "gbraid", id: "new" });
});

// Guarantee: Google is never given a click of someone who did not agree to it.
test("a click without consent is passed over for an older one with it", () => {
  expect(chosen(click(day, { gclid: "silent", marketingConsent: false }), click(5 * day, { gclid: "agreed" }))?.id).toBe("agreed");
  expect(chosen(click(day, { gclid: "silent", marketingConsent: false }))).toBe(null);
});

test("a click counts for 90 days to the millisecond and never before it happened", () => {
  expect(chosen(click(90 * day))?.id).toBe("g");
  expect(chosen(click(90 * day + 1))).toBe(null);
  expect(chosen(click(0))?.id).toBe("g");
  expect(chosen(click(-1))).toBe(null);
  expect(chosen(click(Number.NaN))).toBe(null);
});

test("clicks of the same moment are ordered by kind, then by id", () => {
  expect(chosen(click(day, { wbraid: "a" }), click(day, { gclid: "z" }))?.id).toBe("z");
  expect(chosen(click(day, { gclid: "b" }), click(day, { gclid: "B" }), click(day, { gclid: "c" }))?.id).toBe("B");
});
