import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { deviceCookieName, deviceCookieOptions } from "#lib/auth/known-device.ts";
import { signInWithinLimits } from "#lib/auth/sign-in.ts";
import { sessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { redis } from "#lib/platform/redis.ts";
import { createPerson, type Person, password } from "#tests/fixtures/team.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";
import { startTestRedis, type TestRedis } from "#tests/support/test-redis.ts";
import { waitForRedis } from "#tests/support/wait-for-redis.ts";

let db: TestDatabase;
let gateway: TestGateway;
let ownRedis: TestRedis;
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  ownRedis = await startTestRedis();
  useAppEnv({ database: db, gateway, redisRest: ownRedis.rest });
  waitForRedis();
  await createPerson(db.sql, "first@person.test");
});
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await ownRedis.stop();
  await gateway.stop();
  await db.drop();
});

const newPerson = () => createPerson(db.sql, `${randomUUID()}@person.test`);

interface Attempt {
  word?: string;
  address?: string;
  deviceToken?: string | undefined;
}

/** What the sign-in form does: the device's new cookie, or the code and the seconds to wait. */
async function attempt({ email }: Pick<Person, "email">, { word = "wrong", address = randomUUID(), deviceToken }: Attempt = {}) {
  const client = sessionClient({ getAll: () => [], setAll: () => {} });
  const caller = { headers: new Headers({ "x-forwarded-for": address }), deviceToken };
  try {
    return { code: "OK", waitSeconds: 0, deviceToken: await signInWithinLimits(client, { email, password: word }, caller) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: error.code, waitSeconds: Number(error.facts.extra?.retryAfterSeconds ?? 0), deviceToken: undefined };
  }
}
async function codes(times: number, person: Pick<Person, "email">, how: Attempt): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let index = 0; index < times; index++) {
    const { code } = await attempt(person, how);
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

// Guarantee: nobody is locked out by what somebody else does.
describe("99 wrong passwords for somebody's account", () => {
  test("do not lock the right person out elsewhere", async () => {
    const person = await newPerson();
    stopClock();
    expect(await codes(99, person, { address: "6.6.6.6" })).toEqual({ INVALID_CREDENTIALS: 5, RATE_LIMITED: 94 });
    expect((await attempt(person, { word: password, address: "1.1.1.1" })).code).toBe("OK");
  });

  test("do not lock out the device on which the person signed in before, not even from the same address", async () => {
    const person = await newPerson();
    const { deviceToken } = await attempt(person, { word: password, address: "6.6.6.7" });
    stopClock();
    await codes(99, person, { address: "6.6.6.7" });
    expect((await attempt(person, { word: password, address: "6.6.6.7" })).code).toBe("RATE_LIMITED");
    expect((await attempt(person, { word: password, address: "6.6.6.7", deviceToken })).code).toBe("OK");
  });

  test("from a known device itself are limited too", async () => {
    const person = await newPerson();
    const { deviceToken } = await attempt(person, { word: password });
    stopClock();
    expect(await codes(20, person, { deviceToken })).toEqual({ INVALID_CREDENTIALS: 10, RATE_LIMITED: 10 });
  });

  test("sent at once are counted at once", async () => {
    const person = await newPerson();
    stopClock();
    const answers = await Promise.all(Array.from({ length: 40 }, () => attempt(person, { address: "6.6.6.8" })));
    expect(answers.filter(({ code }) => code === "INVALID_CREDENTIALS")).toHaveLength(5);
  });
});

test("each wrong password doubles the wait, up to a quarter of an hour, and nothing sleeps meanwhile", async () => {
  const person = await newPerson();
  const clock = stopClock();
  await codes(5, person, { address: "6.6.6.9" });
  const waits: number[] = [];
  for (let index = 0; index < 11; index++) {
    const { waitSeconds } = await attempt(person, { address: "6.6.6.9" });
    waits.push(waitSeconds);
    clock.step(waitSeconds * 1000);
    expect((await attempt(person, { address: "6.6.6.9" })).code).toBe("INVALID_CREDENTIALS");
  }
  expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
  clock.step(900_000);
  expect((await attempt(person, { word: password, address: "6.6.6.9" })).code).toBe("OK");
  expect((await attempt(person, { address: "6.6.6.9" })).code).toBe("INVALID_CREDENTIALS"); // the count began anew
});

describe("one address that tries many accounts", () => {
  const guessMany = async (address: string, times: number) => {
    const counts: Record<string, number> = {};
    for (let index = 0; index < times; index++) {
      const { code } = await attempt({ email: `${randomUUID()}@person.test` }, { address });
      counts[code] = (counts[code] ?? 0) + 1;
    }
    return counts;
  };

  test("is made to wait after 30", async () => {
    stopClock();
    expect(await guessMany("6.6.7.1", 40)).toEqual({ INVALID_CREDENTIALS: 30, RATE_LIMITED: 10 });
  });

  test("cannot clear its count by signing in to an account of its own", async () => {
    const own = await newPerson();
    stopClock();
    await guessMany("6.6.7.2", 29);
    expect((await attempt(own, { word: password, address: "6.6.7.2" })).code).toBe("OK");
    expect(await guessMany("6.6.7.2", 3)).toEqual({ INVALID_CREDENTIALS: 1, RATE_LIMITED: 2 });
  });
});

describe("a device's cookie", () => {
  test("of one account, or made up, is no known device for another account", async () => {
    const [mine, theirs] = [await newPerson(), await newPerson()];
    const { deviceToken } = await attempt(mine, { word: password });
    stopClock();
    expect(await codes(8, theirs, { address: "6.6.8.1", deviceToken })).toEqual({ INVALID_CREDENTIALS: 5, RATE_LIMITED: 3 });
    const forged = `${deviceToken?.slice(0, -4)}AAAA`;
    expect(await codes(8, mine, { address: "6.6.8.2", deviceToken: forged })).toEqual({ INVALID_CREDENTIALS: 5, RATE_LIMITED: 3 });
  });

  test("is out of reach of scripts, bound to the host over https, and lasts 90 days", async () => {
    expect(deviceCookieName()).toBe("__Host-om_device");
    expect(deviceCookieOptions()).toEqual({ httpOnly: true, secure: true, sameSite: "lax", path: "/", maxAge: 7_776_000 });
    const person = await newPerson();
    const { deviceToken } = await attempt(person, { word: password });
    expect(deviceToken).not.toContain(person.email);
    const clock = stopClock();
    clock.step(91 * 86_400_000);
    await codes(99, person, { address: "6.6.8.3" });
    expect((await attempt(person, { word: password, address: "6.6.8.3", deviceToken })).code).toBe("RATE_LIMITED");
  });
});

test("no address and no account is readable in Redis", async () => {
  const person = await newPerson();
  await attempt(person, { address: "203.0.113.9" });
  const keys = await redis().keys("*");
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => key.includes("203.0.113") || key.includes("person.test"))).toEqual([]);
});

