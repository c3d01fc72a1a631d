import { expect, test } from "vitest";
import { memberInvite, newSite, siteInput } from "#lib/tenancy/site-fields.ts";
import { hasRole } from "#lib/tenancy/site-roles.ts";

const site = { name: "Akdere", domains: ["akdere.com.tr"], currency: "TRY", timezone: "Europe/Istanbul", locale: "tr" };

test("what a person pastes becomes bare host names, once each", () => {
  const domains = ["https://Akdere.com.tr/iletisim?x=1", " akdere.com.tr ", "şube.com.tr", "localhost"];
  expect(siteInput.parse({ ...site, domains }).domains).toEqual(["akdere.com.tr", "xn--ube-rza.com.tr", "localhost"]);
});

// Guarantee: whoever pastes the address of the www page does not lose the visits of the bare domain: the gate takes a host and its www.
// Mutation: without the rule about www, "www.x.com.tr" is stored and x.com.tr is refused.
test("scheme, path, port, a last dot and one leading www are dropped; other subdomains stay", () => {
  const stored = (pasted: string) => siteInput.parse({ ...site, domains: [pasted] }).domains[0];
  const pasted = [
    "https://www.x.com.tr/",
    "http://WWW.x.com.tr:8080/a?b#c",
    "www.x.com.tr.",
    "www.www.x.com.tr",
    "shop.x.com.tr",
    "www.com",
  ];
  expect(pasted.map(stored)).toEqual(["x.com.tr", "x.com.tr", "x.com.tr", "www.x.com.tr", "shop.x.com.tr", "www.com"]);
  expect(siteInput.parse({ ...site, domains: ["www.x.com", "x.com"] }).domains).toEqual(["x.com"]);
});

test.each([
  ["name", { name: "  " }, "REQUIRED"],
  ["name", { name: "x".repeat(81) }, "TOO_LONG"],
  ["domains", { domains: [] }, "REQUIRED"],
  ["domains", { domains: Array(21).fill("a.test") }, "TOO_MANY"],
  ["domains", { domains: ["not a domain"] }, "INVALID_DOMAIN"],
  ["domains", { domains: ["192.168.1.1"] }, "INVALID_DOMAIN"],
  ["currency", { currency: "try" }, "INVALID_CURRENCY"],
  ["timezone", { timezone: "Mars/Olympus" }, "INVALID_TIMEZONE"],
  ["timezone", { timezone: "+03:00" }, "INVALID_TIMEZONE"],
  ["locale", { locale: "de" }, "REQUIRED"],
])("a bad %s is refused with %o", (field, change, code) => {
  const issues = siteInput.safeParse({ ...site, ...change }).error?.issues ?? [];
  expect(issues.map((issue) => [issue.path[0], issue.message])).toContainEqual([field, code]);
});

test("names that Postgres cannot store are refused before they reach it", () => {
  for (const name of ["a\0b", "a\ud800b"]) expect(siteInput.safeParse({ ...site, name }).success).toBe(false);
});

test("addresses are compared in lower case", () => {
  expect(memberInvite.parse({ email: " Elif@Akdere.COM ", role: "viewer" }).email).toBe("elif@akdere.com");
});

test("a role includes the ones below it", () => {
  expect(hasRole("owner", "viewer")).toBe(true);
  expect(hasRole("operator", "operator")).toBe(true);
  expect(hasRole("viewer", "operator")).toBe(false);
});

test("a new site without an answer about consent or an average order is refused; the settings form is not asked", () => {
  expect(newSite.safeParse(site).error?.issues.map(({ path, message }) => [path[0], message])).toEqual([
    ["consentMode", "REQUIRED"],
    ["defaultAovCents", "REQUIRED"],
  ]);
  expect(siteInput.safeParse(site).success).toBe(true);
});
