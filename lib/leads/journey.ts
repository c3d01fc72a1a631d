import { channelOf, isLeadAction } from "#lib/channels.ts";
import type { DeskLead, LeadDetail, LeadStatus, Visit } from "./desk-shapes.ts";

/** What happened, in order, from the first ad click to what Google said, and what is still to come. */
export type JourneyStep =
  | { kind: "click"; at: string; isReturn: boolean; keyword: string | null; campaign: string | null; device: string | null }
  | { kind: "visit"; at: string; isReturn: boolean; device: string | null }
  | { kind: "page"; at: string; path: string; depth: number; seconds: number }
  | { kind: "hover"; at: string }
  | { kind: "lead"; at: string; channel: DeskLead["channel"]; path: string | null; isThis: boolean }
  | { kind: "gap"; at: string; seconds: number }
  | { kind: "cleared"; at: string }
  | { kind: "consent"; at: string; choice: "given" | "analyticsOnly" | "withdrawn"; path: string | null }
  | ({ kind: "move"; at: string; to: LeadStatus | "corrected"; isUndo: boolean; note: string | null; proofId: string } & Doer & Amount)
  | ({ kind: "described"; at: string; what: "noted" | "contact"; note: string | null } & Doer)
  | ({ kind: "sent"; at: string; delivery: LeadDetail["deliveries"][number]["kind"] } & Amount)
  | { kind: "verdict"; at: string; verdict: NonNullable<LeadDetail["deliveries"][number]["verdict"]> }
  | { kind: "todo"; what: "seal" | "send" | "confirm"; from: string | null };

interface Doer {
  by: string | null;
  byYou: boolean;
}
interface Amount {
  amountCents: number | null;
  currency: string | null;
}

const gapMinSeconds = 30 * 60;
const secondsBetween = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / 1000);

function visitSteps(visit: Visit, isReturn: boolean): JourneyStep[] {
  const { startedAt: at, keyword, campaign, device } = visit;
  const steps: JourneyStep[] = [
    visit.clickedAt ? { kind: "click", at, isReturn, keyword, campaign, device } : { kind: "visit", at, isReturn, device },
  ];
  if (visit.isCleared) steps.push({ kind: "cleared", at });
  let page: Extract<JourneyStep, { kind: "page" }> | undefined;
  for (const event of visit.events) {
    const path = event.path ?? "/";
    if (page) page.seconds = secondsBetween(page.at, event.at); // until the last event on it
    if (event.isLead) {
      steps.push({
        kind: "lead",
        at: event.at,
        channel: isLeadAction(event.action) ? channelOf[event.action] : "form",
        path: event.path,
        isThis: false,
      });
    } else if (event.action === "view") {
      if (page?.path === path && page.seconds < 2) continue;
      page = { kind: "page", at: event.at, path, depth: 0, seconds: 0 };
      steps.push(page);
    } else if (event.action === "scroll_depth" && page) {
      page.depth = Math.max(page.depth, event.value ?? 0);
    } else if (event.action === "hover_intent") {
      steps.push({ kind: "hover", at: event.at });
    }
  }
  return steps;
}

/** Tracker and telephone system may report one call seconds apart: the lead's own event is the nearest of its channel. */
function markThisLead(steps: JourneyStep[], { calledAt, channel, pagePath }: LeadDetail): void {
  const distance = (step: JourneyStep) => ("at" in step ? Math.abs(secondsBetween(step.at, calledAt)) : Infinity);
  const leads = steps.filter((step) => step.kind === "lead" && step.channel === channel);
  const nearest = leads.reduce<JourneyStep | undefined>(
    (best, step) => (best && distance(best) <= distance(step) ? best : step),
    undefined,
  );
  if (nearest?.kind === "lead") Object.assign(nearest, { isThis: true, path: nearest.path ?? pagePath });
}

