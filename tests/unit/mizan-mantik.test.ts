import { expect, test } from "vitest";
import { calculateDecayedValue } from "#tests/models/mizan-mantik.ts";

const clickedAt = new Date("2026-11-01T09:30:00Z");
const day = 86_400_000;
const after = (ms: number, baseCents = 100_000) => calculateDecayedValue(baseCents, clickedAt, new Date(clickedAt.getTime() + ms));

// Guarantee: a signal is worth what MizanMantik says for its age, to the millisecond of each edge.
test.each([
  ["at the click", 0, 0, "HOT", 50_000],
  ["a millisecond later", 1, 1, "HOT", 50_000],
  ["two days later", 2 * day, 2, "HOT", 50_000],
  ["three days later", 3 * day, 3, "HOT", 50_000],
  ["three days and a millisecond later", 3 * day + 1, 4, "WARM", 25_000],
  ["ten days later", 10 * day, 10, "WARM", 25_000],
  ["ten days and a millisecond later", 10 * day + 1, 11, "COLD", 10_000],
  ["ninety days later", 90 * day, 90, "COLD", 10_000],
  ["before its click", -5 * day, 0, "HOT", 50_000],
])("%s", (_name, ms, days, bucket, valueCents) => {
  expect(after(ms)).toEqual({ days, bucket, valueCents });
});

test.each([
  [0, 0],
  [99, 0],
  [100, 100],
  [199, 100],
  [299, 100],
  [300, 200],
  [9_900, 5_000],
])("%d cents halve to %d: whole units, halves up", (baseCents, valueCents) => {
  expect(after(0, baseCents).valueCents).toBe(valueCents);
});

test("warm and cold values are whole units too", () => {
  expect(after(5 * day, 1_000).valueCents).toBe(300);
  expect(after(20 * day, 1_499).valueCents).toBe(100);
  expect(after(20 * day, 1_500).valueCents).toBe(200);
});

test.each([-1, 0.5, Number.NaN])("a base of %d cents is refused", (baseCents) => {
  expect(() => after(0, baseCents)).toThrow(RangeError);
});

test("an invalid time is refused", () => {
  expect(() => after(Number.NaN)).toThrow(RangeError);
  expect(() => calculateDecayedValue(100, new Date(Number.NaN), clickedAt)).toThrow(RangeError);
});
