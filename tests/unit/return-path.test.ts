import { expect, test } from "vitest";
import { returnPath } from "#lib/auth/return-path.ts";

// Guarantee: a link to our sign-in page never sends a signed-in person to somebody else's site.
test.each([
  ["/dashboard/site/abc?status=FAILED", "/dashboard/site/abc?status=FAILED"],
  ["https://evil.test/", "/dashboard"],
  ["//evil.test/", "/dashboard"],
  ["/\\evil.test", "/dashboard"],
  ["/\t/evil.test", "/dashboard"],
  ["/.//evil.test", "/dashboard"],
  ["/%2e//evil.test", "/dashboard"],
  ["/x/..//evil.test/a?b", "/dashboard"],
  ["javascript:alert(1)", "/dashboard"],
  ["", "/dashboard"],
  [undefined, "/dashboard"],
])("%s leads to %s", (next, expected) => {
  expect(returnPath(next)).toBe(expected);
});
