import { Ratelimit } from "@upstash/ratelimit";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import { redis } from "#lib/platform/redis.ts";

export interface RateLimit<Actor = undefined> {
  /** Names the limit in Redis and in logs. */
  name: string;
  requests: number;
  windowSeconds: number;
  /** Who shares one allowance. */
  key(input: { request: Request; actor: Actor }): string;
  /**
   * What a missing Redis means. "fail-closed" refuses with 503; "fail-open" counts in this process instead,
   * for routes where a refused request is lost money.
   */
  whenRedisIsDown: "fail-open" | "fail-closed";
}

const limiters = new Map<string, Ratelimit>();

function limiterFor({ name, requests, windowSeconds }: Pick<RateLimit, "name" | "requests" | "windowSeconds">): Ratelimit {
  const known = limiters.get(name);
  if (known) return known;
  const limiter = new Ratelimit({
    redis: redis(),
    prefix: `limit:${name}`,
    limiter: Ratelimit.slidingWindow(requests, `${windowSeconds} s`),
    analytics: false,
  });
  limiters.set(name, limiter);
  return limiter;
}

interface Verdict {
  allowed: boolean;
  retryAfterSeconds: number;
}

/** During an outage, at most one log line per limit in this time instead of one per request. */
const outageLogEveryMs = 10_000;
const outageLoggedAt = new Map<string, number>();

function logOutage(name: string, mode: string, error: unknown): void {
  const now = Date.now();
  if (now - (outageLoggedAt.get(name) ?? 0) < outageLogEveryMs) return;
  outageLoggedAt.set(name, now);
  log.warn("rate limit without Redis", { limit: name, mode, reason: error instanceof Error ? error.message : String(error) });
}

async function ask<Actor>(limit: RateLimit<Actor>, key: string): Promise<Verdict> {
  try {
    const { success, reset, reason } = await limiterFor({ ...limit }).limit(key);
    if (reason === "timeout") throw new Error("Redis did not answer in time"); // the library would let it pass
    return { allowed: success, retryAfterSeconds: Math.max(1, Math.ceil((reset - Date.now()) / 1000)) };
  } catch (error) {
    logOutage(limit.name, limit.whenRedisIsDown, error);
    if (limit.whenRedisIsDown === "fail-closed") throw new AppError("REDIS_UNAVAILABLE", { cause: error });
    return countLocally(`${limit.name}:${key}`, limit);
  }
}

/** Counts one request against a limit; over it, throws 429 with the seconds to wait. */
export async function enforceLimit<Actor>(limit: RateLimit<Actor>, input: { request: Request; actor: Actor }): Promise<void> {
  const { allowed, retryAfterSeconds } = await ask(limit, limit.key(input));
  if (allowed) return;
  throw new AppError("RATE_LIMITED", {
    detail: `At most ${limit.requests} requests in ${limit.windowSeconds} seconds. Try again in ${retryAfterSeconds} s.`,
    extra: { retryAfterSeconds },
    headers: { "retry-after": String(retryAfterSeconds), "x-opsmantik-ratelimit": "1" },
  });
}

/** The caller's address. Vercel overwrites these headers; elsewhere a caller can forge them, so it never authenticates. */
export function clientAddress(headers: Headers): string {
  const forwarded = headers.get("x-vercel-forwarded-for") ?? headers.get("x-forwarded-for") ?? "";
  return forwarded.split(",")[0]?.trim().slice(0, 64) || "unknown";
}

const aMinute = { windowSeconds: 60, whenRedisIsDown: "fail-open" as const };

/** So many a minute from one address, before the guard: guessing keys costs the database no more than that. */
export const addressLimit = (name: string, requests: number): RateLimit => ({
  ...aMinute,
  name,
  requests,
  key: ({ request }) => clientAddress(request.headers),
});

/** So many a minute by one person, for what costs the database much. */
export const personLimit = (name: string, requests: number): RateLimit<{ user: { id: string } }> => ({
  ...aMinute,
  name,
  requests,
  key: ({ actor }) => actor.user.id,
});

/** How many callers one process remembers while Redis is down; beyond that it forgets the oldest. */
const rememberedCallersMax = 10_000;

const windows = new Map<string, { endsAt: number; count: number }>();

/** A fixed window in this process's memory: what protects a fail-open route while Redis is down. */
function countLocally(key: string, limit: { requests: number; windowSeconds: number }, now = Date.now()) {
  let window = windows.get(key);
  if (!window || window.endsAt <= now) {
    window = { endsAt: now + limit.windowSeconds * 1000, count: 0 };
    windows.delete(key); // re-inserted at the end, so that the first entry is always the oldest
    windows.set(key, window);
    const oldest = windows.keys().next().value;
    if (windows.size > rememberedCallersMax && oldest !== undefined) windows.delete(oldest);
  }
  window.count += 1;
  return { allowed: window.count <= limit.requests, retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)) };
}
