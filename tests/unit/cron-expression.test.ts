import { describe, expect, test } from "vitest";
import { cronMatches } from "#scripts/local/cron/cron-expression.ts";
import { everyCase } from "#tests/support/every-case.ts";

const at = (iso: string) => new Date(iso);

describe("cronMatches", () => {
  // Guarantee: the demo runs recovery, sweeps and invoices at the minutes at which Vercel would.
  test("an expression is due at its minutes and at no other", () => {
    everyCase(
      [
        ["* * * * *", "2026-11-16T03:07:00Z", true],
        ["*/10 * * * *", "2026-11-16T03:20:00Z", true],
        ["*/10 * * * *", "2026-11-16T03:21:00Z", false],
        ["17 3 * * *", "2026-11-16T03:17:59Z", true],
        ["17 3 * * *", "2026-11-16T04:17:00Z", false],
        ["0,30 9-17 * * *", "2026-11-16T17:30:00Z", true],
        ["0,30 9-17 * * *", "2026-11-16T18:00:00Z", false],
        ["5/20 * * * *", "2026-11-16T00:45:00Z", true],
        ["10-40/15 * * * *", "2026-11-16T00:25:00Z", true],
        ["10-40/15 * * * *", "2026-11-16T00:55:00Z", false],
        ["0 0 1 * *", "2026-12-01T00:00:00Z", true],
        ["0 0 1 * *", "2026-12-02T00:00:00Z", false],
        ["0 0 * 2 *", "2026-03-01T00:00:00Z", false],
        ["0 0 * * 0", "2026-11-15T00:00:00Z", true],
        ["0 0 * * 7", "2026-11-15T00:00:00Z", true],
        ["0 0 * * 1-5", "2026-11-15T00:00:00Z", false],
      ] as const,
      ([expression, time, due]) => {
        expect(cronMatches(expression, at(time))).toBe(due);
      },
    );
  });

  // Guarantee: with both days given cron means either; "and" would skip nearly every run.
  test("a day of month and a day of week together mean either", () => {
    expect(cronMatches("0 0 13 * 5", at("2026-11-13T00:00:00Z"))).toBe(true);
    expect(cronMatches("0 0 13 * 5", at("2026-11-20T00:00:00Z"))).toBe(true);
    expect(cronMatches("0 0 13 * 5", at("2026-11-14T00:00:00Z"))).toBe(false);
  });

  // Guarantee: hours are UTC whatever the machine's zone, as on Vercel.
  test("times with an offset are read in UTC", () => {
    expect(cronMatches("0 21 * * *", at("2026-11-16T00:00:00+03:00"))).toBe(true);
  });

  // Guarantee: a typo in vercel.json is reported and not taken for "never".
  test("an expression that cannot be read is refused", () => {
    everyCase(
      ["* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "a * * * *", "5-1 * * * *", "*/0 * * * *", "*-5 * * * *", ""],
      (expression) => {
        expect(() => cronMatches(expression, at("2026-11-16T00:00:00Z"))).toThrow();
      },
    );
  });
});
