import { AppError } from "#lib/platform/app-error.ts";
import { type Demand, type Refusal, takeUnits } from "./allowance.ts";
import { hashedAddress } from "./caller-address.ts";

interface Input<Actor> {
  request: Request;
  actor: Actor;
}

export interface RateLimit<Actor = undefined> {
  /** Names the limit in Redis and in logs. */
  name: string;
  /** How many a window has; of events where `units` counts them. */
  requests: number | ((input: Input<Actor>) => number);
  windowSeconds: number;
  /** Who shares one allowance. No address in the clear: see hashedAddress. */
  key(input: Input<Actor>): string;
  /** How much of the allowance a request takes; 1 without it. */
  units?(input: Input<Actor>): number;
  /**
   * What a missing Redis means. "fail-closed" refuses with 503; "fail-open" counts in this process instead,
   * for routes where a refused request is lost money.
   */
  whenRedisIsDown: "fail-open" | "fail-closed";
  /** The longest wait that is asked for, where the window is longer than a caller should be silent. */
  retryAfterMaxSeconds?: number;
  /** Told of each refusal, with the units refused, before the caller is. */
  refused?(input: Input<Actor>, units: number): Promise<void> | void;
}

function demandOf<Actor>(limit: RateLimit<Actor>, input: Input<Actor>): Demand {
  const { name, requests, windowSeconds, whenRedisIsDown } = limit;
  const max = typeof requests === "number" ? requests : requests(input);
  return { name, key: limit.key(input), max, windowSeconds, units: limit.units?.(input) ?? 1, whenRedisIsDown };
}

/**
 * Counts one request against all of the limits, or against none; over one of them, throws 429 with the seconds to wait. Returns what it took,
 * for giveBack.
 */
export async function enforceLimits<Actor>(limits: readonly RateLimit<Actor>[], input: Input<Actor>): Promise<Demand[]> {
  const demands = limits.map((limit) => demandOf(limit, input));
  const refusal = await takeUnits(demands);
  if (!refusal) return demands;
  const limit = limits[demands.indexOf(refusal.demand)];
  await limit?.refused?.(input, refusal.demand.units);
  throw rateLimited(refusal, limit);
}

/** Whether a request fits into a limit; counts it if so. For work that is left undone, not refused. */
export const fitsInto = async <Actor>(limit: RateLimit<Actor>, input: Input<Actor>): Promise<boolean> =>
  (await takeUnits([demandOf(limit, input)])) === null;

export const enforceLimit = <Actor>(limit: RateLimit<Actor>, input: Input<Actor>): Promise<Demand[]> => enforceLimits([limit], input);

function rateLimited<Actor>({ demand, retryAfterSeconds }: Refusal, limit?: RateLimit<Actor>): AppError {
  const waitSeconds = Math.min(retryAfterSeconds, limit?.retryAfterMaxSeconds ?? retryAfterSeconds);
  const what = limit?.units ? "events" : "requests";
  return new AppError("RATE_LIMITED", {
    detail: `At most ${demand.max} ${what} in ${demand.windowSeconds} seconds. Try again in ${waitSeconds} s.`,
    extra: { retryAfterSeconds: waitSeconds },
    headers: { "retry-after": String(waitSeconds), "x-opsmantik-ratelimit": "1" },
  });
}

const aMinute = { windowSeconds: 60, whenRedisIsDown: "fail-open" as const };

/** So many a minute from one address, before the guard: guessing keys costs the database no more than that. */
export const addressLimit = (name: string, requests: number): RateLimit => ({
  ...aMinute,
  name,
  requests,
  key: ({ request }) => hashedAddress(request.headers),
});

/** So many a minute by one person, for what costs the database much. */
export const personLimit = (name: string, requests: number): RateLimit<{ user: { id: string } }> => ({
  ...aMinute,
  name,
  requests,
  key: ({ actor }) => actor.user.id,
});
