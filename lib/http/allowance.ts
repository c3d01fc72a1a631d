import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import { redis } from "#lib/platform/redis.ts";
import { countLocally, uncountLocally } from "./count-locally.ts";
import { leaseUnits } from "./lease-script.ts";

/** So many units of one allowance. */
export interface Demand {
  /** Names the limit in Redis and in logs. */
  name: string;
  key: string;
  max: number;
  windowSeconds: number;
  units: number;
  whenRedisIsDown: "fail-open" | "fail-closed";
}

export interface Refusal {
  demand: Demand;
  retryAfterSeconds: number;
}

/** What this instance knows of one allowance in one window. */
interface Lease {
  window: number;
  /** Units taken from Redis and not used yet; good until `until`. */
  left: number;
  granted: number;
  until: number;
  /** Units let through before the first question of the window; Redis learns of them with it. */
  owed: number;
  /** What Redis does not know of the window before: units that passed unasked, less those of a lease that nobody used. */
  owedBefore: number;
  isAsked: boolean;
  /** Redis has just refused this many; until then we answer for it. */
  refusedUntil: number;
  refusedUnits: number;
  asking: Promise<unknown> | null;
}

const leaseMs = 5_000;
const leaseMax = 32;
/** A site with a large ceiling takes a larger lease, or its many visitors would ask as often as before. */
const leaseUnitsOf = (max: number) => Math.max(leaseMax, Math.floor(max / 256));
const refusedForMs = 1_000;
/** How many allowances one instance remembers; beyond that it forgets the oldest. */
const rememberedMax = 20_000;
/** After a failure Redis is left alone for this long, except by limits that are closed without it. */
const downForMs = 1_000;

const leases = new Map<string, Lease>();
let downUntil = 0;

const idOf = ({ name, key }: Demand) => `${name}:${key}`;
const windowOf = ({ windowSeconds }: Demand, now: number) => Math.floor(now / (windowSeconds * 1000));
const secondsToReset = (demand: Demand, now: number) =>
  Math.max(1, Math.ceil(((windowOf(demand, now) + 1) * demand.windowSeconds * 1000 - now) / 1000));

/** Fail-closed limits ask each time: without Redis they let nobody through, not even for seconds. */
const isLeased = ({ whenRedisIsDown }: Demand) => whenRedisIsDown === "fail-open";

/** Most visitors send a few events and are gone: so many units of a window pass before Redis is asked about them. */
export const unaskedUnits = (max: number) => Math.min(leaseMax, Math.floor(max / 64));

function leaseOf(demand: Demand, now: number): Lease {
  const id = idOf(demand);
  const window = windowOf(demand, now);
  const known = leases.get(id);
  if (known?.window === window) return known;
  const owedBefore = known?.window === window - 1 ? known.owed - known.left : 0;
  const lease = {
    window,
    left: 0,
    granted: 0,
    until: 0,
    owed: 0,
    owedBefore,
    isAsked: false,
    refusedUntil: 0,
    refusedUnits: 0,
    asking: null,
  };
  leases.delete(id); // re-inserted at the end, so that the first entry is the oldest
  leases.set(id, lease);
  const oldest = leases.keys().next().value;
  if (leases.size > rememberedMax && oldest !== undefined) leases.delete(oldest);
  return lease;
}

const hasLease = (lease: Lease, demand: Demand, now: number) => lease.left >= demand.units && lease.until > now;
const mayOwe = (lease: Lease, demand: Demand) =>
  isLeased(demand) && !lease.isAsked && lease.owed + demand.units <= unaskedUnits(demand.max);

function takeLocally(lease: Lease, demand: Demand, now: number): void {
  if (hasLease(lease, demand, now)) lease.left -= demand.units;
  else lease.owed += demand.units;
}

/** Demands that were met while Redis was down. Redis never gave these units, so it must not get them back. */
const metLocally = new WeakSet<Demand>();

/** For a demand that was met and turned out not to count. */
export function giveBack(demands: readonly Demand[], now = Date.now()): void {
  for (const demand of demands.filter(isLeased)) {
    if (metLocally.delete(demand)) {
      uncountLocally(idOf(demand), demand.units);
      continue;
    }
    const lease = leaseOf(demand, now);
    if (lease.owed >= demand.units) lease.owed -= demand.units;
    else lease.left += demand.units;
  }
}