function choiceSteps({ choices }: LeadDetail): JourneyStep[] {
  return choices.map(({ at, scopes, path }) => ({
    kind: "consent",
    at,
    choice: scopes.includes("marketing") ? "given" : scopes.includes("analytics") ? "analyticsOnly" : "withdrawn",
    path,
  }));
}

function moveSteps({ history }: LeadDetail): JourneyStep[] {
  return history
    .filter(({ contract, from, to }) => contract === "call" || (contract === "sale" && from === to))
    .map(({ at, contract, to, isUndo, note, proofId, by, byYou, amountCents, currency }) => ({
      kind: "move",
      at,
      to: contract === "sale" ? "corrected" : (to as LeadStatus), // a proof of a call names a state of a call
      isUndo,
      note,
      proofId,
      by,
      byYou,
      amountCents,
      currency,
    }));
}

function describedSteps({ history }: LeadDetail): JourneyStep[] {
  return history
    .filter(({ contract }) => contract === "lead")
    .map(({ at, to, note, by, byYou }) => ({ kind: "described", at, what: to === "noted" ? "noted" : "contact", note, by, byYou }));
}

function deliverySteps({ deliveries }: LeadDetail): JourneyStep[] {
  return deliveries.flatMap(({ at, kind, amountCents, currency, verdict, verdictAt }): JourneyStep[] => [
    { kind: "sent", at, delivery: kind, amountCents, currency },
    ...(verdict && verdictAt ? [{ kind: "verdict", at: verdictAt, verdict } as const] : []),
  ]);
}

/** Only Data Manager says later what Google made of a conversion. */
function stepsToCome(lead: LeadDetail, { sendFrom, hasVerdicts }: ToCome): JourneyStep[] {
  const todo = (what: "seal" | "send" | "confirm", from: string | null = null): JourneyStep => ({ kind: "todo", what, from });
  const isOpen = lead.status === "intent" || lead.status === "qualified" || lead.status === "meeting";
  const confirm = hasVerdicts ? [todo("confirm")] : [];
  if (isOpen) return [todo("seal"), ...(lead.clickBlock ? [] : [todo("send", sendFrom), ...confirm])];
  if (lead.status !== "sealed" || lead.sale?.deliveryBlock || !lead.delivery || lead.delivery.status === "FAILED") return [];
  const last = lead.deliveries.at(-1);
  if (!last) return [todo("send", lead.delivery.notBefore), ...confirm];
  return last.verdict || last.transport !== "data_manager" ? [] : [todo("confirm")];
}

interface ToCome {
  /** When the conversion would be sent if the lead were sealed now. */
  sendFrom: string | null;
  /** Whether Google reports a verdict for the way in which the site sends. */
  hasVerdicts: boolean;
}

export function journeyOf(lead: LeadDetail, toCome: ToCome): JourneyStep[] {
  const steps: JourneyStep[] = [];
  let lastHeard: string | undefined;
  for (const [index, visit] of lead.visits.entries()) {
    const away = lastHeard === undefined ? 0 : secondsBetween(lastHeard, visit.startedAt);
    if (away >= gapMinSeconds) steps.push({ kind: "gap", at: visit.startedAt, seconds: away });
    steps.push(...visitSteps(visit, index > 0));
    lastHeard = visit.events.at(-1)?.at ?? visit.startedAt;
  }
  // A deleted visit has no event of the lead any more; the lead itself says when it was.
  if (lead.visits.some(({ isCleared }) => isCleared) && !steps.some(({ kind }) => kind === "lead")) {
    steps.push({ kind: "lead", at: lead.calledAt, channel: lead.channel, path: lead.pagePath, isThis: false });
  }
  markThisLead(steps, lead);
  const done = [...steps, ...choiceSteps(lead), ...moveSteps(lead), ...describedSteps(lead), ...deliverySteps(lead)];
  const timed = done.map((step, place) => ({ step, place, at: "at" in step ? Date.parse(step.at) : 0 }));
  timed.sort((a, b) => a.at - b.at || a.place - b.place);
  return [...timed.map(({ step }) => step), ...stepsToCome(lead, toCome)];
}
