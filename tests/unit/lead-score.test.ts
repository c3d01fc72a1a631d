import { expect, test } from "vitest";
import { type LeadSigns, leadScore, scoreBreakdown } from "#tests/models/lead-score.ts";

const none: LeadSigns = {
  conversion: false,
  interaction: false,
  scrollDepth: 0,
  hoverIntent: false,
  google: false,
  returningAdUser: false,
};

// Guarantee: an operator's order of work is the one that was agreed; each row is a rule of it, with its edges.
test.each<[string, Partial<LeadSigns>, number, Record<string, number>]>([
  ["nothing", {}, 0, {}],
  ["a conversion", { conversion: true }, 50, { conversion: 50 }],
  ["an interaction", { interaction: true }, 10, { interaction: 10 }],
  ["scrolling to 49 %", { scrollDepth: 49 }, 0, {}],
  ["scrolling to 50 %", { scrollDepth: 50 }, 10, { scroll50: 10 }],
  ["scrolling to 89 %", { scrollDepth: 89 }, 10, { scroll50: 10 }],
  ["scrolling to 90 %", { scrollDepth: 90 }, 30, { scroll50: 10, scroll90: 20 }],
  ["scrolling to 100 %", { scrollDepth: 100 }, 30, { scroll50: 10, scroll90: 20 }],
  ["hovering over a call button", { hoverIntent: true }, 15, { hoverIntent: 15 }],
  ["coming from Google", { google: true }, 5, { google: 5 }],
  ["coming back after an ad", { returningAdUser: true }, 25, { returningAdUser: 25 }],
  [
    "exactly 100",
    { conversion: true, scrollDepth: 50, hoverIntent: true, returningAdUser: true },
    100,
    { conversion: 50, scroll50: 10, hoverIntent: 15, returningAdUser: 25 },
  ],
])("%s", (_name, signs, score, breakdown) => {
  expect(leadScore({ ...none, ...signs })).toBe(score);
  expect(scoreBreakdown({ ...none, ...signs })).toEqual(breakdown);
});

test("everything together is 135 points and a score of 100", () => {
  const all = { conversion: true, interaction: true, scrollDepth: 100, hoverIntent: true, google: true, returningAdUser: true };
  expect(leadScore(all)).toBe(100);
  expect(Object.values(scoreBreakdown(all)).reduce((sum, points) => sum + points, 0)).toBe(135);
});
