import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as cron } from "#app/api/cron/privacy/retention/route.ts";
import { verifyProofs } from "#lib/contracts/verify-proofs.ts";
import { drainEvents } from "#lib/ingest/drain.ts";
import type { SiteRetention } from "#lib/privacy/retention.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { callAt, service } from "#tests/fixtures/service.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { sendingSite } from "#tests/support/lead-journey.ts";
import { acknowledge, cellsWith, claimRow, leaveTraces, type TracedPerson } from "#tests/support/person.ts";
import { send } from "#tests/support/requests.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const monthsLater = (months: number) => {
  const at = new Date();
  at.setUTCDate(Math.min(at.getUTCDate(), 28)); // every month has it
  at.setUTCMonth(at.getUTCMonth() + months);
  return at;
};
const periods = { eventsMonths: 13, personalMonths: 24, failedDays: 30, revokedKeysDays: 365 };
const run = (at: Date, change: Partial<typeof periods> = {}) =>
  callAt<{ isDone: boolean; removed: Record<string, number> }>(
    app.db.sql,
    at,
    (tx) => tx`select public.run_retention(${tx.json({ ...periods, ...change })})`,
  );
const partitions = async () =>
  (await app.db.sql`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'private.events'::regclass order by 1`).map(
    ({ name }) => String(name),
  );
const moneyOf = async (site: IngestSite) => {
  const [row] = await app.db.sql`
    select (select jsonb_agg(jsonb_build_array(s.id, s.amount_cents, s.status, s.order_id) order by s.id) from public.sales s where s.site_id = ${site.siteUuid}) as sales,
      (select jsonb_agg(to_jsonb(r) order by r.id) from public.revenue_snapshots r join public.sales s on s.id = r.sale_id where s.site_id = ${site.siteUuid}) as ledger,
      (select jsonb_agg(to_jsonb(d) order by d.id) from public.provider_dispatches d where d.site_id = ${site.siteUuid}) as dispatches,
      (select jsonb_agg(to_jsonb(i) order by i.idempotency_key) from public.ingest_idempotency i where i.site_id = ${site.siteUuid}) as bills`;
  return row;
};
const personal = (cells: string[]) => cells.filter((cell) => !cell.startsWith("public.dispatch_identifiers"));
const deskLead = (site: IngestSite, { callId }: TracedPerson) =>
  callAs<{ visits: { isCleared: boolean; events: unknown[] }[] }>(
    app.db.sql,
    app.owner,
    (tx) => tx`select public.desk_lead(${site.siteId}, ${callId})`,
  );

