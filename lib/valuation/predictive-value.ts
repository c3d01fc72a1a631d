import { divideRounded, parseDecimal } from "./exact-decimal.ts";

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

const weightMax = 100;
const weightDecimalsMax = 6;

interface ValueSettings {
  /** The site's average order. Null means that nobody set one; 0 is a setting. */
  aovCents: number | null;
  /** The site's own weights by stage or call state, in place of the default ones. */
  intentWeights: Record<string, number>;
}

/**
 * The expected value of a lead, in whole cents: AOV × weight(action). A call's state takes the site's weight for that state,
 * else what its stage takes. Settings that no site may have and unknown actions throw: a guess would reach Google as money.
 */
export function calculateExpectedValue(action: string, settings: ValueSettings): number {
  const aovCents = settings.aovCents ?? defaultAovCents;
  if (!Number.isSafeInteger(aovCents) || aovCents < 0) throw new RangeError("aovCents must be whole cents, 0 or more");
  const weight = parseDecimal(weightOf(action, settings.intentWeights));
  if (
    !weight ||
    weight.digits < 0n ||
    weight.scale > weightDecimalsMax ||
    weight.digits > BigInt(weightMax) * 10n ** BigInt(weight.scale)
  ) {
    throw new RangeError(`the weight of ${action} must be 0 to ${weightMax} with at most ${weightDecimalsMax} decimals`);
  }
  return Number(divideRounded(BigInt(aovCents) * weight.digits, 10n ** BigInt(weight.scale)));
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
