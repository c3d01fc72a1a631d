import { describe, expect, test } from "vitest";
import { chartBuckets } from "#components/dashboard/oci-control/cards/activity-buckets.ts";
import { checkItem } from "#components/dashboard/oci-control/export/export-checks.ts";
import { lowTicks } from "#components/workbench/chart/chart-scale.ts";
import { shortLength, shortMoment } from "#lib/i18n/short-time.ts";
import { isByHand, needsPerson, rowState, rowsToTake, sumByCurrency } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { apiFilter, countOf, filterCount, readView, writeView } from "#lib/oci/queue/view.ts";

const now = new Date("2026-11-16T12:00:00Z");
const row = (id: string, more: Partial<QueueRow> = {}): QueueRow => ({
  id,
  callId: null,
  saleId: id,
  provider: "google_ads",
  kind: "CONVERSION",
  status: "QUEUED",
  orderId: `om_${id}`,
  valueCents: 10_000,
  currency: "TRY",
  conversionTime: now.toISOString(),
  channel: null,
  clickKind: "gclid",
  phoneEnding: null,
  attemptCount: 0,
  attemptsLeft: 5,
  notBefore: now.toISOString(),
  nextRetryAt: null,
  claimedAt: null,
  stuck: false,
  lastError: null,
  providerErrorCode: null,
  providerErrorCategory: null,
  attemptError: null,
  attemptErrorCode: null,
  attemptErrorCategory: null,
  freeWaits: 0,
  byHandReason: null,
  allowedActions: [],
  heldBy: null,
  waitsFor: null,
  waitsUntil: null,
  uploadedAt: null,
  providerRequestId: null,
  transport: null,
  verdict: null,
  verdictReason: null,
  verdictAt: null,
  takeBack: null,
  createdAt: now.toISOString(),
  updatedAt: now.toISOString(),
  ...more,
});

describe("the address", () => {
  // Guarantee: a shared link shows the same, and a made-up one reaches no query.
  test("what is written is read again", () => {
    const view = readView(
      new URLSearchParams(
        "status=FAILED&errorCode=CLICK_EXPIRED&minValue=5000&days=30&q=9597&sort=updated&range=24h&tab=export&verdict=REJECTED&sentFrom=2026-11-16",
      ),
    );
    expect(readView(new URLSearchParams(writeView(view)))).toEqual(view);
    expect(filterCount(view.filter)).toBe(6);
  });
  test("what is not of the closed set is left out", () => {
    const view = readView(
      new URLSearchParams(
        "status=DROPPED&errorCode=a%27b&minValue=-1&days=5&stuck=1&verdict=MAYBE&sentTo=2026-13-40&row=x&range=1y&sort=id&more=1",
      ),
    );
    expect(view).toEqual({ tab: "queue", filter: {}, sort: "created", range: "30d", span: { last: "30" }, row: null });
    expect(writeView(view)).toBe("?");
  });
  test("a length of days becomes a moment for the API", () => {
    expect(apiFilter({ days: "7", status: "RETRY" }, now)).toEqual({ status: "RETRY", createdFrom: "2026-11-09T12:00:00.000Z" });
  });
});

describe("a row's state", () => {
  const blocked = new Set(["google_ads"]);
  const claimed = (minutes: number) =>
    row("a", { status: "PROCESSING", claimedAt: new Date(now.getTime() - minutes * 60_000).toISOString() });
  test("stuck after 15 minutes, not at 15", () => {
    expect(rowState(claimed(15), new Set(), now)).toBe("PROCESSING");
    expect(rowState(claimed(15.1), new Set(), now)).toBe("STUCK");
  });
  test("blocked is a view of what waits and of refused access, never of what is done", () => {
    expect(rowState(row("a"), blocked, now)).toBe("BLOCKED");
    expect(rowState(row("a", { status: "FAILED", providerErrorCategory: "AUTH" }), blocked, now)).toBe("BLOCKED");
    expect(rowState(row("a", { status: "FAILED", providerErrorCategory: "VALIDATION" }), blocked, now)).toBe("FAILED");
    expect(rowState(row("a", { status: "COMPLETED", verdict: "CONFIRMED" }), blocked, now)).toBe("CONFIRMED");
    expect(rowState(row("a", { status: "COMPLETED", verdict: "REJECTED" }), blocked, now)).toBe("COMPLETED");
  });
  test("a correction is a person's work where a script sends, and where no API can make it", () => {
    expect(isByHand(row("a", { kind: "RESTATE" }), "script")).toBe(true);
    expect(isByHand(row("a", { kind: "RESTATE" }), "api")).toBe(false);
    expect(isByHand(row("a", { kind: "RETRACT", byHandReason: "NO_ADS_API_ACCESS" }), "api")).toBe(true);
    expect(isByHand(row("a", { kind: "RESTATE", status: "COMPLETED" }), "script")).toBe(false);
  });
  test("money is summed per currency", () => {
    expect(sumByCurrency([row("a"), row("b"), row("c", { currency: "GBP", valueCents: 5 })])).toEqual({ TRY: 20_000, GBP: 5 });
  });
});

