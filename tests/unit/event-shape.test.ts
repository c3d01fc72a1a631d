import { describe, expect, test } from "vitest";
import { wireEvent } from "#lib/ingest/event-shape.ts";

const event = { s: "site", u: "https://a.test/page" };
const parse = (change: Record<string, unknown>) => wireEvent.parse({ ...event, ...change });

test("an event needs only the address of its page", () => {
  expect(wireEvent.parse({ url: "http://a.test/" })).toMatchObject({
    url: "http://a.test/",
    ec: "interaction",
    ea: "view",
    eid: null,
    ev: null,
  });
  for (const u of [undefined, "", "a.test", "ftp://a.test/", "javascript:alert(1)", 5, null, "https://["])
    expect(wireEvent.safeParse({ u }).success, String(u)).toBe(false);
});

describe("texts", () => {
  test.each([
    ["eid", 64],
    ["sid", 64],
    ["ec", 60],
    ["ea", 60],
    ["el", 300],
    ["r", 2048],
  ] as const)("%s is cut at %i characters", (field, max) => {
    expect(parse({ [field]: "x".repeat(max + 1) })[field]).toBe("x".repeat(max));
  });

  test("an address is cut at 4096 characters", () => {
    expect(parse({ u: `https://a.test/${"x".repeat(5000)}` }).url).toHaveLength(4096);
  });

  // Guarantee: what the gate takes, Postgres can store. Mutation: mend the surrogates before the cut.
  test("no NUL and no half of a surrogate pair is left, not even by the cut itself", () => {
    expect(parse({ el: "a\0b\ud800c" }).el).toBe("ab\ufffdc");
    const cut = parse({ eid: `${"x".repeat(63)}\ud83d\ude00` }).eid ?? "";
    expect([cut.length, cut.isWellFormed()]).toEqual([64, true]);
  });

  // Guarantee: an id of nothing but NULs is none: an empty id would be refused by the database, with the whole batch.
  test("a text that is empty, or empty once cleaned, counts as none", () => {
    expect(parse({ eid: "\0\0", el: "", meta: { fp: "\0", gclid: "" } })).toMatchObject({
      eid: null,
      el: null,
      meta: { fp: null, gclid: null },
    });
    expect(parse({ ec: "", ea: "\0" })).toMatchObject({ ec: "interaction", ea: "view" });
  });

  test("numbers become texts; anything else counts as none, and costs nothing else", () => {
    const odd = parse({ el: 5, eid: {}, ec: { toString: 1 }, ea: ["x"], r: true, meta: { fp: 7, gclid: [] } });
    expect(odd).toMatchObject({ el: "5", eid: null, ec: "interaction", ea: "view", r: null, meta: { fp: "7", gclid: null } });
  });
});

test.each([
  [90, 90],
  ["90", 90],
  ["1e2", 100],
  ["", null],
  [null, null],
  ["NaN", null],
  ["1e999", null],
  [{}, null],
])("the value %j is read as %j", (ev, read) => {
  expect(parse({ ev }).ev).toBe(read);
});

test.each([
  ["sent", ["analytics"], ["analytics"]],
  ["not sent", undefined, undefined],
  ["null", null, undefined],
  ["a text", "analytics", []],
  ["not texts", [1], []],
  ["too many", Array(11).fill("analytics"), []],
])("consent scopes that are %s", (_name, consent_scopes, read) => {
  expect(parse({ consent_scopes }).consent_scopes).toEqual(read);
  expect(parse({ meta: { consent_scopes } }).meta.consent_scopes).toEqual(read);
});

test.each([[null], ["text"], [5], [[]]])("meta %j counts as empty", (meta) => {
  expect(parse({ meta }).meta.fp).toBe(null);
});

// Guarantee: nobody sets a price, a site or a status from a web page.
test("unknown fields are left out", () => {
  const read = parse({ site_id: "x", billable: false, value_cents: 1, seal_status: "sealed", meta: { admin: true }, __proto__: { a: 1 } });
  expect(Object.keys(read).toSorted()).toEqual(["ea", "ec", "eid", "el", "ev", "meta", "r", "s", "sid", "t", "url", "wholeLabel"]);
  expect(read.meta).not.toHaveProperty("admin");
});
