import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents, storedRow } from "#lib/ingest/drain.ts";
import type { CapturedEvent } from "#lib/ingest/event-shape.ts";
import { checkoutDir } from "#scripts/local/process/state-dir.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(async () => {
  vi.useRealTimers();
  await app.db.sql`delete from public.ingest_fallback_buffer`; // the worker takes what it finds, of any site
});
afterAll(() => app.stop());

const claim = async (limit = 500) => {
  const [row] = await app.db.sql`select public.get_and_claim_fallback_batch(${limit}) as batch`;
  return row?.batch as { token: string; rows: { id: string; payload: CapturedEvent; receivedAt: string }[] };
};
const store = async ({ token, rows }: Awaited<ReturnType<typeof claim>>) => {
  const values = rows.map(({ id, payload }) => storedRow({ id }, payload));
  const [row] = await app.db.sql`select public.store_events(${token}, ${app.db.sql.json(values)}) as done`;
  return row?.done;
};
/** Lets the two minutes of a lease, or the wait before a next attempt, pass. */
const letTimePass = () =>
  app.db
    .sql`update public.ingest_fallback_buffer set claimed_at = claimed_at - interval '3 minutes', updated_at = updated_at - interval '3 minutes'`;
const statuses = async (site: IngestSite) =>
  (
    await app.db
      .sql`select status, attempt_count as attempts from public.ingest_fallback_buffer where site_id = ${site.siteUuid} order by created_at, id`
  ).map((row) => [row.status, row.attempts]);

async function capture(site: IngestSite, count = 1): Promise<void> {
  await app.sync(site, { events: Array.from({ length: count }, () => phoneCall(site)) });
}

describe("exactly one effect", () => {
  // Guarantee: QStash delivers at least once, and a second delivery changes nothing.
  test("a second run after the first finds nothing to do", async () => {
    const site = await app.newSite();
    await capture(site, 3);
    expect(await drainEvents()).toEqual({ stored: 3, calls: 3, failed: 0 });
    expect(await drainEvents()).toEqual({ stored: 0, calls: 0, failed: 0 });
    expect(await figuresOf(app.db, site)).toEqual({ billed: 3, captured: 3, stored: 3, calls: 3 });
  });

  test("storing the same lease twice stores once", async () => {
    const site = await app.newSite();
    await capture(site, 2);
    const lease = await claim();
    expect(await store(lease)).toEqual({ stored: 2, calls: 2 });
    expect(await store(lease)).toEqual({ stored: 0, calls: 0 });
    expect((await figuresOf(app.db, site)).stored).toBe(2);
  });

  // Guarantee: two workers never get the same event. Mutation: drop SKIP LOCKED (the second waits) or the status change.
  test("while one worker's claim is open, another gets other rows without waiting", async () => {
    const site = await app.newSite();
    await capture(site, 4);
    await app.db.sql.begin(async (tx) => {
      const [first] = await tx`select public.get_and_claim_fallback_batch(2) as batch`;
      const [second] = await app.db.sql.begin(async (other) => {
        await other`set local lock_timeout = '5s'`; // a claim that waits is a failure, not a test without end
        return other`select public.get_and_claim_fallback_batch(500) as batch`;
      });
      const ids = [...(first?.batch.rows ?? []), ...(second?.batch.rows ?? [])].map((row: { id: string }) => row.id);
      expect(new Set(ids).size).toBe(4);
    });
  });

  test("eight workers at once store each event once", async () => {
    const site = await app.newSite();
    for (let index = 0; index < 6; index++) await capture(site, 100);
    const done = await Promise.all(Array.from({ length: 8 }, () => drainEvents()));
    expect(done.reduce((sum, { stored }) => sum + stored, 0)).toBe(600);
    expect(await figuresOf(app.db, site)).toEqual({ billed: 600, captured: 600, stored: 600, calls: 600 });
  });

  test("a worker that lost its lease stores nothing; the one that has it does", async () => {
    const site = await app.newSite();
    await capture(site);
    const late = await claim();
    expect((await claim()).rows).toEqual([]);
    await letTimePass();
    const current = await claim();
    expect(current.rows).toHaveLength(1);
    expect(await store(late)).toEqual({ stored: 0, calls: 0 });
    expect(await store(current)).toEqual({ stored: 1, calls: 1 });
    expect((await figuresOf(app.db, site)).stored).toBe(1);
  });

  // Guarantee: a killed worker loses nothing and doubles nothing, whether or not its last statement still went through.
  // Mutation: mark rows RECOVERED in the claim.
  test.each([
    ["before its statement did anything", true],
    ["and its statement goes through after its death", false],
  ])(
    "a worker process is killed with SIGKILL between claim and store, %s",
    async (_name, backendDies) => {
      const site = await app.newSite();
      await capture(site, 3);
      const [payload] = await app.db.sql`select payload ->> 'visitor' as visitor from public.ingest_fallback_buffer`;
      await app.db.sql.begin(async (tx) => {
        // The worker takes this lock first, so it stands between its claim and its first write.
        await tx`select pg_advisory_xact_lock(hashtextextended(${`${site.siteUuid}/${payload?.visitor}`}, 0))`;
        const child = spawn(process.execPath, [join(checkoutDir, "tests/support/drain-in-child.ts")], {
          env: process.env,
          stdio: ["ignore", "ignore", "inherit"],
        });
        const backend = await vi.waitFor(
          async () => {
            const [row] = await app.db.sql`select pid from pg_stat_activity
            where datname = current_database() and wait_event = 'advisory' and application_name = 'opsmantik'`;
            if (!row) throw new Error("not waiting yet");
            return row.pid;
          },
          { timeout: 20_000, interval: 20 },
        );
        child.kill("SIGKILL");
        await once(child, "exit");
        if (backendDies) await app.db.sql`select pg_terminate_backend(${backend})`;
      });
      await vi.waitFor(
        async () => {
          const [row] = await app.db.sql`select count(*)::int as n from pg_stat_activity
          where datname = current_database() and application_name = 'opsmantik' and state = 'active'`;
          expect(row?.n).toBe(0);
        },
        { timeout: 20_000, interval: 20 },
      );
      if (backendDies) expect(await statuses(site)).toEqual(Array(3).fill(["PROCESSING", 1]));
      expect((await drainEvents()).stored).toBe(0); // a lease is respected until it is over
      await letTimePass();
      await drainEvents();
      expect(await figuresOf(app.db, site)).toEqual({ billed: 3, captured: 3, stored: 3, calls: 3 });
      expect((await statuses(site)).map(([status]) => status)).toEqual(Array(3).fill("RECOVERED"));
    },
    60_000,
  );

  // Guarantee: the process that dies right after the gate's transaction, before it tells QStash, loses nothing.
  test("an event that no wake-up names is found by the cron", async () => {
    const site = await app.newSite();
    await app.db.sql`select public.admit_events(${site.siteUuid}, ${app.db.sql.json([
      { k: "ab".repeat(32), e: null, n: "interaction/view", p: capturedPayload(site) },
    ])})`;
    expect((await app.recover()).stored).toBe(1);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, stored: 1 });
  });
});

