import { expect, test } from "vitest";
import { isAllowedOrigin } from "#lib/ingest/tracker-guard.ts";
import { everyCase } from "#tests/support/every-case.ts";

const domains = ["good.com", "localhost", "xn--ube-rza.com.tr"];

test("a page of the site is one", () => {
  everyCase(
    [
      "https://good.com",
      "https://www.good.com",
      "https://good.com:8443",
      "http://localhost",
      "http://localhost:3000",
      "https://xn--ube-rza.com.tr",
    ],
    (origin) => {
      expect(isAllowedOrigin(origin, domains)).toBe(true);
    },
  );
});

// Guarantee: a look-alike of a customer's domain sends no events in the customer's name.
test("another page is not", () => {
  everyCase(
    [
      null,
      "",
      "null",
      "http://good.com",
      "http://www.good.com",
      "https://good.com.evil.com",
      "https://evilgood.com",
      "https://evil.com/good.com",
      "https://good.com@evil.com",
      "https://evil@good.com",
      "https://evil.com#good.com",
      "https://evil.com?good.com",
      "https://sub.good.com",
      "https://www.www.good.com",
      "https://good.com.",
      "https://good.com/",
      "https://GOOD.com",
      "https://good.com https://evil.com",
      "file://good.com",
      "http://localhost.evil.com",
      "good.com",
    ],
    (origin) => {
      expect(isAllowedOrigin(origin, domains)).toBe(false);
    },
  );
});

test("www on the list is not the bare domain", () => {
  expect(isAllowedOrigin("https://good.com", ["www.good.com"])).toBe(false);
});