describe("retention", () => {
  // Guarantee: nothing goes a day too early, and events go by the month without touching money. Mutation: compare the partition's first day.
  test("drops a month of events 13 months after its end; counts, bills and proofs stay, and the journey says so", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await claimRow(app, site, person);
    await acknowledge(app, site, person);
    const [money, billed, made] = [await moneyOf(site), (await figuresOf(app.db, site)).billed, await partitions()];
    expect((await run(monthsLater(13))).removed.partitions).toBe(0);
    expect(await partitions()).toEqual(made);
    expect((await deskLead(site, person)).visits.some(({ isCleared }) => isCleared)).toBe(false);

    expect((await run(monthsLater(14))).removed.partitions).toBeGreaterThan(0);
    expect((await partitions()).length).toBeLessThan(made.length);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed, stored: 0, calls: 1 });
    expect(await moneyOf(site)).toEqual(money);
    expect((await verifyProofs(app.db.sql)).fault).toBeNull();
    expect((await deskLead(site, person)).visits.every(({ isCleared, events }) => isCleared && events.length === 0)).toBe(true);
    await app.sync(site, pageView(site)); // what comes now has a place
    expect(await drainEvents()).toMatchObject({ stored: 1, failed: 0 });
  });

  // Guarantee: ingest never waits for a drop, and a drop never breaks ingest. Mutation: no lock_timeout.
  test("leaves a partition for the next run while somebody reads events", async () => {
    const before = await partitions();
    await app.db.sql.begin(async (tx) => {
      await tx`select count(*) from private.events`;
      expect((await run(monthsLater(40))).removed.partitions).toBe(0);
    });
    expect(await partitions()).toEqual(before);
    expect((await run(monthsLater(40))).removed.partitions).toBeGreaterThan(0);
  });

  test("deletes older events that have no month of their own", async () => {
    const site = await sendingSite(app);
    await app.sync(site, pageView(site));
    await app.db.sql`update public.ingest_fallback_buffer set created_at = created_at - interval '20 months' where status = 'PENDING'`;
    await drainEvents();
    expect((await figuresOf(app.db, site)).stored).toBe(1);
    await run(new Date());
    expect((await figuresOf(app.db, site)).stored).toBe(0);
    const sessions = await app.db.sql`select from public.sessions where site_id = ${site.siteUuid}`;
    expect(sessions).toHaveLength(0);
  });

  // Guarantee: after two years nobody can tell who a lead was, and every amount is as it was. Mutation: leave any of the three steps out.
  test("after 24 months leads, sales and notes keep ids and amounts and lose the person", async () => {
    const site = await sendingSite(app);
    const person = await leaveTraces(app, site);
    await claimRow(app, site, person);
    await acknowledge(app, site, person);
    const money = await moneyOf(site);
    await run(monthsLater(23));
    expect(await cellsWith(app, [person.phone, person.email])).toEqual(expect.arrayContaining(["public.calls.phone", "public.sales.note"]));
    const { removed } = await run(monthsLater(25));
    expect(removed).toMatchObject({ leads: expect.any(Number), sales: expect.any(Number), notes: expect.any(Number) });
    expect(personal(await cellsWith(app, person.traces))).toEqual([]); // identifiers went after 90 days, by a cron of their own
    expect(await moneyOf(site)).toEqual(money);
    expect((await verifyProofs(app.db.sql)).fault).toBeNull();
    expect((await run(monthsLater(25))).removed).toMatchObject({ leads: 0, sales: 0, notes: 0 }); // a repeat finds nothing
  });

  // Guarantee: nothing that is written behind the last run's mark stays for good. Mutation: leave reopen_retention out of seal_sale.
  test("a lead past its time that is sealed with a note: the next night takes the note", async () => {
    const site = await sendingSite(app);
    await app.sync(site, phoneCall(site, { meta: { fp: `late-${site.siteId}` } }));
    await drainEvents();
    await run(monthsLater(25));
    const [call] = await app.db.sql`select id from public.calls where site_id = ${site.siteUuid}`;
    const note = `Ring Mrs. Yilmaz ${site.siteId}`;
    await change(app.db.sql, { team: site }, "seal_call", { id: String(call?.id), amountCents: 1_000, note });
    expect(await cellsWith(app, [note])).toContain("public.sales.note");
    await run(monthsLater(26));
    expect(await cellsWith(app, [note])).toEqual([]);
  });

  // Guarantee: a choice goes with the visitor's last visit, also if it was said after that visit began. Mutation: compare when it was said with the
  // visits' period.
  test("a choice and a click that are younger than the visitor's last visit go with it", async () => {
    const site = await sendingSite(app);
    const fp = `visitor-${site.siteId}`;
    await app.sync(site, pageView(site, { consent_scopes: ["analytics", "marketing"], t: 1_200_000, meta: { fp } }));
    await app.sync(site, pageView(site, { consent_scopes: ["analytics"], t: 0, meta: { fp } }));
    await app.sync(site, pageView(site, { consent_scopes: ["analytics", "marketing"], t: 0, meta: { fp, gclid: `gclid-${fp}` } }));
    await drainEvents();
    // A year and not 13 months: every day comes again after it. The visit's beginning is a year old then, its end is not.
    const half = new Date();
    half.setUTCFullYear(half.getUTCFullYear() + 1);
    half.setTime(half.getTime() - 600_000);
    await run(half, { eventsMonths: 12 });
    expect(await cellsWith(app, [fp])).toEqual([]);
  });

  test("a refusal that was said yesterday outlives the visitor's last visit for days, and then goes", async () => {
    const site = await sendingSite(app);
    const fp = `refuser-${site.siteId}`;
    await app.sync(site, pageView(site, { meta: { fp } }));
    await drainEvents();
    await app.sync(site, { s: site.siteId, fp, consent_scopes: [], t: 0 });
    const night = monthsLater(14);
    await app.db.sql`update public.consent_choices set last_said_at = ${new Date(night.getTime() - 86_400_000)} where visitor_id = ${fp}`;
    await run(night);
    expect(await cellsWith(app, [fp])).toEqual(["public.consent_choices.visitor_id"]);
    await service(app.db.sql, "purge_consent_choices", {}, new Date(night.getTime() + 3 * 86_400_000));
    expect(await cellsWith(app, [fp])).toEqual([]);
  });

  test("an owner shortens it for one site, and is told what went; nobody lengthens it", async () => {
    const [site, other] = [await sendingSite(app), await sendingSite(app)];
    const [person, neighbour] = [await leaveTraces(app, site), await leaveTraces(app, other)];
    const set = (months: number | null) =>
      callAs(app.db.sql, app.owner, (tx) => tx`select public.set_site_retention(${site.siteId}, ${months})`);
    await set(6);
    await run(monthsLater(7));
    expect(await cellsWith(app, [person.phone])).toEqual([]);
    expect(await cellsWith(app, [neighbour.phone])).not.toEqual([]);
    const told = await callAs<{ personalMonths: number; removed: { kind: string; rows: number }[] }>(
      app.db.sql,
      app.owner,
      (tx) => tx`select public.site_retention(${site.siteId})`,
    );
    expect(told.personalMonths).toBe(6);
    expect(told.removed).toEqual(expect.arrayContaining([expect.objectContaining({ kind: "leads", rows: 1 })]));
    await set(120);
    const [months] = await app.db.sql`select private.personal_months_of(${site.siteUuid}, 24) as months`;
    expect(months?.months).toBe(24);
    await expect(set(1)).rejects.toThrow("VALIDATION_FAILED");
  });

  test("deletes failed payloads after 30 days and counts them in the bill all the same", async () => {
    const site = await sendingSite(app);
    await app.sync(site, pageView(site, { meta: { fp: "visitor-of-a-failure" } }));
    for (let attempt = 1; attempt <= 5; attempt++) {
      const at = new Date(Date.now() + attempt * 3_600_000);
      const { token, rows } = await service<{ token: string; rows: { id: string }[] }>(app.db.sql, "get_and_claim_fallback_batch", {}, at);
      for (const { id } of rows) await service(app.db.sql, "release_fallback_event", { p_token: token, p_id: id, p_reason: "a bug" });
    }
    await run(new Date(Date.now() + 29 * 86_400_000));
    expect(await cellsWith(app, ["visitor-of-a-failure"])).toEqual(["public.ingest_fallback_buffer.payload"]);
    await run(new Date(Date.now() + 31 * 86_400_000));
    expect(await cellsWith(app, ["visitor-of-a-failure"])).toEqual([]);
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  test("deletes keys a year after they were revoked, and no living one", async () => {
    const site = await sendingSite(app);
    const make = () =>
      callAs<{ id: string }>(app.db.sql, app.owner, (tx) => tx`select public.create_site_api_key(${site.siteId}, 'Till', '{sales}')`);
    const [old, living] = [await make(), await make()];
    await callAs(app.db.sql, app.owner, (tx) => tx`select public.revoke_site_api_key(${site.siteId}, ${old.id})`);
    const keys = async () => (await app.db.sql`select id from public.site_api_keys where site_id = ${site.siteUuid}`).map(({ id }) => id);
    await run(monthsLater(11));
    expect(await keys()).toHaveLength(2);
    await run(monthsLater(13));
    expect(await keys()).toEqual([living.id]);
  });

  // Guarantee: a missing or absurd setting deletes nothing.
  test.each([{ eventsMonths: 0 }, { personalMonths: 1 }, { failedDays: -1 }, { revokedKeysDays: 1 }])(
    "refuses the period %o",
    async (period) => {
      await expect(run(monthsLater(60), period)).rejects.toThrow("VALIDATION_FAILED");
    },
  );

  test("the cron needs its secret and answers with what it removed", async () => {
    expect((await send(cron, { method: "GET" })).status).toBe(401);
    const response = await send(cron, { method: "GET", headers: { authorization: `Bearer ${app.env.CRON_SECRET}` } });
    expect([response.status, await response.json()]).toEqual([200, { removed: expect.objectContaining({ leads: expect.any(Number) }) }]);
  });
});

