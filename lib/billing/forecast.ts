import type { DayCount } from "./billing-shapes.ts";
import { daysOf } from "./year-month.ts";

export interface ForecastDay {
  day: string;
  /** Counted up to now; 0 on days to come. */
  counted: number;
  /** What the day is expected to end with; null on days that are over. */
  expected: number | null;
}

export interface Forecast {
  /** What the month is on course for. */
  total: number;
  days: ForecastDay[];
}

interface ForecastInput {
  yearMonth: string;
  now: string;
  days: DayCount[];
  /** The four weeks before the month. */
  daysBefore: DayCount[];
}

/** Fewer whole days than this say nothing about weekdays. */
const learningDaysMin = 3;

const weekday = (day: string) => new Date(`${day}T00:00:00Z`).getUTCDay();
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * A day to come is expected to bring the mean of the same weekdays since four weeks before the month; a weekday not seen yet, the
 * mean of all days. Today is expected to end at that mean, or at what it already has. With fewer than three whole days to learn from,
 * the month goes on in a straight line from what was counted so far.
 */
export function forecastMonth({ yearMonth, now, days, daysBefore }: ForecastInput): Forecast {
  const today = now.slice(0, 10);
  const counts = new Map([...daysBefore, ...days].map(({ day, events }) => [day, events]));
  const monthDays = daysOf(yearMonth);
  const expectedOn = expectation(counts, today, monthDays, now);
  const result = monthDays.map((day): ForecastDay => {
    const counted = counts.get(day) ?? 0;
    return { day, counted, expected: day < today ? null : Math.round(Math.max(counted, expectedOn(day))) };
  });
  return { days: result, total: result.reduce((sum, { counted, expected }) => sum + (expected ?? counted), 0) };
}

function expectation(counts: Map<string, number>, today: string, monthDays: string[], now: string): (day: string) => number {
  const first = [...counts.keys()].sort()[0];
  const learned = first ? wholeDays(first, today).map((day) => ({ day, events: counts.get(day) ?? 0 })) : [];
  if (learned.length < learningDaysMin) {
    const elapsedDays = Math.max(Date.parse(now) - Date.parse(`${monthDays[0]}T00:00:00Z`), 3_600_000) / 86_400_000;
    const used = monthDays.reduce((sum, day) => sum + (counts.get(day) ?? 0), 0);
    return () => used / elapsedDays;
  }
  const overall = mean(learned.map(({ events }) => events));
  const byWeekday = Array.from({ length: 7 }, (_, index) => {
    const same = learned.filter(({ day }) => weekday(day) === index).map(({ events }) => events);
    return same.length > 0 ? mean(same) : overall;
  });
  return (day) => byWeekday[weekday(day)] ?? overall;
}

/** Days from the first one counted up to yesterday: a quiet day in between counts as 0; days before the first do not count. */
function wholeDays(first: string, today: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(`${first}T00:00:00Z`); at < Date.parse(`${today}T00:00:00Z`); at += 86_400_000) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

/** The day on which a month is expected to be full; null when it is not. */
export function fullOn({ days }: Forecast, capEvents: number): string | null {
  let sum = 0;
  for (const { day, counted, expected } of days) {
    sum += expected ?? counted;
    if (sum >= capEvents) return day;
  }
  return null;
}
