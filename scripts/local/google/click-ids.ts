import type { Sim } from "./sim.ts";
import type { Identifiers } from "./sim-shapes.ts";

export type ClickProblem = "unparseable" | "too recent" | "expired" | "not found" | "precedes" | "other account" | "internal once";

const dayMs = 86_400_000;
const gclidPattern = /^(gclid-|Cj0KCQ|CjwKCA|EAIaIQ)[\w-]+$/;
const braidPattern = /^[\w-]{6,}$/;
const braidIsNone = /^(gclid-|Cj0KCQ|EAIaIQ)/;

/** A click id chooses its outcome: one that contains such a word gets that error. */
const fates: [string, ClickProblem][] = [
  ["Unparseable", "unparseable"],
  ["TooRecent", "too recent"],
  ["Expired", "expired"],
  ["NotFound", "not found"],
  ["Precedes", "precedes"],
  ["OtherAccount", "other account"],
  ["InternalOnce", "internal once"],
];

export interface FoundProblem {
  problem: ClickProblem;
  field: "gclid" | "gbraid" | "wbraid";
}

/** What is wrong with the click that a conversion names, if anything. A click counts as made when its id is first seen. */
export function findClickProblem(sim: Sim, { gclid, gbraid, wbraid }: Identifiers, conversionTime: number): FoundProblem | null {
  for (const [field, id] of Object.entries({ gclid, gbraid, wbraid }) as [FoundProblem["field"], string | undefined][]) {
    if (!id) continue;
    const problem = problemOf(sim, field, id);
    if (problem) return { problem, field };
  }
  if (sim.now() - conversionTime > 90 * dayMs) return { problem: "expired", field: gclid ? "gclid" : gbraid ? "gbraid" : "wbraid" };
  return null;
}

function problemOf(sim: Sim, field: FoundProblem["field"], id: string): ClickProblem | null {
  const isReadable = field === "gclid" ? gclidPattern.test(id) : braidPattern.test(id) && !braidIsNone.test(id);
  if (!isReadable) return "unparseable";
  const fate = fates.find(([word]) => id.includes(word))?.[1] ?? null;
  if (fate !== "too recent" && fate !== "internal once") return fate;
  const firstSeen = sim.store.get("clicks", id);
  if (firstSeen === undefined) sim.store.put("clicks", id, sim.now());
  if (fate === "internal once") return firstSeen === undefined ? fate : null;
  return sim.now() - (firstSeen ?? sim.now()) < sim.settings().clickMinAgeSeconds * 1000 ? fate : null;
}
