import type { DeliveryLine } from "./days.ts";

/** How the report of days is chosen in the address: a length that ends today, or two days. */
export const daySpans = ["7", "30", "90"] as const;
export type DaySpanLength = (typeof daySpans)[number];

const dayMs = 86_400_000;
/** The report reads at most so many days. */
export const daysMax = 92;

export const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));

const addDays = (day: string, count: number) => new Date(Date.parse(`${day}T00:00:00Z`) + count * dayMs).toISOString().slice(0, 10);

/** Which day it is in a time zone. */
export const todayIn = (timeZone: string, now: Date) => new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }).format(now);

/** The two days that a chosen length means today. */
export const lastDays = (length: DaySpanLength, today: string) => ({ from: addDays(today, 1 - Number(length)), to: today });

/** Each day from one to the other, both included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < daysMax; day = addDays(day, 1)) days.push(day);
  return days;
}

export interface DaySum extends Pick<DeliveryLine, "confirmed" | "duplicate" | "rejected" | "unknown" | "waiting" | "noVerdict"> {
  day: string;
  sent: number;
  adjusted: number;
  sentCents: Record<string, number>;
  confirmedCents: Record<string, number>;
}

const emptySum = (day: string): DaySum => ({
  day,
  ...{ sent: 0, confirmed: 0, duplicate: 0, rejected: 0, unknown: 0, waiting: 0, noVerdict: 0, adjusted: 0 },
  ...{ sentCents: {}, confirmedCents: {} },
});

function addLine(sum: DaySum, line: DeliveryLine): DaySum {
  const { script, data_manager, ads_api, by_hand } = line.sent;
  const plus = (cents: Record<string, number>, more: number) =>
    more === 0 ? cents : { ...cents, [line.currency]: (cents[line.currency] ?? 0) + more };
  return {
    day: sum.day,
    sent: sum.sent + script + data_manager + ads_api + by_hand,
    confirmed: sum.confirmed + line.confirmed,
    duplicate: sum.duplicate + line.duplicate,
    rejected: sum.rejected + line.rejected,
    unknown: sum.unknown + line.unknown,
    waiting: sum.waiting + line.waiting,
    noVerdict: sum.noVerdict + line.noVerdict,
    adjusted: sum.adjusted + line.restated + line.retracted,
    sentCents: plus(sum.sentCents, line.sentCents),
    confirmedCents: plus(sum.confirmedCents, line.confirmedCents),
  };
}

/** The report by day, its currencies together, empty days included. */
export function sumByDay({ from, to, days }: { from: string; to: string; days: DeliveryLine[] }): DaySum[] {
  return daysBetween(from, to).map((day) => days.filter((line) => line.day === day).reduce(addLine, emptySum(day)));
}

/** The whole span as one line. */
export const sumOfDays = (days: DeliveryLine[]): DaySum => days.reduce(addLine, emptySum(""));

/** Google gives no verdict on anything that was sent: how much of it counts is unknown, not 0. */
export const isSilent = ({ sent, noVerdict }: Pick<DaySum, "sent" | "noVerdict">) => sent > 0 && noVerdict === sent;
