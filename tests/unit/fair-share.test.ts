import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fairShare, type ShareGroup } from "#lib/delivery/fair-share.ts";

const closed = (queuedCount: number, servedAt: string | null = null): ShareGroup => ({
  queuedCount,
  servedAt,
  state: "CLOSED",
  isProbeDue: false,
  probeLimit: 5,
});
const probing = (queuedCount: number, probeLimit = 5): ShareGroup => ({
  ...closed(queuedCount),
  state: "OPEN",
  isProbeDue: true,
  probeLimit,
});
const open = (queuedCount: number): ShareGroup => ({ ...closed(queuedCount), state: "OPEN" });

/** Rows per group, in the order given; 0 for a group that gets none. */
function rowsOf(groups: ShareGroup[], limit: number): number[] {
  const shares = new Map(fairShare(groups, limit).map(({ group, rows }) => [group, rows]));
  return groups.map((group) => shares.get(group) ?? 0);
}

// Guarantee: the backlog is shared as the provider runbook says, so that no site waits behind another's.
describe("by hand", () => {
  test("shares follow the backlog", () => {
    expect(rowsOf([closed(60), closed(30), closed(10)], 100)).toEqual([60, 30, 10]);
    expect(rowsOf([closed(600), closed(300), closed(100)], 100)).toEqual([60, 30, 10]);
  });
  test("everybody gets one, and the largest gives it: 9 + 1 + 1 is one too many", () => {
    expect(rowsOf([closed(97), closed(2), closed(1)], 10)).toEqual([8, 1, 1]);
  });
  test("of equals the first in the list's order gives: 2 + 2 + 1 + 1 is one too many", () => {
    expect(rowsOf([closed(100), closed(100), closed(1), closed(1)], 5)).toEqual([1, 2, 1, 1]);
  });
  test("what is left goes round: 3 + 3 + 3 leaves one", () => {
    expect(rowsOf([closed(5), closed(5), closed(5)], 10)).toEqual([4, 3, 3]);
  });
  test("nobody gets more than is queued", () => {
    expect(rowsOf([closed(3), closed(4)], 50)).toEqual([3, 4]);
  });
  test("an open circuit gets nothing, and its rows do not weigh", () => {
    expect(rowsOf([open(1000), closed(60), closed(40)], 100)).toEqual([0, 60, 40]);
  });
  test("a probe that another worker has gets nothing", () => {
    expect(rowsOf([{ ...probing(50), state: "HALF_OPEN", isProbeDue: false }, closed(4)], 10)).toEqual([0, 4]);
  });
  test("a probe takes its limit first: of the 95 left the others get 57 and 38", () => {
    expect(rowsOf([probing(50), closed(60), closed(40)], 100)).toEqual([5, 57, 38]);
  });
  test("probes take no more than an equal part: 10 rows for six groups are one each, and four for who can use them", () => {
    expect(rowsOf([probing(20), probing(20), probing(20), probing(20), probing(20), closed(100)], 10)).toEqual([1, 1, 1, 1, 1, 5]);
    expect(rowsOf([probing(20), probing(20), closed(1)], 8)).toEqual([4, 3, 1]);
  });
  test("with more groups than rows, who waited longest is served", () => {
    const groups = [closed(1000, "2026-11-16T10:00:00Z"), closed(1), closed(5, "2026-11-16T09:00:00Z"), closed(1)];
    expect(rowsOf(groups, 2)).toEqual([0, 1, 0, 1]);
    expect(rowsOf(groups, 3)).toEqual([0, 1, 1, 1]);
  });
  test("no limit, no rows", () => {
    expect(fairShare([closed(5)], 0)).toEqual([]);
    expect(fairShare([], 5)).toEqual([]);
  });
});

const anyGroup = fc.record({
  queuedCount: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 1_000_000 })),
  state: fc.constantFrom("CLOSED" as const, "CLOSED" as const, "OPEN" as const, "HALF_OPEN" as const),
  isProbeDue: fc.boolean(),
  probeLimit: fc.integer({ min: 1, max: 20 }),
  servedAt: fc.option(fc.integer({ min: 0, max: 20 }).map((hour) => new Date(hour * 3_600_000).toISOString())),
});
const anyGroups = fc.array(anyGroup, { maxLength: 40 });
const anyLimit = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 5000 }));
const canUse = (group: ShareGroup) =>
  group.state === "CLOSED" ? group.queuedCount : group.isProbeDue ? Math.min(group.probeLimit, group.queuedCount) : 0;
const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

// Guarantee: one run never claims more than it was allowed, and a site with a million rows never takes another's first slot.
test("whatever waits: never over the limit, nothing wasted, first rows first, the same twice", () => {
  fc.assert(
    fc.property(anyGroups, anyLimit, (groups, limit) => {
      const rows = rowsOf(groups, limit);
      const servable = groups.map(canUse);
      expect(sum(rows)).toBe(Math.min(limit, sum(servable)));
      rows.forEach((count, index) => {
        expect(count).toBeLessThanOrEqual(servable[index] ?? 0);
      });
      const someLackTheirFirst = rows.some((count, index) => count === 0 && (servable[index] ?? 0) > 0);
      if (someLackTheirFirst) expect(Math.max(...rows)).toBe(1);
      expect(rowsOf(groups, limit)).toEqual(rows);
    }),
    { numRuns: 2000 },
  );
});

test("a closed group's share differs from its exact part by what the others' first rows and the leftover explain", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 30 }), anyLimit, (queued, limit) => {
      fc.pre(queued.length <= limit);
      const total = sum(queued);
      rowsOf(
        queued.map((count) => closed(count)),
        limit,
      ).forEach((rows, index) => {
        const exact = (limit * (queued[index] ?? 0)) / total;
        expect(rows).toBeGreaterThanOrEqual(Math.min(queued[index] ?? 0, Math.max(1, Math.floor(exact) - queued.length)));
      });
    }),
  );
});

// Guarantee: however many sites have a backlog, none waits for ever: with more groups than rows each has its turn.
test("each group is served within ⌈groups / limit⌉ + 1 runs, whoever else arrives", () => {
  const arrivals = fc.array(fc.array(fc.nat({ max: 29 }), { maxLength: 30 }), { minLength: 20, maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 12 }), arrivals, (groupCount, limit, runs) => {
      const groups = Array.from({ length: groupCount }, (_, index) => ({ ...closed(index === 0 ? 1_000_000 : 0), waitedRuns: 0 }));
      for (const [run, arriving] of runs.entries()) {
        for (const index of arriving) {
          const group = groups[index];
          if (group) group.queuedCount += 1;
        }
        const waiting = groups.filter(({ queuedCount }) => queuedCount > 0);
        for (const group of waiting) group.waitedRuns += 1;
        for (const { group, rows } of fairShare(waiting, limit)) {
          group.queuedCount -= rows;
          group.servedAt = new Date(run * 600_000).toISOString();
          group.waitedRuns = 0;
        }
        for (const { waitedRuns } of groups) expect(waitedRuns).toBeLessThan(Math.ceil(groupCount / limit) + 1);
      }
    }),
    { numRuns: 500 },
  );
});
