import { expect, test } from "vitest";
import { type LeadDetail, leadDetail, type Visit } from "#lib/leads/desk-shapes.ts";
import { journeyOf } from "#lib/leads/journey.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 10, 16, 9, minute)).toISOString();
const event = (minute: number, action: string, path = "/a", value: number | null = null) => ({
  at: at(minute),
  action,
  isLead: action === "phone_call",
  value,
  path,
});
const visit = (minute: number, events: Visit["events"], more: Partial<Visit> = {}): Visit => ({
  startedAt: at(minute),
  clickedAt: at(minute),
  isReturn: false,
  campaign: "Kadıköy",
  keyword: "kombi",
  device: "mobile",
  city: null,
  country: null,
  isCleared: false,
  events,
  ...more,
});

const lead = (more: Partial<LeadDetail> = {}): LeadDetail =>
  leadDetail.parse({
    id: "x",
    channel: "phone",
    phone: null,
    status: "intent",
    version: 1,
    score: 50,
    points: {},
    calledAt: at(130),
    pagePath: "/",
    campaign: null,
    keyword: null,
    clickBlock: null,
    clickedAt: at(0),
    clickExpiresAt: at(0),
    needsYou: null,
    visitsBefore: 1,
    changedAt: null,
    changedBy: null,
    changedByYou: false,
    undo: null,
    sale: null,
    delivery: null,
    asOf: at(140),
    fullPhone: null,
    dialNumber: null,
    isErased: false,
    name: null,
    clickKind: "gclid",
    signalWaits: false,
    visits: [
      visit(0, [event(0, "view"), event(1, "scroll_depth", "/a", 50), event(2, "view", "/b"), event(3, "scroll_depth", "/b", 90)]),
      visit(120, [event(120, "view"), event(125, "hover_intent"), event(130, "phone_call")]),
    ],
    choices: [],
    history: [],
    ledger: [],
    deliveries: [],
    siblings: [],
    ...more,
  });

const toCome = { sendFrom: at(500), hasVerdicts: true };
const kinds = (detail: LeadDetail) => journeyOf(detail, toCome).map((step) => (step.kind === "todo" ? `todo ${step.what}` : step.kind));

test("a journey is clicks, pages with how far they were read, the pause between visits, the call, and what is to come", () => {
  const steps = journeyOf(lead(), toCome);
  expect(kinds(lead())).toEqual([
    "click",
    "page",
    "page",
    "gap",
    "click",
    "page",
    "hover",
    "lead",
    "todo seal",
    "todo send",
    "todo confirm",
  ]);
  expect(steps[1]).toMatchObject({ path: "/a", depth: 50, seconds: 120 });
  expect(steps[2]).toMatchObject({ path: "/b", depth: 90, seconds: 60 });
  expect(steps[3]).toMatchObject({ seconds: 117 * 60 });
  expect(steps[4]).toMatchObject({ isReturn: true });
  expect(steps[7]).toMatchObject({ isThis: true, channel: "phone" });
});

test("what the visitor agreed to stands where it happened", () => {
  const choices = [
    { at: at(121), scopes: ["analytics", "marketing"], path: "/" },
    { at: at(131), scopes: [], path: "/privacy" },
  ];
  const steps = journeyOf(lead({ choices, clickBlock: "NO_CONSENT" }), toCome).slice(-5);
  expect(steps.map((step) => (step.kind === "consent" ? step.choice : step.kind))).toEqual(["given", "hover", "lead", "withdrawn", "todo"]);
});

// Guarantee: a call that two systems told of, seconds apart, is still shown as this call, with the page it came from.
test("the lead's own event is the nearest of its channel", () => {
  const events = [event(100, "phone_call"), { ...event(131, "phone_call"), path: null }];
  const steps = journeyOf(lead({ visits: [visit(100, events)], pagePath: "/contact" }), toCome).filter(({ kind }) => kind === "lead");
  expect(steps).toMatchObject([{ isThis: false }, { isThis: true, path: "/contact" }]);
});

// Guarantee: the screen never promises that Google will be told of a lead that cannot be delivered.
test("without a usable click only the seal is to come", () => {
  expect(kinds(lead({ clickBlock: "NO_CONSENT" })).slice(-1)).toEqual(["todo seal"]);
});

test("after the seal stand who sealed, what was sent and what Google said", () => {
  const amount = { amountCents: 425_000, currency: "TRY" };
  const sealed = lead({
    status: "sealed",
    history: [
      {
        proofId: "p",
        at: at(135),
        contract: "call",
        from: "intent",
        to: "sealed",
        isUndo: false,
        note: null,
        by: "Elif",
        byYou: true,
        ...amount,
      },
    ],
    delivery: {
      status: "COMPLETED",
      isNotSent: false,
      notBefore: at(136),
      errorCode: null,
      uploadedAt: at(137),
      verdict: "CONFIRMED",
      pendingAdjustment: null,
    },
    deliveries: [
      { id: "d", at: at(137), kind: "CONVERSION", transport: "data_manager", verdict: "CONFIRMED", verdictAt: at(139), ...amount },
    ],
  });
  expect(kinds(sealed).slice(-3)).toEqual(["move", "sent", "verdict"]);
  const waiting = { ...sealed, deliveries: [], delivery: { ...sealed.delivery, status: "QUEUED", verdict: null } } as LeadDetail;
  expect(kinds(waiting).slice(-3)).toEqual(["move", "todo send", "todo confirm"]);
});

test("a visit whose steps were deleted says so, and the lead keeps its place", () => {
  const steps = journeyOf(lead({ visits: [visit(120, [], { isCleared: true, clickedAt: null })] }), { sendFrom: null, hasVerdicts: true });
  expect(steps.map(({ kind }) => kind)).toEqual(["visit", "cleared", "lead", "todo", "todo", "todo"]);
  expect(steps[2]).toMatchObject({ at: at(130), channel: "phone", isThis: true });
});

// Guarantee: nobody waits for a verdict that cannot come. Mutation: promise a confirmation whatever the way.
test("what a script sent waits for no verdict, and a script's site promises none", () => {
  const byScript = { sendFrom: at(500), hasVerdicts: false };
  const todo = (detail: LeadDetail) => journeyOf(detail, byScript).flatMap((step) => (step.kind === "todo" ? [step.what] : []));
  expect(todo(lead())).toEqual(["seal", "send"]);
  const delivery = {
    status: "COMPLETED",
    isNotSent: false,
    notBefore: at(136),
    errorCode: null,
    uploadedAt: at(137),
    verdict: null,
    pendingAdjustment: null,
  } as const;
  const sent = (transport: "script" | "data_manager") =>
    lead({
      status: "sealed",
      delivery,
      deliveries: [
        { id: "d", at: at(137), kind: "CONVERSION", transport, verdict: null, verdictAt: null, amountCents: 1, currency: "TRY" },
      ],
    });
  expect(todo(sent("script"))).toEqual([]);
  expect(todo(sent("data_manager")), "sent by API before the site went over to a script").toEqual(["confirm"]);
});
