import fc from "fast-check";
import { expect, test } from "vitest";
import { idempotencyKey } from "#lib/ingest/admit.ts";
import type { SiteUuid } from "#lib/site.ts";

const parts = {
  siteUuid: "site" as SiteUuid,
  category: "interaction",
  action: "view",
  label: "Top",
  url: "https://a.test/",
  visitor: "ayse",
};

test("the same parts in the same five seconds give the same 64 hex digits", () => {
  const key = idempotencyKey(parts, 10_000);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(idempotencyKey({ ...parts }, 14_999)).toBe(key);
});

test("a bucket begins at each whole five seconds", () => {
  expect(idempotencyKey(parts, 9_999)).not.toBe(idempotencyKey(parts, 10_000));
  expect(idempotencyKey(parts, 14_999)).not.toBe(idempotencyKey(parts, 15_000));
});

test.each(["siteUuid", "category", "action", "label", "url", "visitor"] as const)("another %s is another key", (part) => {
  expect(idempotencyKey({ ...parts, [part]: `${parts[part]}x` }, 0)).not.toBe(idempotencyKey(parts, 0));
});

// Guarantee: two different events never share a billable row by the way their fields are put together.
// Mutation: leave out the length before each part.
test("no two inputs run together", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom("", ":", "1:", "0:", "a", "ab", "\ud83d\ude00"));
  const input = fc.record({
    siteUuid: text.map((id) => id as SiteUuid),
    category: text,
    action: text,
    label: text,
    url: text,
    visitor: text,
  });
  fc.assert(
    fc.property(input, input, (one, other) => {
      const same = JSON.stringify(one) === JSON.stringify(other);
      return (idempotencyKey(one, 0) === idempotencyKey(other, 0)) === same;
    }),
    { numRuns: 2_000 },
  );
  const shifted = [
    { ...parts, category: "nav/top", action: "click" },
    { ...parts, category: "nav", action: "top/click" },
    { ...parts, category: "nav", action: "top", label: "click" },
  ].map((input) => idempotencyKey(input, 0));
  expect(new Set(shifted).size).toBe(3);
});
