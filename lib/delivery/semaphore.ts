import { randomUUID } from "node:crypto";
import { env } from "#lib/env.ts";
import { log } from "#lib/platform/log.ts";
import { redis } from "#lib/platform/redis.ts";
import type { SiteUuid } from "#lib/site.ts";

/**
 * How many uploads run at once, for one (site, provider) and for a provider altogether. Each holder is a member of a sorted set, scored with
 * the time at which it counts as dead. Redis's own clock decides: two workers' clocks may differ by more than a lease.
 */

/** Takes both slots or neither, after removing expired holders. */
const acquireScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, 2 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now) end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
local isCapped = tonumber(ARGV[4]) > 0
if isCapped and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then return 0 end
for i = 1, isCapped and 2 or 1 do
  redis.call('ZADD', KEYS[i], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[i], ARGV[2])
end
return 1`;

/** Only what is still held: a holder that was presumed dead cannot return beside its successor. */
const renewScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not held or tonumber(held) <= now then return 0 end
for i = 1, 2 do
  if redis.call('ZSCORE', KEYS[i], ARGV[1]) then
    redis.call('ZADD', KEYS[i], now + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return 1`;

const releaseScript = `
for i = 1, 2 do redis.call('ZREM', KEYS[i], ARGV[1]) end
return 1`;

export interface Slot {
  /** Holds on for another lease; false when the slot was lost. */
  renew(): Promise<boolean>;
  /** Gives back what this holder has, and nobody else's. */
  release(): Promise<void>;
}

/** A slot for one upload to the provider. Null when all are taken or Redis does not answer: then nothing may be sent now. Never throws. */
export async function acquireSlot(siteUuid: SiteUuid, providerKey: string): Promise<Slot | null> {
  const { CONCURRENCY_PER_SITE_PROVIDER: perSite, CONCURRENCY_GLOBAL_PER_PROVIDER: overall, SEMAPHORE_TTL_MS: ttlMs } = env();
  const keys = [`conc:${siteUuid}:${providerKey}`, `conc:global:${providerKey}`];
  const token = randomUUID();
  const release = () => run(releaseScript, keys, [token]).then(() => undefined, logged("semaphore not released"));
  try {
    const isAcquired = (await run(acquireScript, keys, [token, ttlMs, perSite, overall])) === 1;
    return isAcquired ? { renew: () => renew(keys, token, ttlMs), release } : null;
  } catch (error) {
    logged("semaphore not reached")(error);
    void release(); // the answer may have been lost on its way, not the command
    return null;
  }
}

/** Runs the work with the slot renewed three times a lease, and gives it back whatever happens. */
export async function whileHolding<T>(slot: Slot, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void slot.renew(), env().SEMAPHORE_TTL_MS / 3);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await slot.release();
  }
}

async function renew(keys: string[], token: string, ttlMs: number): Promise<boolean> {
  const isHeld = await run(renewScript, keys, [token, ttlMs]).then((answer) => answer === 1, logged("semaphore not renewed"));
  return isHeld ?? false;
}

const run = (script: string, keys: string[], args: (string | number)[]): Promise<unknown> => redis().eval(script, keys, args);

const logged = (message: string) => (error: unknown) => {
  log.warn(message, { reason: error instanceof Error ? error.message : String(error) });
  return undefined;
};
