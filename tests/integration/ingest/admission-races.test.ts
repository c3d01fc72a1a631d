import type postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { idempotencyKey } from "#lib/ingest/admit.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { untilSomebodyWaits, whileOpen } from "#tests/support/while-open.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

/** What the gate hands to the database for an event made by pageView. */
function candidate(site: IngestSite, event: Record<string, unknown>, at = Date.now()) {
  const { fp: visitor } = event.meta as { fp: string };
  const parts = { siteUuid: site.siteUuid, category: "interaction", action: "view", label: "", url: String(event.u), visitor };
  const key = idempotencyKey(parts, at);
  return { k: key, e: (event.eid as string | undefined) ?? null, n: "interaction/view", p: {} };
}

const statusOf = async (response: Promise<Response>) => (await (await response).json()).status;
const usageOf = async (site: IngestSite) => {
  const [row] = await app.db
    .sql`select coalesce(sum(event_count), 0)::int as used from public.site_usage_monthly where site_id = ${site.siteUuid}`;
  return row?.used;
};

describe("two requests with the same key", () => {
  // Guarantee: one unique event is one billable row even when both requests are inside the gate at once.
  // Mutation: read for the key first and insert without ON CONFLICT.
  test.each([
    ["key", { eid: undefined }],
    ["eid", { eid: "one-click" }],
  ])("the second waits for the first and is a duplicate, known by its %s", async (_name, change) => {
    const site = await app.newSite();
    const event = pageView(site, change);
    stopClock();
    const first = { ...candidate(site, event), ...(change.eid && { k: "ab".repeat(32) }) };
    const second = await whileOpen(
      app.db.sql,
      (tx) => tx`select public.admit_events(${site.siteUuid}, ${tx.json([first])})`,
      () => app.sync(site, event),
    );
    expect(second.headers.get("x-opsmantik-dedup")).toBe("1");
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  // Guarantee: a first request that failed costs the second nothing.
  test("when the first is rolled back, the second is accepted", async () => {
    const site = await app.newSite();
    const event = pageView(site);
    stopClock();
    const status = await whileOpen(
      app.db.sql,
      (tx) => tx`select public.admit_events(${site.siteUuid}, ${tx.json([candidate(site, event)])})`,
      () => statusOf(app.sync(site, event)),
      "rollback",
    );
    expect(status).toBe("queued");
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  test("100 parallel identical requests are 1 row and 99 duplicates", async () => {
    const site = await app.newSite();
    const event = pageView(site);
    const responses = await Promise.all(Array.from({ length: 100 }, () => app.sync(site, event)));
    expect(responses.map((response) => response.status)).toEqual(Array(100).fill(200));
    expect(responses.filter((response) => response.headers.get("x-opsmantik-dedup") === "1")).toHaveLength(99);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, captured: 1 });
  });

  // Guarantee: cleanup and a returning key never meet in an error.
  test("a key whose old row is being deleted is accepted once the deletion is through", async () => {
    const site = await app.newSite();
    const event = pageView(site);
    stopClock();
    await app.sync(site, event);
    const status = await whileOpen(
      app.db.sql,
      (tx) => tx`delete from public.ingest_idempotency where site_id = ${site.siteUuid}`,
      () => statusOf(app.sync(site, event)),
    );
    expect(status).toBe("queued");
  });

  /** The gate has given its rows back once, has its turn on the site and waits again, now for as long as it takes. */
  async function untilItWaitsInTurn(): Promise<void> {
    const waiting = () => app.db.sql`select from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and a.datname = current_database() and a.wait_event_type = 'Lock'`;
    while ((await waiting()).length === 0);
  }

  // Guarantee: two batches with the same events in crossed order cost neither of them. Mutation: triesMax = 1 in call-rpc.
  test("a batch that Postgres ended because of a deadlock is tried again and admits each event once", async () => {
    const site = await app.newSite();
    stopClock();
    const events = [pageView(site, { eid: undefined }), pageView(site, { eid: undefined })]
      .toSorted((one, other) => candidate(site, one).k.localeCompare(candidate(site, other).k))
      .map((event, index) => ({ ...event, eid: index === 0 ? "a" : "b" }));
    const other = (eid: string) => [{ k: (eid === "a" ? "aa" : "bb").repeat(32), e: eid, n: "interaction/view", p: {} }];
    const response = await app.db.sql.begin(async (tx) => {
      await tx`set local deadlock_timeout = '60s'`; // the gate's own transaction is the one that Postgres ends
      await tx`select public.admit_events(${site.siteUuid}, ${tx.json(other("b"))})`;
      const sent = app.sync(site, { events });
      await untilItWaitsInTurn();
      await tx`select public.admit_events(${site.siteUuid}, ${tx.json(other("a"))})`;
      return { sent };
    });
    expect((await (await response.sent).json()).results).toEqual(["duplicate", "duplicate"]);
    expect((await figuresOf(app.db, site)).billed).toBe(2);
  });
});

// Guarantee: a busy site costs the database a call for many requests, and each is billed as if it had come alone. Mutation: admit each alone.
test("requests that come while two calls wait for the usage row share the third, and each has its own answer", async () => {
  const site = await app.newSite({ plan: { limit: 10, enforcement: "hard" } });
  await app.sync(site, pageView(site));
  const twice = pageView(site);
  const events = [...Array.from({ length: 6 }, () => pageView(site)), twice, twice, ...Array.from({ length: 6 }, () => pageView(site))];
  const responses = await whileOpen(
    app.db.sql,
    (tx) => tx`select from public.site_usage_monthly where site_id = ${site.siteUuid} for update`,
    () => Promise.all(events.map((event) => app.sync(site, event))),
  );
  const answers = await Promise.all(responses.map(async (response) => (await response.json()).results[0]));
  expect(answers.toSorted()).toEqual([...Array(9).fill("accepted"), "duplicate", ...Array(4).fill("quota")]);
  expect(await figuresOf(app.db, site)).toMatchObject({ billed: 10, captured: 10 });
  const calls = await app.db.sql`select distinct created_at from public.ingest_idempotency where site_id = ${site.siteUuid}`;
  expect(calls.length).toBeLessThanOrEqual(4); // the one before, two that waited, and one for the other twelve
});

describe("a plan with a cap", () => {
  // Guarantee: a hard cap is never exceeded. Mutation: read the usage row without FOR UPDATE.
  test.each([
    ["limit - 1", 31, 31],
    ["limit", 32, 32],
    ["limit + 1", 33, 32],
  ])("32 parallel requests against a cap of %s", async (_name, limit, accepted) => {
    const site = await app.newSite({ plan: { limit, enforcement: "hard" } });
    const responses = await Promise.all(Array.from({ length: 32 }, () => app.sync(site, pageView(site))));
    expect(responses.filter((response) => response.status === 200)).toHaveLength(accepted);
    expect(responses.filter((response) => response.headers.get("x-opsmantik-quota-exceeded") === "1")).toHaveLength(32 - accepted);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: accepted, captured: accepted });
    expect(await usageOf(site)).toBe(accepted);
  });

  test("batches of 7 in parallel fill a cap of 50 exactly", async () => {
    const site = await app.newSite({ plan: { limit: 50, enforcement: "hard" } });
    await Promise.all(Array.from({ length: 16 }, () => app.sync(site, { events: Array.from({ length: 7 }, () => pageView(site)) })));
    expect((await figuresOf(app.db, site)).billed).toBe(50);
    expect(await usageOf(site)).toBe(50);
  });

  test("the last place is given once: the second waits for the first and is over the cap", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    const second = await whileOpen(
      app.db.sql,
      (tx) => tx`select public.admit_events(${site.siteUuid}, ${tx.json([candidate(site, pageView(site))])})`,
      () => app.sync(site, pageView(site)),
    );
    expect(second.status).toBe(429);
  });

  // Guarantee: sites without a cap never queue behind one row.
  test("without a cap two different events of one site are admitted side by side", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "soft" } });
    await app.db.sql.begin(async (tx) => {
      await tx`select public.admit_events(${site.siteUuid}, ${tx.json([candidate(site, pageView(site))])})`;
      const beside = app.sync(site, pageView(site));
      const answered = new AbortController();
      const waits = untilSomebodyWaits(app.db.sql, answered.signal).then(() => "waits behind a lock");
      expect(await Promise.race([statusOf(beside), waits])).toBe("queued");
      answered.abort();
      await waits;
    });
  });

  test("a plan that becomes hard counts what came before it, stored or not", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site));
    await app.recover();
    await app.sync(site, pageView(site));
    await app.db.sql`select public.set_site_plan(${site.siteId}, 'Hard', 3, 'hard', 'TRY')`;
    expect((await app.sync(site, pageView(site))).status).toBe(200);
    expect((await app.sync(site, pageView(site))).status).toBe(429);
    await app.recover();
    expect(await usageOf(site)).toBe(3);
  });
});