// Guarantee: the count in the navigation is work, and nothing but work.
// Mutations: counting every failure makes it 29; leaving out the rejections makes it 6.
test("what needs a person: failures and rejections somebody can fix, stuck rows and corrections by hand", () => {
  const failedCauses = [
    { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION" as const, count: 2 },
    { code: "SOMETHING_NEW", category: null, count: 1 },
    { code: "UNPARSEABLE_GCLID", category: "VALIDATION" as const, count: 4 },
    { code: "MANUAL_FAIL", category: "PERMANENT" as const, count: 3 },
    { code: "SALE_CANCELLED", category: "DETERMINISTIC_SKIP" as const, count: 5 },
    { code: "SUPERSEDED", category: "DETERMINISTIC_SKIP" as const, count: 1 },
  ];
  const rejectedCauses = [
    { code: "PROCESSING_ERROR_REASON_INVALID_CONVERSION_ACTION_ID", category: null, count: 10 },
    { code: "CLICK_NOT_FOUND", category: null, count: 100 },
  ];
  expect(needsPerson({ failedCauses, rejectedCauses, stuckProcessing: 2, waitingByHand: 1 })).toBe(16);
});

test("a week's hours become the days of the site's zone", () => {
  const hours = ["2026-11-15T20:00:00Z", "2026-11-15T21:00:00Z"].map((at) => ({ at, delivered: 1, failed: 0, notSent: 3, retried: 2 }));
  expect(chartBuckets({ activity: hours, range: "7d" }, "Europe/Istanbul")).toHaveLength(2);
  expect(chartBuckets({ activity: hours, range: "7d" }, "UTC")).toEqual([
    { at: hours[0]?.at, delivered: 2, failed: 0, notSent: 6, retried: 4 },
  ]);
  expect(chartBuckets({ activity: hours, range: "24h" }, "UTC")).toBe(hours);
});

test.each([
  [0, 2],
  [3, 4],
  [9, 10],
  [17, 20],
  [260, 400],
])("a highest bar of %i stands below the last line, %i", (highest, last) => {
  expect(lowTicks([0, highest]).at(-1)).toBe(last);
});

test("the dry run names the rule an item breaks", () => {
  const item = {
    id: "seal_1",
    orderId: "om_1",
    gclid: "g",
    wbraid: "",
    gbraid: "",
    conversionName: "Sale",
    conversionTime: "2026-11-16 12:00:00+0300",
    conversionValue: 10,
    conversionCurrency: "TRY",
    claim: "",
  };
  expect(checkItem(item)).toEqual([]);
  expect(checkItem({ ...item, gclid: "" })).toEqual(["click"]);
  expect(checkItem({ ...item, wbraid: "w" })).toEqual(["clicks"]);
  expect(checkItem({ ...item, conversionValue: 0, conversionTime: "2026-11-16T12:00:00Z" })).toEqual(["value", "time"]);
});

test("lengths and moments are short", () => {
  expect([5, 90, 7200, 200_000].map((seconds) => shortLength("en", seconds))).toEqual(["5 s", "1 min", "2 h", "2 days"]);
  expect(shortLength("tr", 90)).toBe("1 dk");
  expect(shortMoment({ locale: "en", timeZone: "Europe/Istanbul" }, "2026-11-16T09:05:00Z", now)).toBe("12:05");
  expect(shortMoment({ locale: "en", timeZone: "Europe/Istanbul" }, "2026-11-14T09:05:00Z", now)).toBe("14 Nov 12:05");
});

// Guarantee: a figure opens the list that holds what it counts. Mutation: send the screen's FAILED as the stored state alone.
test("the screen's states as the API takes them, and how many each holds", () => {
  const totals = { QUEUED: 2, RETRY: 3, PROCESSING: 4, COMPLETED: 5, FAILED: 9 };
  const stats = { totals, notSent: 6 };
  expect(apiFilter({ status: "FAILED", errorCode: "MAX_ATTEMPTS" }, now)).toEqual({
    status: "FAILED",
    notSent: "false",
    errorCode: "MAX_ATTEMPTS",
  });
  expect(apiFilter({ status: "NOT_SENT" }, now)).toEqual({ status: "FAILED", notSent: "true" });
  expect(apiFilter({ status: "WAITING" }, now)).toEqual({ waiting: "true" });
  expect(apiFilter({ status: "RETRY" }, now)).toEqual({ status: "RETRY" });
  expect([countOf(stats, "FAILED"), countOf(stats, "NOT_SENT"), countOf(stats, "WAITING"), countOf(stats, "RETRY")]).toEqual([3, 6, 5, 3]);
});

// Guarantee: a retry of a selection spends no try on what Google can never take.
test("a retry of a selection leaves out what cannot be moved or fixed; the other actions say of each row why it stayed", () => {
  const failed = { status: "FAILED", allowedActions: ["RETRY_SELECTED"] } as const;
  const rows = [
    row("a", { ...failed, allowedActions: ["RETRY_SELECTED"], providerErrorCode: "MAX_ATTEMPTS" }),
    row("b", { ...failed, allowedActions: ["RETRY_SELECTED"], providerErrorCode: "CLICK_EXPIRED" }),
    row("c", { status: "COMPLETED", allowedActions: [] }),
  ];
  expect(rowsToTake("RETRY_SELECTED", rows, "script").map(({ id }) => id)).toEqual(["a"]);
  expect(rowsToTake("MARK_FAILED", rows, "script")).toBe(rows);
});
