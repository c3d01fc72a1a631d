import { expect, test } from "vitest";
import { stageValue } from "#tests/models/stage-value.ts";
import { everyCase } from "#tests/support/every-case.ts";

const site = { aovCents: 50_000, intentWeights: {} };

// Guarantee: a lead without an amount is worth what was agreed for its stage; each row is one of them, for an AOV of 500.
test("each stage of 500.00 has its expected value", () => {
  everyCase(
    [
      ["sealed", 50_000],
      ["won", 50_000],
      ["purchase", 50_000],
      ["qualified", 10_000],
      ["real", 10_000],
      ["pending", 1_000],
      ["open", 1_000],
      ["junk", 0],
      ["lost", 0],
      // Our own call states: intent is pending, a meeting is qualified, cancelled is lost.
      ["intent", 1_000],
      ["meeting", 10_000],
      ["cancelled", 0],
    ] as const,
    ([action, cents]) => {
      expect(stageValue(action, site)).toBe(cents);
    },
  );
});

test("a site that never set its average order has one of 100.00; one that set 0 has 0", () => {
  expect(stageValue("sealed", { ...site, aovCents: null })).toBe(10_000);
  expect(stageValue("qualified", { ...site, aovCents: null })).toBe(2_000);
  expect(stageValue("sealed", { ...site, aovCents: 0 })).toBe(0);
});

test("a site's weight takes the default's place, 0 included, for that name alone", () => {
  const intentWeights = { qualified: 0.35, sealed: 0, junk: 0.01 };
  const of = (action: string) => stageValue(action, { aovCents: 10_000, intentWeights });
  expect([of("qualified"), of("sealed"), of("junk"), of("won"), of("real")]).toEqual([3_500, 0, 100, 10_000, 2_000]);
});

test("a call state takes its own weight, else its stage's", () => {
  const of = (intentWeights: Record<string, number>) => stageValue("meeting", { aovCents: 10_000, intentWeights });
  expect([of({ meeting: 0.5, qualified: 0.3 }), of({ qualified: 0.3 }), of({})]).toEqual([5_000, 3_000, 2_000]);
});

// Guarantee: no cent is lost to binary fractions. With floats 100 × 1.005 is 100.49999999999999.
test("halves are rounded up", () => {
  everyCase(
    [
      [25, 0.02, 1],
      [24, 0.02, 0],
      [100, 1.005, 101],
      [1_000, 0.145, 145],
      [100, 0.145, 15],
      [100_000_000_000, 0.999999, 99_999_900_000],
      [3, 0.5, 2],
      [1, 0.5, 1],
      [1, 0.499999, 0],
    ] as const,
    ([aovCents, open, cents]) => {
      expect(stageValue("open", { aovCents, intentWeights: { open } })).toBe(cents);
    },
  );
});

test.each([-0.1, Number.NaN, Number.POSITIVE_INFINITY, 100.1, 0.1234567, 1e-9, 1e30])("a weight of %d is no weight", (open) => {
  expect(() => stageValue("open", { aovCents: 100, intentWeights: { open } })).toThrow(RangeError);
});

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])("an average order of %d cents is none", (aovCents) => {
  expect(() => stageValue("open", { aovCents, intentWeights: {} })).toThrow(RangeError);
});

test.each(["", "SEALED", "toString", "__proto__", "confirmed"])("the stage %j is unknown, not worthless", (action) => {
  expect(() => stageValue(action, site)).toThrow(RangeError);
});
