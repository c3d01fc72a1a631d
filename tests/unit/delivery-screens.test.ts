import { describe, expect, test } from "vitest";
import en from "#lib/i18n/messages/en.json";
import { type AdjustmentPath, adjustmentDaysLeft, adjustmentPath, adjustmentPaths } from "#lib/oci/queue/adjustment-path.ts";
import { daysBetween, isSilent, lastDays, sumByDay, sumOfDays, todayIn } from "#lib/oci/queue/day-span.ts";
import type { DeliveryLine } from "#lib/oci/queue/days.ts";
import { blockedProviders, deferralOf, obstacleOf, reasonOf, verdictWait } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { readView, writeView } from "#lib/oci/queue/view.ts";
import { whyMessage } from "#lib/oci/queue/why-message.ts";
import { deliveryLinks, type WhyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import { everyCase } from "#tests/support/every-case.ts";

const now = new Date("2026-11-16T12:00:00Z");

describe("what a change of a sale means for Google", () => {
  type Standing = NonNullable<QueueRowStory["sale"]["atGoogle"]>;
  const standing = (more: Partial<Standing> = {}): Standing => ({
    kind: "CONVERSION",
    transport: "data_manager",
    valueCents: 100,
    at: "2026-11-16T10:00:00Z",
    verdict: "CONFIRMED",
    isWbraidOnly: false,
    isElsewhere: false,
    ...more,
  });
  const until = "2027-01-09T00:00:00Z";
  const quiet = { wasRejected: false, isInFlight: false, now };
  test.each<[string, AdjustmentPath, Standing | null, ("script" | "api")?, string?]>([
    ["nothing was sent", "unsent", null],
    ["Google confirmed it", "automatic", standing()],
    ["Google had it already", "automatic", standing({ verdict: "DUPLICATE" })],
    ["Google has not said yet", "afterVerdict", standing({ verdict: null })],
    ["Google never said", "automatic", standing({ verdict: "UNKNOWN" })],
    ["the Ads API took it", "automatic", standing({ transport: "ads_api", verdict: null })],
    ["a script sent it today, the API sends now", "tomorrow", standing({ transport: "script", verdict: null })],
    ["a script sent it two days ago", "automatic", standing({ transport: "script", verdict: null, at: "2026-11-14T10:00:00Z" })],
    ["a script sends", "byHand", standing({ transport: "script", verdict: null }), "script"],
    ["only a wbraid was sent", "byHand", standing({ isWbraidOnly: true })],
    ["another account has it", "byHand", standing({ isElsewhere: true })],
    ["54 days are over", "late", standing(), "api", "2026-11-16T11:59:00Z"],
    ["it was taken back already", "unsent", standing({ kind: "RETRACT" })],
  ])("%s: %s", (_name, path, atGoogle, syncMethod = "api", adjustableUntil = until) => {
    expect(adjustmentPath({ deliveryBlock: null, atGoogle, adjustableUntil }, { syncMethod, ...quiet })).toBe(path);
  });

  test("a sale that Google never gets, or did not take, stays in the ledger", () => {
    const sale = { deliveryBlock: null, atGoogle: null, adjustableUntil: until };
    const site = { ...quiet, syncMethod: "api", wasRejected: true } as const;
    expect(adjustmentPath({ ...sale, deliveryBlock: "NO_CONSENT" }, site)).toBe("blocked");
    expect(adjustmentPath(sale, site)).toBe("rejected");
    expect(adjustmentPath(sale, { ...site, isInFlight: true })).toBe("inFlight");
  });

  test("the clock counts whole days, says the last one, and stops", () => {
    expect(adjustmentDaysLeft("2026-11-28T13:00:00Z", now)).toBe(12);
    expect(adjustmentDaysLeft("2026-11-16T13:00:00Z", now)).toBe(0);
    expect(adjustmentDaysLeft("2026-11-16T12:00:00Z", now)).toBeNull();
  });

  test("every way has its sentences", () => {
    const { paths, correctPaths, cancelPaths } = en.oci.adjust;
    for (const texts of [paths, correctPaths, cancelPaths]) expect(Object.keys(texts).sort()).toEqual([...adjustmentPaths].sort());
  });
});

describe("why a row waits, and what went wrong", () => {
  const row = (more: Partial<QueueRow>) =>
    ({ status: "RETRY", providerErrorCode: null, attemptErrorCode: null, attemptError: null, ...more }) as QueueRow; // these fields decide
  // Guarantee: an open circuit does not hide what Google said of the row.
  test("a deferral is the wait, the last attempt's error is the reason", () => {
    const deferred = row({ providerErrorCode: "CIRCUIT_OPEN", attemptErrorCode: "UNAVAILABLE", attemptError: "503" });
    expect([deferralOf(deferred), reasonOf(deferred)]).toEqual(["CIRCUIT_OPEN", "UNAVAILABLE"]);
    const never = row({ providerErrorCode: "CONCURRENCY_LIMIT" });
    expect([deferralOf(never), reasonOf(never)]).toEqual(["CONCURRENCY_LIMIT", null]);
    const tried = row({ providerErrorCode: "UNAVAILABLE", attemptErrorCode: "UNAVAILABLE", attemptError: "503" });
    expect([deferralOf(tried), reasonOf(tried)]).toEqual([null, "UNAVAILABLE"]);
    expect(reasonOf(row({ attemptError: "fetch failed" }))).toBe("TRANSIENT_ERROR");
    expect(reasonOf(row({ status: "FAILED", providerErrorCode: "MAX_ATTEMPTS", attemptErrorCode: "UNAVAILABLE" }))).toBe("MAX_ATTEMPTS");
  });

  // Guarantee: a row that waits for the server's key names who sets it, not an error of last week.
  test("a deferral that somebody must end is the obstacle, whatever the last attempt met", () => {
    for (const code of ["VAULT_KEY_MISSING", "VAULT_KEY_MISMATCH", "CREDENTIALS_UNREADABLE"])
      expect(obstacleOf(row({ providerErrorCode: code, attemptErrorCode: "UNAVAILABLE", attemptError: "503" }))).toBe(code);
    expect(obstacleOf(row({ providerErrorCode: "CIRCUIT_OPEN" }))).toBeNull();
    expect(obstacleOf(row({ providerErrorCode: "CREDENTIALS_UNREADABLE", attemptErrorCode: "CREDENTIALS_UNREADABLE" }))).toBeNull();
  });

  test("nothing leaves a site that is blocked or not connected", () => {
    const provider = { provider: "google_ads", totals: {} as never, valueWaitingCents: {}, circuit: null };
    const blocked = { code: "invalid_grant", since: now.toISOString() };
    expect(blockedProviders({ connected: true, perProvider: [{ ...provider, blocked }] }).size).toBe(1);
    expect(blockedProviders({ connected: false, perProvider: [{ ...provider, blocked: null }] }).size).toBe(1);
    expect(blockedProviders({ connected: true, perProvider: [{ ...provider, blocked: null }] }).size).toBe(0);
    expect(blockedProviders({ connected: null, perProvider: [{ ...provider, blocked: null }] }).size).toBe(0);
  });
});

describe("why it was not counted", () => {
  const facts: WhyNotCounted["facts"] = {
    ...{
      amountCents: 100,
      currency: "TRY",
      orderId: "om_1",
      isSealed: true,
      isOwner: true,
      syncMethod: "api",
      conversionName: "Sale",
      clickMinAgeHours: 6,
    },
    ...{ rowId: "row", heldBy: { saleId: "sale", rowId: "held" }, retractionId: "retraction" },
  };
  const message = (link: WhyNotCounted["link"], code: string | null) => whyMessage({ saleId: "", link, code, at: null, facts });

  test("every link has a sentence for a code that nobody has met", () => {
    everyCase(deliveryLinks, (link) => {
      const { key, fixKey, causeCode } = message(link, "NEVER_SEEN");
      expect(en.why.links[key].what).toBeTruthy();
      expect(fixKey ? en.why.links[fixKey].fix : causeCode).toBeTruthy();
    });
  });

  test.each([
    ["BLOCKED", "invalid_grant", { to: "connections" }],
    ["ACTION", "MISSING", { to: "connections" }],
    ["CLICK", "NO_CLICK_ID", { to: "tracker" }],
    ["SEAL", "DRAFT", { to: "sales" }],
    ["HELD", "RETRACTION", { to: "row", rowId: "held" }],
    ["CANCELLED", "BY_HAND", { to: "row", rowId: "retraction" }],
    ["REJECTED", "CLICK_NOT_FOUND", { to: "row", rowId: "row" }],
  ] as const)("%s %s is fixed where its link leads", (link, code, place) => {
    expect(message(link, code).place).toEqual(place);
  });

  test("only owners are led to the tracker's page, which only they may open", () => {
    expect(whyMessage({ saleId: "", link: "CLICK", code: "NO_CLICK_ID", at: null, facts: { ...facts, isOwner: false } }).place).toBeNull();
  });

  // Guarantee: no answer leads to a page on which nothing can be done.
  test("an archived site's answer leads its owner to Settings, and nobody else anywhere", () => {
    const archived = (link: WhyNotCounted["link"], code: string | null, canRestore: boolean) =>
      whyMessage({ saleId: "", link, code, at: null, facts: { ...facts, archivedAt: "2026-11-16T12:00:00Z", canRestore } }).place;
    expect(archived("ARCHIVED", null, true)).toEqual({ to: "settings" });
    expect(archived("ARCHIVED", null, false)).toBeNull();
    expect(archived("BLOCKED", "invalid_grant", true)).toBeNull();
    expect(archived("REJECTED", "CLICK_NOT_FOUND", false)).toEqual({ to: "row", rowId: "row" });
  });

  // Guarantee: nobody waits for a verdict that never comes.
  test.each(["ads_api", "script", "by_hand"])("what went by %s looks finished: its way gives no verdict", (transport) => {
    expect(message("NO_VERDICT", transport)).toMatchObject({ step: "verdict", tone: "none" });
    expect(message("VERDICT", "NO_VERDICT_YET").tone).toBe("waits");
  });

  test("a failure, a rejection and a retry tell their cause; an attempt that threw says that Google did not answer", () => {
    expect(message("FAILED", "UNPARSEABLE_GCLID").causeCode).toBe("UNPARSEABLE_GCLID");
    expect(message("REJECTED", "EVENT_TOO_OLD").causeCode).toBe("EVENT_TOO_OLD");
    expect(message("RETRIES", null)).toMatchObject({ causeCode: "TRANSIENT_ERROR", key: "retriesSoon" });
    expect(message("COUNTED", null)).toMatchObject({ causeCode: null, tone: "counted" });
  });
});

// Guarantee: the drawer names the wait that is configured, not half an hour where the demo asks after seconds.
test("a conversion without a verdict says when Google is asked: first, again, with the next run, or no more", () => {
  const wait = (nextCheckAt: string | null, firstPollSeconds: number, at = "2026-11-16T11:59:58Z") =>
    verdictWait({ at, nextCheckAt }, { firstPollSeconds, now });
  expect(wait("2026-11-16T12:00:03Z", 5)).toBe("first");
  expect(wait("2026-11-16T12:29:58Z", 1800)).toBe("first");
  expect(wait("2026-11-16T12:29:58Z", 5)).toBe("again");
  expect(wait("2026-11-16T12:00:00Z", 2)).toBe("due");
  expect(wait(null, 1800)).toBe("none");
});

describe("the report of days", () => {
  test("a length ends today in the site's zone; a span has every day, both ends included", () => {
    expect(todayIn("Europe/Istanbul", new Date("2026-11-16T21:01:00Z"))).toBe("2026-11-17");
    expect(lastDays("7", "2026-11-03")).toEqual({ from: "2026-10-28", to: "2026-11-03" });
    expect(daysBetween("2026-02-27", "2026-03-01")).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  });

  test("two currencies of a day are one bar and two sums; days without anything are there", () => {
    const line = (more: Partial<DeliveryLine>): DeliveryLine => ({
      ...{ day: "2026-11-02", currency: "TRY", sent: { script: 1, data_manager: 2, ads_api: 0, by_hand: 0 } },
      ...{ confirmed: 1, duplicate: 1, rejected: 1, unknown: 0, waiting: 0, noVerdict: 0, sentCents: 600, confirmedCents: 300 },
      ...{ rejectedCents: 100, restated: 1, retracted: 0, adjustmentsRejected: 0, ...more },
    });
    const days = [line({}), line({ currency: "EUR", sentCents: 50, confirmedCents: 0 })];
    const [empty, full] = sumByDay({ from: "2026-11-01", to: "2026-11-02", days });
    expect(empty).toMatchObject({ day: "2026-11-01", sent: 0, sentCents: {} });
    expect(full).toMatchObject({
      sent: 6,
      confirmed: 2,
      rejected: 2,
      adjusted: 2,
      sentCents: { TRY: 600, EUR: 50 },
      confirmedCents: { TRY: 300 },
    });
    expect(sumOfDays(days)).toMatchObject({ sent: 6, duplicate: 2 });
  });

  // Guarantee: a site that sends by script does not read that Google counted nothing.
  test("what gets no verdict is unknown, not zero", () => {
    expect(isSilent({ sent: 4, noVerdict: 4 })).toBe(true);
    expect(isSilent({ sent: 4, noVerdict: 3 })).toBe(false);
    expect(isSilent({ sent: 0, noVerdict: 0 })).toBe(false);
  });

  test.each(["?tab=days", "?tab=days&last=7", "?tab=days&from=2026-11-01&to=2026-11-05"])(
    "%s comes back as the same address",
    (address) => {
      expect(writeView(readView(new URLSearchParams(address)))).toBe(address);
    },
  );

  test.each(["from=2026-11-05&to=2026-11-01", "from=2026-11-05", "from=x&to=y", "last=12"])("%s shows the last 30 days", (address) => {
    expect(readView(new URLSearchParams(`tab=days&${address}`)).span).toEqual({ last: "30" });
  });
});
