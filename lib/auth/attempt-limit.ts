import { hashedAddress } from "#lib/http/caller-address.ts";
import { countLocally } from "#lib/http/count-locally.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { keyedHash } from "#lib/platform/keyed-hash.ts";
import { log } from "#lib/platform/log.ts";
import { redis } from "#lib/platform/redis.ts";

/** Wrong passwords that cost nothing; from then on each doubles the wait, up to the longest. */
interface Patience {
  free: number;
  longestSeconds: number;
  rememberedSeconds: number;
}

/** A person who mistypes, an office behind one address, and a device that its owner has used before. */
const patience = {
  pair: { free: 5, longestSeconds: 900, rememberedSeconds: 86_400 },
  address: { free: 30, longestSeconds: 900, rememberedSeconds: 3_600 },
  device: { free: 10, longestSeconds: 300, rememberedSeconds: 86_400 },
} satisfies Record<string, Patience>;
const firstWaitMs = 2_000;

interface Counter extends Patience {
  key: string;
}

/**
 * Says how long to wait, or counts one attempt on every counter as a wrong one: attempts at the same time then see each other.
 *   ARGV  now, the first wait, then for each key: free attempts, the longest wait and how long it is remembered, in ms.
 */
const countAttempt = `
local now, first = tonumber(ARGV[1]), tonumber(ARGV[2])
local wait = 0
for i = 1, #KEYS do
  wait = math.max(wait, tonumber(redis.call("HGET", KEYS[i], "until") or "0") - now)
end
if wait > 0 then return wait end
for i = 1, #KEYS do
  local a = i * 3
  local over = redis.call("HINCRBY", KEYS[i], "wrong", 1) - tonumber(ARGV[a])
  if over >= 0 then
    local pause = math.min(tonumber(ARGV[a + 1]), first * 2 ^ math.min(over, 20))
    redis.call("HSET", KEYS[i], "until", string.format("%.0f", now + pause))
  end
  redis.call("PEXPIRE", KEYS[i], ARGV[a + 2])
end
return 0
`;

/** Who is counted: a known device only as itself, so that nobody else's attempts lock it out. */
export function countersOf(headers: Headers, email: string, device: string | null): Counter[] {
  const account = keyedHash("account", email);
  if (device) return [{ ...patience.device, key: `sign-in:device:${keyedHash("device", `${device} ${account}`)}` }];
  const address = hashedAddress(headers);
  return [
    { ...patience.pair, key: `sign-in:pair:${address}:${account}` },
    { ...patience.address, key: `sign-in:address:${address}` },
  ];
}

const tooMany = (retryAfterSeconds: number) =>
  new AppError("RATE_LIMITED", {
    detail: `Too many wrong passwords. Try again in ${retryAfterSeconds} s.`,
    extra: { retryAfterSeconds },
    headers: { "retry-after": String(retryAfterSeconds) },
  });

/** Counts an attempt, or refuses it with the seconds to wait. Open without Redis, counted in the process: nobody is locked out by an outage. */
export async function beginAttempt(counters: readonly Counter[], now = Date.now()): Promise<void> {
  const keys = counters.map(({ key }) => key);
  const args = counters.flatMap(({ free, longestSeconds, rememberedSeconds }) => [free, longestSeconds * 1000, rememberedSeconds * 1000]);
  const waitMs = await redis()
    .eval<number[], number>(countAttempt, keys, [now, firstWaitMs, ...args])
    .catch((error: unknown) => {
      log.warn("sign-in limit without Redis", { reason: error instanceof Error ? error.message : String(error) });
      return waitWithoutRedis(counters, now);
    });
  if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
}

function waitWithoutRedis(counters: readonly Counter[], now: number): number {
  const refused = counters
    .map(({ key, free }) => countLocally(key, { max: 2 * free, windowSeconds: 60, units: 1 }, now))
    .find(({ allowed }) => !allowed);
  return refused ? refused.retryAfterSeconds * 1000 : 0;
}

/**
 * The attempt was not a wrong one. After a sign-in the person's own count ends; the address loses only this attempt, or somebody could clear it
 * by signing in to an account of their own.
 */
export async function forgiveAttempt(counters: readonly Counter[], { signedIn }: { signedIn: boolean }): Promise<void> {
  const [own, ...shared] = counters;
  const calls = redis().multi();
  if (own && signedIn) calls.del(own.key);
  for (const { key } of own && !signedIn ? counters : shared) calls.hincrby(key, "wrong", -1).hdel(key, "until");
  await calls.exec().catch((error: unknown) => log.warn("sign-in attempt not forgiven", { error }));
}
