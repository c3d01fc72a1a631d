import { describe, expect, test } from "vitest";
import { actionNumber, chooseListed, shownCustomerId, toActionName } from "#lib/delivery/action-name.ts";
import { actionRows } from "#lib/delivery/action-rows.ts";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import type { ConnectionState } from "#lib/delivery/connection-shapes.ts";
import { connectionStatus } from "#lib/delivery/connection-status.ts";
import { classifyGoogleAdsError, knownCodes } from "#lib/providers/google/classify-google-ads-error.ts";

const now = new Date("2026-11-16T12:00:00Z");
const earlier = "2026-11-16T11:00:00Z";
const later = "2026-11-16T13:00:00Z";
const seal = "OpsMantik_V5_DEMIR_MUHUR";
const block = { code: "INVALID_GRANT", message: "revoked", since: earlier };

type Health = NonNullable<ConnectionState["health"]>;
type Action = ConnectionState["actions"][number];

const action = (change: Partial<Action> = {}): Action => ({
  conversionName: seal,
  action: "customers/1/conversionActions/2",
  countingType: "MANY_PER_CLICK",
  testedAt: null,
  blocked: null,
  ...change,
});
const health = (change: Partial<Health> = {}): Health => ({
  state: "CLOSED",
  failureCount: 0,
  nextProbeAt: null,
  lastSuccessAt: earlier,
  quotaUntil: null,
  blocked: null,
  ...change,
});
const state = (change: Partial<ConnectionState> = {}): ConnectionState => ({
  syncMethod: "api",
  connected: true,
  transport: "data_manager",
  account: { customerId: "1234567890" },
  connectedAt: earlier,
  testedAt: earlier,
  testError: null,
  actions: [action()],
  missingActions: [],
  health: health(),
  ...change,
});

// Guarantee: an owner is told the first thing that keeps conversions from going out, and never that all is well when they wait.
test.each<[string, Partial<ConnectionState>, object]>([
  ["not connected", { connected: false, actions: [], health: null }, { code: "NOT_CONNECTED", tone: "blocked" }],
  [
    "refused",
    { health: health({ blocked: block, state: "OPEN" }) },
    { code: "BLOCKED", tone: "blocked", errorCode: "INVALID_GRANT", at: earlier },
  ],
  ["no action for what is sent", { missingActions: [seal, "Meeting"] }, { code: "NO_ACTION", conversionName: seal }],
  [
    "a refused action",
    { actions: [action(), action({ conversionName: "Meeting", blocked: { ...block, code: "NO_CONVERSION_ACTION_FOUND" } })] },
    { code: "ACTION_BLOCKED", conversionName: "Meeting", errorCode: "NO_CONVERSION_ACTION_FOUND" },
  ],
  ["an open circuit", { health: health({ state: "OPEN", nextProbeAt: later }) }, { code: "PAUSED", tone: "retry", at: later }],
  ["a probe", { health: health({ state: "HALF_OPEN" }) }, { code: "PROBING", tone: "retry" }],
  ["a quota that is used up", { health: health({ quotaUntil: later }) }, { code: "QUOTA", at: later }],
  ["a quota that has come back", { health: health({ quotaUntil: earlier }) }, { code: "WELL" }],
  ["a failed test", { testError: { code: "INVALID_GRANT", message: null, at: earlier } }, { code: "TEST_FAILED", tone: "retry" }],
  ["nothing sent yet", { health: health({ lastSuccessAt: null }) }, { code: "NEW", tone: "completed" }],
  ["all well", {}, { code: "WELL", tone: "completed" }],
])("%s", (_name, change, expected) => {
  expect(connectionStatus(state(change), now)).toMatchObject(expected);
});

