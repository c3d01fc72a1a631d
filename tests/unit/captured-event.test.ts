import { beforeAll, describe, expect, test } from "vitest";
import { captureEvent, requestFacts, visitorOf } from "#lib/ingest/capture-event.ts";
import { storedRow } from "#lib/ingest/drain.ts";
import { capturedEvent, wireEvent } from "#lib/ingest/event-shape.ts";
import type { SiteUuid } from "#lib/site.ts";
import { useAppEnv } from "#tests/support/app-env.ts";

beforeAll(() => {
  // Whose word about an address counts is a setting.
  useAppEnv({
    database: { appUrl: "postgres://localhost:1/none" },
    redisRest: { url: "http://localhost:1", token: "token-of-tests-0123456789" },
  });
});

const site = {
  siteUuid: "00000000-0000-4000-8000-000000000000" as SiteUuid,
  domains: ["a.test"],
  consentMode: "off" as const,
  respectsPrivacySignal: false,
  pageViews: false,
  ceilings: { minuteMax: 1000, dayMax: 20_000 },
};
const facts = { device: "mobile", country: "TR", city: null, trackerVersion: null, network: "203.0.113.0/24", browser: "chrome" as const };
const wire = (change: Record<string, unknown>) => wireEvent.parse({ u: "https://a.test/", ...change });
const capture = (change: Record<string, unknown>, mode: "off" | "required" = "off") =>
  captureEvent(wire(change), { ...site, consentMode: mode }, facts);
const stored = (change: Record<string, unknown>) => storedRow({ id: "row-id" }, { ...capture(change), visitor: "visitor" });

describe("captured", () => {
  test("whatever the gate captures, the worker can read", () => {
    for (const change of [
      {},
      { ec: "conversion", ea: "phone_call", el: "tel:+90" },
      { meta: { gclid: "x", utm_term: "y" }, t: 5_000, ev: 5 },
    ])
      expect(capturedEvent.safeParse(JSON.parse(JSON.stringify({ ...capture(change), visitor: "visitor" }))).success).toBe(true);
  });

  test("the visitor is the first-party id, else the session, else the event itself", () => {
    expect(visitorOf(wire({ meta: { fp: "fp" }, sid: "sid", eid: "eid" }))).toBe("fp");
    expect(visitorOf(wire({ sid: "sid", eid: "eid" }))).toBe("sid");
    expect(visitorOf(wire({ eid: "eid" }))).toBe("eid");
    expect(visitorOf(wire({}))).toBe(null);
  });

  // Guarantee: the site's own number is never shown as the caller's.
  test("the number that was clicked is not who called, and is kept nowhere; another event keeps its label", () => {
    expect(capture({ ec: "conversion", ea: "phone_call", el: "TEL:+902121112233" })).toMatchObject({ phone: null, label: null });
    expect(capture({ ea: "view", el: "Contact" })).toMatchObject({ phone: null, label: "Contact" });
  });

  test("a call's stamp is its intent stamp, else its event id; other events have none", () => {
    expect(capture({ ec: "conversion", eid: "eid", meta: { intent_stamp: "stamp" } }).intentStamp).toBe("stamp");
    expect(capture({ ec: "conversion", eid: "eid" }).intentStamp).toBe("eid");
    expect(capture({ eid: "eid", meta: { intent_stamp: "stamp" } }).intentStamp).toBe(null);
  });

  test.each([
    ["off", undefined, true],
    ["required", undefined, false],
    ["off", ["analytics"], false],
    ["required", ["analytics", "marketing"], true],
  ] as const)("consent mode %s with scopes %j: marketing %s", (mode, consent_scopes, marketing) => {
    const event = capture({ consent_scopes, meta: { gclid: "click" }, ec: "conversion", ea: "phone_call", el: "+90" }, mode);
    expect(event.marketingConsent).toBe(marketing);
    expect([event.gclid, event.phone]).toEqual(marketing ? ["click", null] : [null, null]);
  });

  // Guarantee: an address never brings a person's data or a click id into a table, whoever agreed to what.
  test.each([
    ["https://a.test/?gclid=X&a=1", "https://a.test/"],
    ["https://a.test/?utm_source=google&name=Ay%C5%9Fe&phone=905551112233", "https://a.test/?utm_source=google"],
    ["https://a.test/?to=%2Fb%3Fgclid%3DX%26c#gbraid=Y", "https://a.test/"],
    ["https://user:secret@a.test/basket", "https://a.test/basket"],
    ["android-app://com.google.android.gm/?id=7", "android-app://com.google.android.gm/"],
  ])("%s is kept as %s", (address, kept) => {
    for (const consent_scopes of [undefined, ["analytics"], ["analytics", "marketing"]])
      expect(capture({ u: "https://a.test/", r: address, consent_scopes }).referrer).toBe(kept);
    if (address.startsWith("https:")) expect(capture({ u: address }).url).toBe(kept);
  });

  test("a campaign name that is an e-mail address is left out", () => {
    expect(capture({ meta: { utm_source: "news", utm_content: "ayse@example.com" } }).utm).toEqual({ source: "news" });
  });

  test.each([
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Mobile", "mobile"],
    ["Mozilla/5.0 (Linux; Android 16) Mobile", "mobile"],
    ["Mozilla/5.0 (iPad; CPU OS 19_0)", "tablet"],
    ["Mozilla/5.0 (Windows NT 10.0)", "desktop"],
    ["", null],
  ])("%s is a %s", (agent, device) => {
    expect(requestFacts(new Headers({ "user-agent": agent })).device).toBe(device);
  });

  test("a city that cannot be decoded is none", () => {
    expect(requestFacts(new Headers({ "x-vercel-ip-city": "%E0%A4%A" })).city).toBe(null);
  });
});

describe("stored", () => {
  test.each([
    ["conversion", "phone_call", "phone"],
    ["conversion", "whatsapp", "whatsapp"],
    ["conversion", "form_submit", "form"],
    ["conversion", "purchase", null],
    ["interaction", "phone_call", null],
  ])("%s/%s is a call by %s", (ec, ea, channel) => {
    expect(stored({ ec, ea, eid: "eid" })).toMatchObject({ channel, intentStamp: channel && "eid" });
  });

  test("a call without any id is known by its captured row", () => {
    expect(stored({ ec: "conversion", ea: "phone_call" }).intentStamp).toBe("row-id");
  });

  test.each([
    ["https://www.google.com.tr/", true],
    ["android-app://com.google.android.googlequicksearchbox/", true],
    ["https://www.googleadservices.com/pagead/aclk", true],
    ["https://www.bing.com/", false],
    [undefined, false],
  ])("the referrer %s: from Google %s", (r, fromGoogle) => {
    expect(stored({ r }).fromGoogle).toBe(fromGoogle);
  });

  test.each([
    ["scroll_depth", 90, 90],
    ["scroll_depth", 49.6, 50],
    ["scroll_depth", 1e308, 100],
    ["scroll_depth", -5, 0],
    ["scroll_depth", null, 0],
    ["view", 90, 0],
  ])("%s of %j is a depth of %i", (ea, ev, depth) => {
    expect(stored({ ea, ev }).scrollDepth).toBe(depth);
  });

  // Guarantee: a call from a phone that was offline is told to Google with its own time; a wrong clock cannot move it by more than a day.
  test.each([
    [5_000, 5_000],
    ["5000", 5_000],
    [-5_000, 0],
    [9e15, 86_400_000],
    ["soon", 0],
    [undefined, 0],
  ])("an age of %j counts as %i ms", (t, ageMs) => {
    expect(stored({ t }).ageMs).toBe(ageMs);
  });
});