// Guarantee: the privacy page promises what the crons do. Mutation: say another number of days in site_retention.
test("what the privacy page says of a customer's hashes and of what was handed out is when they are gone", async () => {
  const site = await sendingSite(app);
  const person = await leaveTraces(app, site);
  await claimRow(app, site, person);
  const { keptDays } = await callAs<SiteRetention>(app.db.sql, app.owner, (tx) => tx`select public.site_retention(${site.siteId})`);
  const gone = async (days: number, hours: number) => {
    const at = new Date(Date.now() + days * 86_400_000 + hours * 3_600_000);
    await callAt(app.db.sql, at, (tx) => tx`select public.purge_customer_hashes(), public.purge_dispatch_identifiers()`);
    const [row] = await app.db.sql`select
      (select count(*)::int from public.sales where site_id = ${site.siteUuid} and num_nonnulls(customer_hash, email_hash) > 0) as hashes,
      (select count(*)::int from public.dispatch_identifiers i join public.offline_conversion_queue q on q.id = i.queue_id
        where q.site_id = ${site.siteUuid}) as "handedOut"`;
    return row;
  };
  expect(keptDays.customerHashes).toBe(keptDays.handedOut); // so that one pair of moments is enough
  expect(await gone(keptDays.handedOut, -2)).toMatchObject({ handedOut: 1, hashes: 1 });
  expect(await gone(keptDays.handedOut, 2)).toEqual({ handedOut: 0, hashes: 0 });
});