describe("the running figure", () => {
  const recount = (site: IngestSite) =>
    app.db.sql`select event_count::int as used, drift::int as drift
      from private.recount_month(${site.siteUuid}, private.billing_month(now()))`.then(([row]) => row);

  // Guarantee: a recount beside open admissions and the worker neither misses an event nor counts it twice.
  test("recounts, admissions and workers side by side end at the number of billable rows, and no recount finds drift", async () => {
    const site = await app.newSite();
    const admissions = Array.from({ length: 40 }, () => app.sync(site, { events: [pageView(site), pageView(site)] }));
    const drifts: unknown[] = [];
    const recounts = (async () => {
      for (let index = 0; index < 15; index++) drifts.push((await recount(site))?.drift);
    })();
    await Promise.all([...admissions, recounts, app.recover(), app.recover()]);
    await app.recover();
    expect((await figuresOf(app.db, site)).billed).toBe(80);
    expect(await usageOf(site)).toBe(80);
    expect(await recount(site)).toEqual({ used: 80, drift: 0 });
    expect(drifts.filter((drift) => drift !== 0)).toEqual([]);
  });

  const storeIn = async (tx: postgres.TransactionSql) => {
    const [claim] = await tx`select public.get_and_claim_fallback_batch(500) as batch`;
    const rows = claim?.batch.rows.map((row: { id: string; payload: object }) => ({
      id: row.id,
      ...row.payload,
      fromGoogle: false,
      scrollDepth: 0,
    }));
    await tx`select public.store_events(${claim?.batch.token}, ${tx.json(rows)})`;
  };

  // Guarantee: reconciliation never kills the worker nor the worker it, and the figure is right in the end. Mutation: lock the usage
  // row before the captured rows, or wait for captured rows that the worker holds.
  test("a recount waits for a worker that has stored and counted, and both come through", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site));
    expect(await whileOpen(app.db.sql, storeIn, () => recount(site))).toEqual({ used: 1, drift: 0 });
    expect(await usageOf(site)).toBe(1);
  });

  test("a recount passes over captured rows that a worker holds, and the worker counts them", async () => {
    const site = await app.newSite();
    await app.sync(site, { events: Array.from({ length: 30 }, () => pageView(site)) });
    await app.db.sql.begin(async (tx) => {
      await tx`select from public.ingest_fallback_buffer where site_id = ${site.siteUuid} for update`;
      expect(await recount(site)).toMatchObject({ used: 0, drift: 0 }); // nothing waits: the rows are not its own
      await storeIn(tx);
    });
    expect(await usageOf(site)).toBe(30);
    expect(await recount(site)).toEqual({ used: 30, drift: 0 });
  });

  test("an event admitted but not yet committed is counted by the next recount, once", async () => {
    const site = await app.newSite();
    await app.db.sql.begin(async (tx) => {
      await tx`select public.admit_events(${site.siteUuid}, ${tx.json([{ ...candidate(site, pageView(site)) }])})`;
      expect(await recount(site)).toEqual({ used: 0, drift: 0 });
    });
    expect(await recount(site)).toEqual({ used: 1, drift: 0 });
  });
});
