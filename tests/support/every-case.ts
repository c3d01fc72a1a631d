import { expect } from "vitest";

/** One rule over a table of cases: fails with each case that breaks it, and what broke. */
export function everyCase<T>(cases: Iterable<T>, check: (one: T) => void): void {
  const broken: string[] = [];
  for (const one of cases) {
    try {
      check(one);
    } catch (error) {
      broken.push(`${typeof one === "string" ? one : JSON.stringify(one)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  expect(broken).toEqual([]);
}