describe("what Google says against a connection", () => {
  // Guarantee: nobody whose delivery stands still reads "an error we don't recognise" where we know what to do.
  test("every code that blocks an account or an action has a sentence of its own", () => {
    const blocking = knownCodes.filter((code) => {
      const { blocksAccount, blocksAction } = classifyGoogleAdsError(code, 200);
      return blocksAccount || blocksAction;
    });
    expect(blocking.length).toBeGreaterThan(20);
    expect(blocking.filter((code) => findingOf(code).name === "unknown")).toEqual([]);
  });

  test("a finding names the field that has to change, and an unknown code none", () => {
    expect(findingOf("INVALID_CLIENT").field).toBe("client_secret");
    expect(findingOf("invalid_grant").field).toBe("refresh_token");
    expect(findingOf("USER_PERMISSION_DENIED").field).toBe("customer_id");
    expect(findingOf("INVALID_CONVERSION_ACTION_ID").field).toBe("conversion_action_resource_name");
    expect(findingOf("NEVER_SEEN_BEFORE")).toEqual({ name: "unknown", field: null });
  });
});

describe("conversion actions", () => {
  test.each([
    ["1005", "customers/1234567890/conversionActions/1005"],
    [" 1005 ", "customers/1234567890/conversionActions/1005"],
    ["https://ads.google.com/aw/conversions/detail?ocid=7&ctId=1005&euid=1", "customers/1234567890/conversionActions/1005"],
    ["customers/7/conversionActions/8", "customers/7/conversionActions/8"],
    ["Sealed sale", "Sealed sale"],
    ["", ""],
  ])("%j becomes %j", (text, name) => {
    expect(toActionName(text, "123-456-7890")).toBe(name);
  });

  test("an account that is no number does not make the action wrong as well", () => {
    expect(toActionName("1005", "my account")).toBe("customers/0/conversionActions/1005");
  });

  test("ids are shown as Google writes them", () => {
    expect(shownCustomerId("1234567890")).toBe("123-456-7890");
    expect(shownCustomerId("123")).toBe("123");
    expect(actionNumber("customers/1/conversionActions/22")).toBe("22");
  });

  // Guarantee: a choice somebody made is never replaced by a guess, and an action that is off is never proposed.
  test("of Google's list the given action is chosen, else the enabled one of the same name", () => {
    const list = [
      { action: "a", name: seal, isEnabled: false },
      { action: "b", name: seal, isEnabled: true },
      { action: "c", name: "Other", isEnabled: true },
    ];
    expect(chooseListed(list, "c", seal)).toBe("c");
    expect(chooseListed(list, "", seal)).toBe("b");
    expect(chooseListed(list, "gone", "Unheard of")).toBe("");
  });

  const conversionNames = { seal, MEETING_BOOKED: "M", SEAL_PENDING: "Q", INTENT_CAPTURED: "I", page_view: "P" };

  test("signals need an action only where they are sent; a chosen one stays in sight", () => {
    const names = (signalsEnabled: boolean, actions: Action[]) =>
      actionRows({ actions, missingActions: [] }, { conversionNames, signalsEnabled }).map(({ conversionName }) => conversionName);
    expect(names(false, [])).toEqual([seal]);
    expect(names(true, [])).toEqual([seal, "M", "Q", "I"]);
    expect(names(false, [action({ conversionName: "Q" })])).toEqual([seal, "Q"]);
  });

  test("a row has what Google calls its action, where Google told us", () => {
    const names = (change: Partial<Action>) =>
      actionRows({ actions: [action(change)], missingActions: [] }, { conversionNames, signalsEnabled: false })[0]?.googleName;
    expect(names({ googleName: "Sales by API" })).toBe("Sales by API");
    expect(names({})).toBeNull();
  });

  // Guarantee: saving the list does not drop the action of rows that were sent under an earlier name, and one can be chosen for those that wait.
  test("earlier names stay in the list, as do those that rows wait under; page views, which no API takes, do not", () => {
    const actions = [action({ conversionName: "Old" }), action({ conversionName: "P" })];
    const rows = actionRows({ actions, missingActions: [seal, "Older"] }, { conversionNames, signalsEnabled: false });
    expect(rows.map(({ key, conversionName }) => [key, conversionName])).toEqual([
      ["seal", seal],
      [null, "Older"],
      [null, "Old"],
    ]);
  });
});
