import { calculateExpectedValue } from "#lib/valuation/predictive-value.ts";

/** What an order of a site is worth when its owner has not said: 100 units of its currency. */
const defaultAovCents = 10_000;

/** The chance that a lead of each stage becomes an order. */
const defaultWeights: Record<string, number> = {
  sealed: 1,
  won: 1,
  purchase: 1,
  qualified: 0.2,
  real: 0.2,
  pending: 0.02,
  open: 0.02,
  junk: 0,
  lost: 0,
};

/** A call's states that are not stages themselves: someone who reached out is pending, one who agreed to meet is at least qualified. */
const stageOfCallState: Record<string, string> = { intent: "pending", meeting: "qualified", cancelled: "lost" };

interface ValueSettings {
  /** The site's average order. Null means that nobody set one; 0 is a setting. */
  aovCents: number | null;
  /** The site's own weights by stage or call state, in place of the default ones. */
  intentWeights: Record<string, number>;
}

/** The expected value of a lead in this stage. A call's state takes the site's weight for that state, else what its stage takes. */
export function stageValue(action: string, { aovCents, intentWeights }: ValueSettings): number {
  return calculateExpectedValue(aovCents ?? defaultAovCents, weightOf(action, intentWeights));
}

function weightOf(action: string, overrides: Record<string, number>): number {
  const stage = (Object.hasOwn(stageOfCallState, action) && stageOfCallState[action]) || action;
  for (const [weights, name] of [
    [overrides, action],
    [overrides, stage],
    [defaultWeights, stage],
  ] as const) {
    const weight = Object.hasOwn(weights, name) ? weights[name] : undefined;
    if (weight !== undefined) return weight;
  }
  throw new RangeError(`unknown stage ${action}`);
}
