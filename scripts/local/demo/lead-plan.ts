import { createHash } from "node:crypto";
import { seededRandom } from "#scripts/local/seeded-random.ts";
import type { VisitStep } from "#tests/fixtures/record-visit.ts";
import type { LeadStory } from "./lead-stories.ts";

type Actor = "operator" | "owner";
export type LeadMove =
  | { change: "change_call"; to: "qualified" | "meeting" | "junk"; reason?: string }
  | { change: "seal_call"; amountCents?: number; note?: string }
  | { change: "undo_call" }
  | { change: "correct_sale"; amountCents: number; reason: string }
  | { change: "cancel_sale"; reason: string };

/** One visit and, where somebody reached out, its outcome. */
export interface PlannedVisit {
  visitor: string;
  steps: VisitStep[];
  moves: { at: Date; actor: Actor; move: LeadMove }[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** People who reached out just now, whatever the hour the demo is started at. */
const recentMinutesAgo = [2, 9, 21, 38, 64, 110, 175, 260, 390, 520];

interface Chance {
  next: () => number;
  pick: <T>(list: readonly T[]) => T;
}

/** The month before `now` on one site. The same site gives the same month, counted back from another day. */
export function planLeads(story: LeadStory, seed: number, now: Date): PlannedVisit[] {
  const next = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const chance = { next, pick };
  const recent = recentMinutesAgo.map((minutes) => new Date(now.getTime() - minutes * minuteMs));
  const visits: PlannedVisit[] = [];
  for (const [index, at] of [...pastMoments(story, chance, now), ...recent].entries()) {
    const ageHours = (now.getTime() - at.getTime()) / hourMs;
    visits.push(...planLead(story, chance, { id: idOf(seed, index), at, ageHours, now }));
  }
  return visits;
}

function pastMoments({ hours: [first, last], leadsPerDay }: LeadStory, { next }: Chance, now: Date): Date[] {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  const moments: Date[] = [];
  for (let back = 30; back >= 1; back--) {
    const weekday = new Date(today - back * dayMs).getUTCDay();
    const count = Math.round(leadsPerDay * ([0, 6].includes(weekday) ? 0.5 : 1) * (0.7 + 0.6 * next()));
    for (let lead = 0; lead < count; lead++) moments.push(new Date(today - back * dayMs + (first + next() * (last - first)) * hourMs));
  }
  return moments.filter((at) => at.getTime() < now.getTime() - 12 * hourMs).sort((a, b) => a.getTime() - b.getTime());
}

interface Lead {
  id: string;
  at: Date;
  ageHours: number;
  now: Date;
}

function planLead(story: LeadStory, chance: Chance, lead: Lead): PlannedVisit[] {
  const { next, pick } = chance;
  const kind = next();
  const isAd = kind > 0.14;
  const hasConsent = kind > 0.07;
  const ad = isAd ? pick(story.ads) : null;
  const page = ad?.page ?? pick(story.organicPages);
  // One in nine clicked long ago and comes back to buy; some of those clicks run out within days.
  const clickAgeDays = isAd && next() < 0.11 ? (next() < 0.4 ? 84 + next() * 4 : 2 + next() * 20) : 0;
  const origin = "https://demo.invalid";
  const base: Partial<VisitStep> = {
    url: `${origin}${page}`,
    referrer: next() < 0.8 ? "https://www.google.com/" : null,
    device: next() < 0.72 ? "mobile" : next() < 0.9 ? "desktop" : "tablet",
    country: story.country,
    city: pick(story.cities),
    utm: ad ? { source: "google", medium: "cpc", campaign: ad.campaign, term: ad.term } : {},
    marketingConsent: hasConsent,
    marketingDefault: hasConsent,
    scopes: hasConsent ? null : ["analytics"],
    ...(ad && hasConsent && { gclid: `Cj0KCQ${lead.id.slice(0, 40)}` }),
  };
  const before = (minutes: number) => new Date(lead.at.getTime() - minutes * minuteMs);
  const steps: VisitStep[] = [{ ...base, at: before(3), action: "view" }];
  if (next() < 0.7) steps.push({ ...base, at: before(1.5), action: "scroll_depth", value: next() < 0.5 ? 60 : 95 });
  if (next() < 0.3) steps.push({ ...base, at: before(0.5), action: "hover_intent" });
  const channel = next();
  const digits = String(1_000_000 + Math.floor(next() * 8_999_999));
  const contact = channel < 0.62 ? "phone_call" : channel < 0.87 ? "whatsapp" : "form_submit";
  steps.push({
    ...base,
    at: lead.at,
    category: "conversion",
    action: contact,
    intentStamp: lead.id.slice(0, 32),
    phone: contact === "phone_call" && hasConsent ? story.phone(digits) : null,
  });
  const visits: PlannedVisit[] = [{ visitor: lead.id.slice(32), steps, moves: planMoves(story, chance, lead) }];
  // Some looked around some days before and left.
  if (next() < 0.22) {
    const earlier = lead.at.getTime() - (1 + next() * 4) * dayMs;
    const { gclid: _, ...looked } = base;
    const first: VisitStep = { ...looked, at: new Date(earlier), action: "view" };
    visits.unshift({ visitor: lead.id.slice(32), steps: [first], moves: [] });
  }
  if (clickAgeDays > 0) {
    const clicked: VisitStep = { ...base, at: new Date(lead.at.getTime() - clickAgeDays * dayMs), action: "view" };
    visits.unshift({ visitor: lead.id.slice(32), steps: [clicked], moves: [] });
  }
  return visits;
}

function planMoves(story: LeadStory, { next, pick }: Chance, { at, ageHours, now }: Lead): PlannedVisit["moves"] {
  const moves: PlannedVisit["moves"] = [];
  let when = at.getTime();
  const actor: Actor = next() < 0.8 ? "operator" : "owner";
  const outcome = next();
  const settled = ageHours > 14 || (ageHours > 1 && outcome < 0.7);
  const haste = Math.min(1, ageHours / 14); // what came today was decided soon, or is not decided yet
  const add = (minutesMin: number, minutesMax: number, move: LeadMove) => {
    when += (minutesMin + next() * (minutesMax - minutesMin)) * minuteMs * haste;
    if (when < now.getTime() - minuteMs) moves.push({ at: new Date(when), actor, move });
  };
  if (!settled) return moves;
  if (outcome < 0.14) {
    add(4, 90, { change: "change_call", to: "junk", reason: pick(story.junkReasons) });
    return moves;
  }
  if (outcome > 0.9) {
    if (outcome > 0.95) add(10, 120, { change: "change_call", to: "qualified" });
    return moves; // waits for somebody
  }
  if (next() < 0.25) add(5, 60, { change: "change_call", to: "qualified" });
  if (next() < 0.18) add(20, 240, { change: "change_call", to: "meeting" });
  const job = jobOf(story, next() * 100);
  // Most charge the usual amount; some a little more for a part.
  const amountCents = job.amountCents + (next() < 0.28 ? Math.round((next() * 0.2 - 0.04) * (job.amountCents / 5000)) * 5000 : 0);
  const seal: LeadMove = next() < 0.06 ? { change: "seal_call" } : { change: "seal_call", amountCents, note: job.note };
  add(15, 420, seal);
  const after = next();
  if (after < 0.05) {
    add(1, 6, { change: "undo_call" });
    add(2, 5, seal);
  } else if (after < 0.12) add(60, 2000, { change: "correct_sale", amountCents: amountCents + 15_000, reason: story.correctionReason });
  else if (after < 0.16) add(300, 3000, { change: "cancel_sale", reason: story.cancelReason });
  return moves;
}

function jobOf({ jobs }: LeadStory, point: number): LeadStory["jobs"][number] {
  let sum = 0;
  const found = jobs.find(({ share }) => {
    sum += share;
    return point < sum;
  });
  return found ?? (jobs[0] as LeadStory["jobs"][number]);
}

const idOf = (seed: number, index: number) => createHash("sha256").update(`${seed}/${index}`).digest("hex");