/** Takes what is demanded, all of it or nothing. Without Redis in most cases: from a lease, or unasked. */
export async function takeUnits(demands: readonly Demand[], waits = 0): Promise<Refusal | null> {
  const now = Date.now();
  const held = demands.filter(({ units }) => units > 0).map((demand) => ({ demand, lease: leaseOf(demand, now) }));
  const refused = held.find(({ demand, lease }) => lease.refusedUntil > now && demand.units >= lease.refusedUnits);
  if (refused) return { demand: refused.demand, retryAfterSeconds: secondsToReset(refused.demand, now) };
  const met = ({ demand, lease }: (typeof held)[number]) => hasLease(lease, demand, now) || mayOwe(lease, demand);
  if (held.every(met)) {
    for (const { demand, lease } of held) takeLocally(lease, demand, now);
    return null;
  }
  const others = held.find((each) => !met(each) && each.lease.asking && isLeased(each.demand));
  if (others && waits < 2) {
    await others.lease.asking;
    return takeUnits(demands, waits + 1);
  }
  // Those that are nearly used up are asked for in the same call.
  const asked = held.filter((each) => !met(each) || (isLeased(each.demand) && each.lease.left < each.lease.granted / 2));
  const rest = held.filter((each) => !asked.includes(each));
  for (const { demand, lease } of rest) takeLocally(lease, demand, now);
  const answer = ask(asked, now);
  const settled = answer.catch(() => {});
  for (const { lease } of asked) lease.asking = settled;
  try {
    const refusal = await answer;
    if (refusal) giveBack(rest.map(({ demand }) => demand));
    return refusal;
  } catch (error) {
    const refusal = countWithoutRedis(
      asked.map(({ demand }) => demand),
      error,
    );
    if (refusal) giveBack(rest.map(({ demand }) => demand));
    return refusal;
  } finally {
    for (const { lease } of asked) if (lease.asking === settled) lease.asking = null;
  }
}

async function ask(asked: readonly { demand: Demand; lease: Lease }[], now: number): Promise<Refusal | null> {
  if (downUntil > now && asked.every(({ demand }) => isLeased(demand))) throw new Error("Redis did not answer a moment ago");
  const keys: string[] = [];
  const args: number[] = [];
  for (const { demand, lease } of asked) {
    const { max, windowSeconds, units } = demand;
    const spanMs = windowSeconds * 1000;
    const name = `limit:${idOf(demand)}`;
    keys.push(`${name}:${lease.window}`, `${name}:${lease.window - 1}`);
    const wanted = isLeased(demand) ? Math.max(leaseUnitsOf(max), 4 * units) : units;
    args.push(max, 1 - (now % spanMs) / spanMs, spanMs * 2 + 1000, units, wanted, lease.owed - lease.left, lease.owedBefore);
    lease.owed = lease.left = lease.owedBefore = 0; // they travel with the question
    lease.isAsked = true;
  }
  const [met, ...figures] = await redis()
    .eval<number[], number[]>(leaseUnits, keys, args)
    .catch((error: unknown) => {
      downUntil = Date.now() + downForMs;
      throw error;
    });
  let worst: Refusal | null = null;
  for (const [index, { demand, lease }] of asked.entries()) {
    const figure = figures[index] ?? 0;
    if (met === 1) {
      lease.granted = figure;
      lease.left += figure - demand.units;
      lease.until = now + leaseMs;
    } else if (figure < 0) {
      if (isLeased(demand)) Object.assign(lease, { refusedUntil: now + refusedForMs, refusedUnits: demand.units });
      const retryAfterSeconds = secondsToReset(demand, now);
      if (!worst || worst.retryAfterSeconds < retryAfterSeconds) worst = { demand, retryAfterSeconds };
    }
  }
  return worst;
}

/** During an outage, at most one log line per limit in this time instead of one per request. */
const outageLogEveryMs = 10_000;
const outageLoggedAt = new Map<string, number>();

function countWithoutRedis(demands: readonly Demand[], error: unknown): Refusal | null {
  const now = Date.now();
  for (const { name, whenRedisIsDown: mode } of demands) {
    if (now - (outageLoggedAt.get(name) ?? 0) < outageLogEveryMs) continue;
    outageLoggedAt.set(name, now);
    log.warn("rate limit without Redis", { limit: name, mode, reason: error instanceof Error ? error.message : String(error) });
  }
  if (!demands.every(isLeased)) throw new AppError("REDIS_UNAVAILABLE", { cause: error });
  const refusals = demands.flatMap((demand) => {
    const { allowed, retryAfterSeconds } = countLocally(idOf(demand), demand, now);
    if (allowed) metLocally.add(demand);
    return allowed ? [] : [{ demand, retryAfterSeconds }];
  });
  // All of it or nothing, as with Redis.
  if (refusals.length > 0) giveBack(demands.filter((demand) => metLocally.has(demand)));
  return refusals[0] ?? null;
}
