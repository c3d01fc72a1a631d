import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import type { CapturedEvent } from "#lib/ingest/event-shape.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { figuresOf, type IngestApp, type IngestSite, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";

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

describe("an event that cannot be stored", () => {
  const poisons: [string, object][] = [
    ["cannot be read", { visitor: 5 }],
    ["is refused by the database", { gclid: "x".repeat(600), marketingConsent: true }],
  ];

  // Guarantee: one bad event neither blocks the others nor disappears.
  test.each(poisons)("one that %s fails after five attempts with its reason; the others are stored at once", async (_name, change) => {
    const site = await app.newSite();
    await capture(site, 3);
    const [poisoned] = await app.db.sql`update public.ingest_fallback_buffer set payload = payload || ${app.db.sql.json(change as never)}
      where id = (select id from public.ingest_fallback_buffer order by created_at, id offset 1 limit 1) returning id`;
    expect(await drainEvents()).toMatchObject({ stored: 2, failed: 1 });
    for (let attempt = 2; attempt <= 5; attempt++) {
      expect((await drainEvents()).failed).toBe(0); // it waits: a passing trouble must not use up all attempts
      await letTimePass();
      expect((await drainEvents()).failed).toBe(1);
    }
    await letTimePass();
    expect(await drainEvents()).toEqual({ stored: 0, calls: 0, failed: 0 });
    const failed = await callAs<{ id: string; attempts: number; reason: string }[]>(
      app.db.sql,
      app.owner,
      (tx) => tx`select public.list_failed_events(${site.siteId})`,
    );
    expect(failed).toEqual([{ id: poisoned?.id, attempts: 5, reason: expect.stringMatching(/.{10}/), receivedAt: expect.any(String) }]);
    expect(await figuresOf(app.db, site)).toEqual({ billed: 3, captured: 3, stored: 2, calls: 2 });
  });

  test("it can be replayed once its cause is gone, and is billed no second time", async () => {
    const site = await app.newSite();
    await capture(site);
    const [row] = await app.db
      .sql`update public.ingest_fallback_buffer set status = 'FAILED', attempt_count = 5, last_error = 'a bug' returning id`;
    const replay = () => callAs(app.db.sql, app.owner, (tx) => tx`select public.replay_failed_events(${site.siteId}, ${[row?.id]})`);
    expect(await replay()).toEqual({ replayed: 1 });
    expect(await replay()).toEqual({ replayed: 0 });
    expect((await drainEvents()).stored).toBe(1);
    expect(await figuresOf(app.db, site)).toEqual({ billed: 1, captured: 1, stored: 1, calls: 1 });
  });

  test("one that ends its worker five times is FAILED too, leased alone after the first time", async () => {
    const site = await app.newSite();
    await capture(site, 2);
    expect((await claim()).rows).toHaveLength(2);
    for (let attempt = 2; attempt <= 5; attempt++) {
      await letTimePass();
      expect((await claim()).rows).toHaveLength(1);
      expect((await claim()).rows).toHaveLength(1);
    }
    await letTimePass();
    expect((await claim()).rows).toEqual([]);
    expect(await statuses(site)).toEqual(Array(2).fill(["FAILED", 5]));
    const [row] = await app.db.sql`select last_error from public.ingest_fallback_buffer where site_id = ${site.siteUuid}`;
    expect(row?.last_error).toContain("five times");
  });

  // Guarantee: an answer that comes very late and the end of its lease never wait for each other's rows.
  test("one whose fifth answer is just being stored is neither ended nor waited for", async () => {
    const site = await app.newSite();
    await capture(site, 2);
    await app.db.sql`update public.ingest_fallback_buffer set attempt_count = 4`;
    for (let lease = 0; lease < 2; lease++) {
      await letTimePass();
      expect((await claim()).rows).toHaveLength(1);
    }
    await letTimePass();
    await app.db.sql.begin(async (late) => {
      await late`select from public.ingest_fallback_buffer order by id limit 1 for update`;
      expect((await claim()).rows).toEqual([]);
      expect((await statuses(site)).toSorted()).toEqual([
        ["FAILED", 5],
        ["PROCESSING", 5],
      ]);
    });
    expect((await claim()).rows).toEqual([]);
    expect(await statuses(site)).toEqual(Array(2).fill(["FAILED", 5]));
  });
});
