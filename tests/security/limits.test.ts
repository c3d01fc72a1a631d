import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, request as requestHttp } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Demand, giveBack, takeUnits, unaskedUnits } from "#lib/http/allowance.ts";
import { addressRange, clientAddress, hashedAddress, peerHeader } from "#lib/http/caller-address.ts";
import { notePeerAddresses } from "#lib/http/note-peer.ts";
import { redis } from "#lib/platform/redis.ts";
import { closeServer, listenLocal } from "#scripts/local/process/local-server.ts";
import { checkoutDir } from "#scripts/local/process/state-dir.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const from = (address: string) => ({ "x-forwarded-for": address });
const batchOf = (site: IngestSite, events: number) => ({
  s: site.siteId,
  events: Array.from({ length: events }, () => ({ ...pageView(site), s: undefined })),
});
/** How often each answer came. */
async function answers(times: number, sendOne: (index: number) => Promise<Response>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let index = 0; index < times; index++) {
    const { status } = await sendOne(index);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

describe("a made-up address", () => {
  const forged = new Headers({
    "x-forwarded-for": "6.6.6.6, 7.7.7.7, 10.0.0.9",
    "x-vercel-forwarded-for": "5.5.5.5",
    [peerHeader]: "10.0.0.1",
  });

  // Guarantee: a caller cannot become a new one by writing a header.
  test("counts only as far as the trusted proxies vouch for it", () => {
    expect(clientAddress(forged, "none")).toBe("10.0.0.1");
    expect(clientAddress(forged, 1)).toBe("10.0.0.9");
    expect(clientAddress(forged, 2)).toBe("7.7.7.7");
    expect(clientAddress(forged, "vercel")).toBe("5.5.5.5");
  });

  test("in the header of the socket's own address is overwritten before anything reads it", async () => {
    notePeerAddresses();
    const server = createServer((request, response) => response.end(String(request.headers[peerHeader])));
    const url = await listenLocal(server, "peer");
    const said = await new Promise<string>((resolve, reject) => {
      requestHttp(url, { headers: { [peerHeader]: "6.6.6.6" } }, (response) => {
        response.setEncoding("utf8").on("data", resolve);
      })
        .on("error", reject)
        .end();
    });
    await closeServer(server);
    expect(said).toMatch(/^(::ffff:)?127\.0\.0\.1$|^::1$/);
  });

  test("within one IPv6 network is the same caller", () => {
    expect(addressRange("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::/64");
    expect(addressRange("2001:db8:1:2::9")).toBe("2001:db8:1:2::/64");
    expect(addressRange("2001:db8::9")).toBe("2001:db8:0:0::/64");
    expect(addressRange("::ffff:1.2.3.4")).toBe("1.2.3.4");
  });

  test("no address is readable in Redis", async () => {
    const site = await app.newSite();
    await app.sync(site, batchOf(site, 100), from("203.0.113.77"));
    const keys = await redis().keys("limit:*");
    expect(keys.filter((key) => key.includes(hashedAddress(new Headers(from("203.0.113.77"))))).length).toBeGreaterThan(0);
    expect(keys.filter((key) => key.includes("203.0.113"))).toEqual([]);
  });
});

// Guarantee: the limit is of events. Five requests once made 500 billed units, and 200,000 a minute were possible.
test("a stranger who forges the Origin and sends batches of 100 gets 2,000 events a minute, not 2,000 batches", async () => {
  const site = await app.newSite({ highCeilings: true });
  stopClock();
  const counts = await answers(30, (index) =>
    app.sync(site, batchOf(site, 100), { ...from("6.6.6.1"), "user-agent": `Mozilla/5.0 Chrome/${index}` }),
  );
  expect(counts).toEqual({ 200: 20, 429: 10 });
  expect((await figuresOf(app.db, site)).billed).toBe(2000);
  expect((await app.sync(site, pageView(site), from("1.1.1.1"))).status).toBe(200);
});

test("a stranger who floods one site after the other gets 10,000 events a minute in all", async () => {
  stopClock();
  let accepted = 0;
  for (let index = 0; index < 6; index++) {
    const site = await app.newSite({ highCeilings: true });
    accepted += (await answers(20, () => app.sync(site, batchOf(site, 100), from("6.6.6.9"))))[200] ?? 0;
  }
  expect(accepted).toBe(100);
});

// Guarantee: made-up ids cost the database 300 questions a minute and address; sites that this process knows stay open.
test("random site ids from one address are turned away before the database is asked", async () => {
  const site = await app.newSite();
  expect((await app.sync(site, pageView(site), from("6.6.6.2"))).status).toBe(200);
  stopClock();
  const guess = () => app.sync(site, { ...pageView(site), s: randomBytes(16).toString("hex") }, from("6.6.6.2"));
  expect(await answers(320, guess)).toEqual({ 400: 300, 429: 20 });
  expect((await app.sync(site, pageView(site), from("6.6.6.2"))).status).toBe(200);
  expect((await app.sync(site, { ...pageView(site), s: randomBytes(16).toString("hex") }, from("1.1.1.2"))).status).toBe(400);
});

test("one unknown site id sent again and again costs one question and uses up no allowance", async () => {
  const site = await app.newSite();
  const unknown = { ...pageView(site), s: randomBytes(16).toString("hex") };
  stopClock();
  expect(await answers(320, () => app.sync(site, unknown, from("6.6.6.3")))).toEqual({ 400: 320 });
});

test("a telephone system's own signed calls use up no allowance of wrong signatures", async () => {
  const site = await app.newSite();
  stopClock();
  expect(await answers(40, () => app.call(site, { event_id: randomUUID() }, { address: "6.6.6.4" }))).toEqual({ 200: 40 });
});

// Guarantee: 300 wrong signatures a minute are checked for a site and address, twice what a site may report, so that whoever signs rightly is never
// kept out. Other sites that report through the same proxy are not affected.
test("wrong signatures over 60 kB are turned away before they are checked", async () => {
  const [site, other] = [await app.newSite(), await app.newSite()];
  const body = JSON.stringify({ intent_stamp: "x", url: null, padding: "p".repeat(60_000) });
  stopClock();
  const proxy = { address: "6.6.6.5" };
  expect(await answers(340, () => app.call(site, body, { ...proxy, signature: "0".repeat(64) }))).toEqual({ 401: 300, 429: 40 });
  expect((await app.call(other, { event_id: randomUUID() }, proxy)).status).toBe(200);
});

// Guarantee: whoever used nothing of a lease finds the whole allowance in the next window. Mutation: leave owedBefore out of the question.
test("a lease that nobody used costs the next window nothing", async () => {
  const clock = stopClock(Math.floor(Date.now() / 60_000) * 60_000);
  const key = randomUUID();
  const demand = (): Demand => ({ name: "test-lease", key, max: 300, windowSeconds: 60, units: 1, whenRedisIsDown: "fail-open" });
  for (let honest = 0; honest < 40; honest++) {
    const taken = demand();
    expect(await takeUnits([taken])).toBeNull();
    giveBack([taken]);
  }
  clock.step(60_000);
  let met = 0;
  while (met < 400 && !(await takeUnits([demand()]))) met++;
  expect(met).toBe(300);
});

describe("several instances", () => {
  const child = join(checkoutDir, "tests/support/take-units-in-child.ts");
  /** Each is an OS process; all take from one allowance at once, in one window. */
  async function race(demand: Demand, processes: number): Promise<number> {
    const order = JSON.stringify({ demand, refusalsMax: 8, takenMax: 2 * demand.max });
    const runs = Array.from({ length: processes }, () => promisify(execFile)(process.execPath, [child, order]));
    const said = await Promise.all(runs);
    return said.reduce((sum, { stdout }) => sum + JSON.parse(stdout.trim().split("\n").at(-1) ?? "").taken, 0);
  }
  const demand = (max: number): Demand => ({
    name: "test-race",
    key: randomUUID(),
    max,
    windowSeconds: 1_000_000_000, // no window ends before 2033
    units: 1,
    whenRedisIsDown: "fail-open",
  });

  // Guarantee: limit ≤ taken ≤ limit + instances × unasked, where unasked = min(32, limit / 64).
  // Mutation: grant leases without charging them.
  test("exceed a limit by no more than what each lets pass unasked", { timeout: 120_000 }, async () => {
    const max = 1000;
    const taken = await race(demand(max), 4);
    expect(taken).toBeLessThanOrEqual(max + 4 * unaskedUnits(max));
    expect(taken).toBeGreaterThanOrEqual(max - 4 * 32);
  });

  test("never exceed a limit that is closed without Redis", { timeout: 120_000 }, async () => {
    expect(await race({ ...demand(50), whenRedisIsDown: "fail-closed" }, 3)).toBe(50);
  });

  // Guarantee: limits do not cost what they protect. Mutation: ask Redis for each unit.
  test("ask Redis once in a few dozen requests", async () => {
    const asked = vi.spyOn(redis(), "eval");
    const site = { ...demand(100_000) };
    for (let index = 0; index < 1000; index++) await takeUnits([{ ...site }, { ...site, name: "test-other" }]);
    expect(asked.mock.calls.length).toBeLessThan(1000 / 24);
    asked.mockRestore();
  });
});

describe("a stranger waits for an outage of Redis", () => {
  const guess = (key: string): Demand => ({ name: "guesses", key, max: 64, windowSeconds: 3600, units: 1, whenRedisIsDown: "fail-open" });
  const outage = () => vi.spyOn(redis(), "eval").mockRejectedValue(new Error("Redis is down"));
  const until = async (key: string) => {
    let met = 0;
    while (met < 500 && !(await takeUnits([guess(key)]))) met++;
    return met;
  };

  // Guarantee: a limit on guesses counts guesses, also without Redis. Mutation: leave metLocally out of giveBack.
  test("whoever guesses nothing is not refused for what others may guess, and guesses are still counted", async () => {
    stopClock();
    const down = outage();
    const key = randomUUID();
    await takeUnits([guess(key)]); // the one that passes before anything is counted
    for (let honest = 0; honest < 200; honest++) {
      const demand = guess(key);
      expect(await takeUnits([demand])).toBeNull();
      giveBack([demand]);
    }
    expect(await until(key)).toBe(64);
    down.mockRestore();
  });

  // Guarantee: what was counted in the process is not given back to Redis, which would then allow more guesses than the limit says.
  test("gains no guesses for the time after it", async () => {
    stopClock();
    const down = outage();
    const key = randomUUID();
    await takeUnits([guess(key)]);
    for (let honest = 0; honest < 60; honest++) {
      const demand = guess(key);
      await takeUnits([demand]);
      giveBack([demand]);
    }
    down.mockRestore();
    vi.setSystemTime(Date.now() + 2_000);
    expect(await until(key)).toBeLessThanOrEqual(64);
  });

  test("a request that one of two limits refuses uses up nothing of the other", async () => {
    stopClock();
    const down = outage();
    const [tight, wide] = [randomUUID(), randomUUID()];
    await until(tight);
    for (let refused = 0; refused < 100; refused++) expect(await takeUnits([guess(wide), guess(tight)])).not.toBeNull();
    expect(await until(wide)).toBe(64 + unaskedUnits(64));
    down.mockRestore();
  });
});