describe("partitions", () => {
  const partitionOf = async (site: IngestSite) =>
    (await app.db.sql`select tableoid::regclass::text as name from private.events where site_id = ${site.siteUuid}`).map((row) => row.name);

  // Guarantee: a cron that did not run loses no event.
  test("an event of a month without a partition lies in the default one, and the cron leaves it there", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site));
    await app.db.sql`update public.ingest_fallback_buffer set created_at = '2031-05-06T07:08:09Z'`;
    await drainEvents();
    expect(await partitionOf(site)).toEqual(["private.events_default"]);
    await app.db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', '2031-05-10T00:00:00Z', true)`;
      const [row] = await tx`select public.ensure_event_partitions() as answer`;
      expect(row?.answer).toEqual({ made: ["events_2031_06", "events_2031_07"] });
    });
    expect(await partitionOf(site)).toEqual(["private.events_default"]);
  });

  test("this month and the next two are there from the start, with row level security; making them again makes nothing", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site));
    await drainEvents();
    const [month] = await app.db.sql`select 'private.events_' || to_char(now() at time zone 'UTC', 'YYYY_MM') as name`;
    expect(await partitionOf(site)).toEqual([month?.name]);
    const [again] = await app.db.sql`select public.ensure_event_partitions() as answer`;
    expect(again?.answer).toEqual({ made: [] });
    const open = await app.db.sql`select relname from pg_class where relname like 'events_2%' and relkind = 'r' and not relrowsecurity`;
    expect([...open]).toEqual([]);
  });
});

test("a stored event's captured copy is emptied at once and gone after a day", async () => {
  const site = await app.newSite();
  await capture(site);
  await drainEvents();
  const [row] = await app.db.sql`select payload from public.ingest_fallback_buffer`;
  expect(row?.payload).toEqual({});
  expect((await app.recover()).purged).toBe(0);
  await app.db.sql`update public.ingest_fallback_buffer set updated_at = updated_at - interval '25 hours'`;
  expect((await app.recover()).purged).toBe(1);
  expect(await figuresOf(app.db, site)).toEqual({ billed: 1, captured: 0, stored: 1, calls: 1 });
});

function capturedPayload(site: IngestSite) {
  return {
    visitor: "somebody",
    category: "interaction",
    action: "view",
    label: null,
    value: null,
    url: site.origin,
    referrer: null,
    device: null,
    country: null,
    city: null,
    utm: {},
    gclid: null,
    wbraid: null,
    gbraid: null,
    marketingConsent: true,
    marketingDefault: true,
    intentStamp: null,
    phone: null,
  };
}
