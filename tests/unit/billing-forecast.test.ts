import { expect, test } from "vitest";
import type { DayCount } from "#lib/billing/billing-shapes.ts";
import { forecastMonth, fullOn } from "#lib/billing/forecast.ts";
import { daysOf, shiftMonth } from "#lib/billing/year-month.ts";

/** November 2026 begins on a Sunday. Weekdays bring 100, weekends 40. */
const usual = (day: string) => ([0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay()) ? 40 : 100);
const counted = (days: string[]): DayCount[] => days.map((day) => ({ day, events: usual(day) }));
const october = daysOf("2026-10").slice(-28);
const november = daysOf("2026-11");
const novemberTotal = 21 * 100 + 9 * 40;

test.each<{ name: string; now: string; days: DayCount[]; daysBefore: DayCount[]; total: number }>([
  { name: "nothing counted", now: "2026-11-16T12:00:00Z", days: [], daysBefore: [], total: 0 },
  {
    name: "weekdays learned from the month before",
    now: "2026-11-01T00:00:00Z",
    days: [],
    daysBefore: counted(october),
    total: novemberTotal,
  },
  {
    name: "the middle of the month",
    now: "2026-11-16T12:00:00Z",
    days: [...counted(november.slice(0, 15)), { day: "2026-11-16", events: 50 }],
    daysBefore: [],
    total: novemberTotal,
  },
  {
    name: "a day that has already brought more than usual",
    now: "2026-11-16T12:00:00Z",
    days: [...counted(november.slice(0, 15)), { day: "2026-11-16", events: 500 }],
    daysBefore: [],
    total: novemberTotal + 400,
  },
  {
    name: "a weekday not seen yet brings the mean of all days",
    now: "2026-11-05T00:00:00Z",
    days: counted(["2026-11-02", "2026-11-03", "2026-11-04"]),
    daysBefore: [],
    total: 29 * 100,
  },
  {
    name: "too few days: a straight line",
    now: "2026-11-02T12:00:00Z",
    days: [
      { day: "2026-11-01", events: 30 },
      { day: "2026-11-02", events: 15 },
    ],
    daysBefore: [],
    total: 900,
  },
  {
    name: "a quiet day counts as a day",
    now: "2026-11-30T00:00:00Z",
    days: [
      { day: "2026-11-02", events: 100 },
      { day: "2026-11-23", events: 100 },
    ],
    daysBefore: [],
    total: 200 + 50, // of four Mondays two brought a hundred
  },
  { name: "the last evening", now: "2026-11-30T23:59:00Z", days: counted(november), daysBefore: counted(october), total: novemberTotal },
])("$name", ({ now, days, daysBefore, total }) => {
  const forecast = forecastMonth({ yearMonth: "2026-11", now, days, daysBefore });
  expect(forecast.total).toBe(total);
  expect(forecast.days.map(({ day }) => day)).toEqual(november);
  expect(forecast.days.filter(({ expected }) => expected === null).map(({ day }) => day)).toEqual(
    november.filter((day) => day < now.slice(0, 10)),
  );
});

test("a month is full on the day its cap is reached, or not at all", () => {
  const forecast = forecastMonth({
    yearMonth: "2026-11",
    now: "2026-11-16T00:00:00Z",
    days: counted(november.slice(0, 15)),
    daysBefore: [],
  });
  expect(fullOn(forecast, 140)).toBe("2026-11-02");
  expect(fullOn(forecast, novemberTotal)).toBe("2026-11-30");
  expect(fullOn(forecast, novemberTotal + 1)).toBeNull();
});

test("months are shifted over the year's end", () => {
  expect(shiftMonth("2026-01", -1)).toBe("2025-12");
  expect(shiftMonth("2026-12", 1)).toBe("2027-01");
  expect(shiftMonth("2026-11", -3)).toBe("2026-08");
  expect(daysOf("2028-02")).toHaveLength(29);
});
