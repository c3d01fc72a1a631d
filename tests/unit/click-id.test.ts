import { expect, test } from "vitest";
import { clickOf } from "#lib/leads/click-id.ts";

const receivedAt = new Date("2026-11-16T12:00:00Z");
const day = 86_400_000;
const click = (clickFirstSeenMs: number | null, ids = {}) =>
  clickOf({ gclid: "click", wbraid: null, gbraid: null, ...ids, clickFirstSeenMs }, receivedAt);
const ago = (ms: number) => receivedAt.getTime() - ms;

test("no click id is no click, whatever time is given", () => {
  expect(click(ago(1), { gclid: null })).toBe(null);
  expect(click(null, { gclid: "" })).toBe(null);
});

test.each(["gclid", "wbraid", "gbraid"])("%s alone is a click", (name) => {
  expect(click(ago(1_000), { gclid: null, [name]: "x" })).toMatchObject({ [name]: "x", clickedAt: "2026-11-16T11:59:59.000Z" });
});

// Guarantee: an old click is not attributed to a new visit, and Google is not asked to take one it refuses.
test("a click lives 90 days to the millisecond", () => {
  expect(click(ago(90 * day))?.clickedAt).toBe("2026-08-18T12:00:00.000Z");
  expect(click(ago(90 * day + 1))).toBe(null);
  expect(click(-1e300)).toBe(null);
  expect(click(0)).toBe(null);
});

test.each([
  ["none", null],
  ["a minute in the future", -60_000],
  ["a year in the future", -365 * day],
])("a time that is %s counts as now", (_name, before) => {
  expect(click(before === null ? null : ago(before))?.clickedAt).toBe(receivedAt.toISOString());
});