/** Other tests' accounts have a hash that takes no time to compare, so that no time would tell anything. */
async function hashAsAuthDoes(): Promise<void> {
  await db.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`; // a password changes only after a sign-in
    await tx`update auth.users set encrypted_password = extensions.crypt(${password}, extensions.gen_salt('bf', 10))`;
  });
}

// Guarantee: the time of an answer does not say whether an account exists. It was 136 ms against 40. Auth runs in this thread, so its CPU time is
// compared: others on the machine do not add to it. Mutation: ask Auth for the address as it was given.
test("guessing addresses does not learn by time whether an account exists", async () => {
  const person = await newPerson();
  await hashAsAuthDoes();
  const times: { known: number[]; unknown: number[] } = { known: [], unknown: [] };
  const timed = async (who: keyof typeof times, email: string) => {
    const before = process.threadCpuUsage();
    expect((await attempt({ email })).code).toBe("INVALID_CREDENTIALS");
    const { user, system } = process.threadCpuUsage(before);
    times[who].push(user + system);
  };
  for (let round = 0; round < 15; round++) {
    await timed("known", person.email);
    await timed("unknown", `${randomUUID()}@person.test`);
  }
  const total = (list: number[]) => list.reduce((sum, each) => sum + each);
  const ratio = total(times.unknown) / total(times.known);
  expect(ratio).toBeGreaterThan(0.75);
  expect(ratio).toBeLessThan(1.33);
});

// Last: Redis does not come back.
test("without Redis people still sign in, and guessing is limited by the process", async () => {
  const person = await newPerson();
  await ownRedis.stopServer();
  stopClock();
  expect(await codes(15, person, { address: "6.6.9.1" })).toEqual({ INVALID_CREDENTIALS: 10, RATE_LIMITED: 5 });
  expect((await attempt(person, { word: password, address: "1.1.9.1" })).code).toBe("OK");
});
