import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SiteId } from "#lib/site.ts";
import { figuresOf, type IngestApp, type IngestSite, startIngestApp } from "#tests/support/ingest-app.ts";

let app: IngestApp;
let site: IngestSite;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  site = await app.newSite();
});
afterAll(() => app.stop());

const bodies = process.env.OPSMANTIK_FAULT === "full" ? 10_000 : 500;

/** Texts that have broken parsers before: NUL, half a surrogate pair, prototypes, numbers that are none. */
const nasty = fc.constantFrom(
  "",
  "\0",
  "\ud83d",
  `${"x".repeat(63)}\ud83d\ude00`,
  `${"x".repeat(299)}\ud83d\ude00`,
  "__proto__",
  "constructor",
  "NaN",
  "1e999",
  "-0",
  "x".repeat(5_000),
  "'; drop table sites; --",
  "https://[",
  "https://a.test/\0",
);
const text = fc.oneof(nasty, fc.string({ unit: "binary" }), fc.string());
const anything = fc.oneof(
  { weight: 3, arbitrary: text },
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom({ toString: 1 }, { valueOf: null }, [[[[[[]]]]]]),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.option(fc.oneof({ weight: 3, arbitrary }, anything as fc.Arbitrary<T>), { nil: undefined });

function eventOf(siteId: SiteId, origin: string) {
  const keys = ["fp", "gclid", "wbraid", "gbraid", "cts", "utm_source", "device", "intent_stamp", "consent_scopes", "__proto__"];
  return fc.record(
    {
      s: fc.oneof({ weight: 9, arbitrary: fc.constant(siteId) }, anything),
      u: fc.oneof(
        { weight: 6, arbitrary: fc.webUrl({ withQueryParameters: true }) },
        { weight: 2, arbitrary: fc.constant(origin) },
        anything,
      ),
      url: fc.option(anything, { nil: undefined }),
      eid: maybe(text),
      sid: maybe(text),
      ec: maybe(fc.constantFrom("conversion", "interaction", "system")),
      ea: maybe(fc.constantFrom("phone_call", "whatsapp", "form_submit", "view", "scroll_depth", "hover_intent")),
      el: maybe(text),
      ev: maybe(fc.double()),
      r: maybe(fc.webUrl()),
      meta: fc.oneof({ weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...keys), anything) }, anything),
      consent_scopes: fc.option(fc.oneof(fc.constant(["analytics", "marketing"]), fc.constant(["analytics"]), anything), {
        nil: undefined,
      }),
    },
    { requiredKeys: ["s", "u"] },
  );
}

function bodyOf(siteId: SiteId, origin: string): fc.Arbitrary<string> {
  const event = eventOf(siteId, origin);
  return fc.oneof(
    { weight: 4, arbitrary: event.map((value) => JSON.stringify(value)) },
    {
      weight: 3,
      arbitrary: fc
        .array(fc.oneof({ weight: 4, arbitrary: event }, anything), { maxLength: 5 })
        .map((events) => JSON.stringify({ s: siteId, events })),
    },
    { weight: 1, arbitrary: fc.json().map(String) },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    { weight: 1, arbitrary: fc.tuple(event, fc.nat(200)).map(([value, cut]) => JSON.stringify(value).slice(0, -cut)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "[".repeat(10_000),
        `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`,
        `{"s":"${siteId}","events":${"[".repeat(9_000)}${"]".repeat(9_000)}}`,
      ),
    },
  );
}

// Guarantee: no body makes the gate fail, none that it refuses leaves a row, and none that it takes is lost or poisons the worker.
test(
  `${bodies} malformed and half-formed bodies: never a 500, a row for exactly what was accepted, and all of it can be stored`,
  async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(bodyOf(site.siteId, site.origin), async (body) => {
        const response = await app.sync(site, body);
        const answer = response.status === 204 ? {} : await response.json();
        expect(response.status, JSON.stringify(answer)).toBeLessThan(500);
        if (response.status === 200) accepted += answer.accepted;
        expect((await figuresOf(app.db, site)).billed).toBe(accepted);
      }),
      { numRuns: bodies, endOnFailure: true },
    );
    const { failed } = await app.recover();
    expect(failed).toBe(0);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: accepted, captured: accepted, stored: accepted });
    expect(accepted).toBeGreaterThan(bodies / 20); // about 70 of 500 are taken, now and then fewer than 50
  },
  bodies * 200,
);
