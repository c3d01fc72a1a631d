import { z } from "zod";

/** A billing month, `2026-11`. Months and days of billing are UTC, whatever the site's own zone. */
export const yearMonth = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, "REQUIRED");

/** The month so many months after (or, negative, before) this one. */
export function shiftMonth(month: string, by: number): string {
  const start = new Date(`${month}-01T00:00:00Z`);
  start.setUTCMonth(start.getUTCMonth() + by);
  return start.toISOString().slice(0, 7);
}

/** Every day of a month, `2026-11-01` first. */
export function daysOf(month: string): string[] {
  const end = Date.parse(`${shiftMonth(month, 1)}-01T00:00:00Z`);
  const days: string[] = [];
  for (let at = Date.parse(`${month}-01T00:00:00Z`); at < end; at += 86_400_000) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}
