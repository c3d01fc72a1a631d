import fc from "fast-check";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { invoice } from "#lib/billing/billing-shapes.ts";
import { verifyInvoice } from "#lib/billing/verify-invoice.ts";
import { shiftMonth } from "#lib/billing/year-month.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { admitMany, freezeMonth } from "#tests/fixtures/counted-events.ts";
import { callAt } from "#tests/fixtures/service.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Team;
let runs = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createTeam(db.sql, "founder");
});
afterAll(() => db.drop());

const runsMax = process.env.OPSMANTIK_FAULT === "full" ? 500 : 12;
const minute = 60_000;
// Two whole months, young enough that nothing of them has expired. Each run begins a week before the first one ends.
const thisMonth = new Date().toISOString().slice(0, 7);
const [first, second] = [shiftMonth(thisMonth, -2), shiftMonth(thisMonth, -1)];

const minutes = fc.integer({ min: 1, max: 2000 });
const regular = [
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), minutes }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("admit" as const), minutesLate: fc.constant(0), isHeld: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("burst" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("end" as const), isCommitted: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("count" as const), pages: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("freeze" as const) }) },
];
const irregular = [
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("admit" as const), minutesLate: fc.integer({ min: 1, max: 20_000 }), isHeld: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("lose" as const) }) },
];
type Step = (typeof regular | typeof irregular)[number]["arbitrary"] extends fc.Arbitrary<infer T> ? T : never;

/** One site's ledger over some weeks, with admissions that are begun and ended at any time. */
class Ledger {
  now = Date.parse(`${first}-25T00:00:00Z`);
  readonly #team: Team;
  readonly #open: postgres.ReservedSql[] = [];
  #made = 0;
  constructor(team: Team) {
    this.#team = team;
  }

  at(minutesLate = 0): string {
    return new Date(this.now - minutesLate * minute).toISOString();
  }

  async take(step: Step): Promise<void> {
    const { siteUuid } = this.#team;
    if (step.do === "wait") this.now += step.minutes * minute;
    if (step.do === "admit") await this.#admit(step);
    if (step.do === "end") await this.#end(step.isCommitted);
    if (step.do === "count")
      await callAt(db.sql, this.at(), (tx) => tx`select private.count_days(${siteUuid}, private.settled_until(), ${step.pages})`);
    if (step.do === "freeze") await callAt(db.sql, this.at(), (tx) => tx`select public.freeze_invoices(${first})`);
    if (step.do === "lose")
      await db.sql`delete from public.ingest_idempotency i where i.ctid = (select x.ctid from public.ingest_idempotency x where x.site_id = ${siteUuid} limit 1)`;
    if (step.do === "burst") await this.#burst();
  }

  async #admit({ minutesLate, isHeld }: { minutesLate: number; isHeld: boolean }): Promise<void> {
    const events = Array.from({ length: 3 }, () => ({ k: this.#key(), e: null, n: "interaction/view", p: {} }));
    const tx = await db.sql.reserve();
    await tx`begin`;
    await tx`select set_config('opsmantik.now', ${this.at(minutesLate)}, true), public.admit_events(${this.#team.siteUuid}, ${tx.json(events)})`;
    this.#open.push(tx);
    if (!isHeld || this.#open.length > 4) await this.#end(true);
  }

  #key(): string {
    this.#made += 1;
    return `${this.#team.siteId}${String(this.#made).padStart(32, "0")}`;
  }

  async #end(isCommitted: boolean): Promise<void> {
    const tx = this.#open.shift();
    if (!tx) return;
    await (isCommitted ? tx`commit` : tx`rollback`);
    tx.release();
  }

  /** More than a page within some minutes. */
  async #burst(): Promise<void> {
    await admitMany(db.sql, { siteUuid: this.#team.siteUuid, from: this.at(), batches: 12, secondsApart: 20 });
    this.now += 5 * minute;
  }

  async endAll(): Promise<void> {
    while (this.#open.length > 0) await this.#end(true);
  }

  /** What the days say, and what one COUNT says, at the same moment. */
  async check(): Promise<void> {
    const [row] = await db.sql`select
      (select jsonb_object_agg(d.day, d.events) from private.daily_counts(${this.#team.siteUuid}, private.month_start(${first}), private.month_end(${second})) d
        where d.events > 0) as days,
      (select jsonb_object_agg(c.day, c.events) from (select (i.created_at at time zone 'UTC')::date as day, count(*) as events
        from public.ingest_idempotency i where i.site_id = ${this.#team.siteUuid} group by 1) c) as counted`;
    expect(row?.days).toEqual(row?.counted);
  }

  async checkInvoices(): Promise<void> {
    const freezeAt = `${thisMonth}-03T00:00:00Z`;
    await freezeMonth(db.sql, freezeAt, first);
    await freezeMonth(db.sql, freezeAt, second);
    for (const month of [first, second]) {
      const found = invoice.parse(
        await callAs(db.sql, this.#team.viewer, (tx) => tx`select public.get_invoice(${this.#team.siteId}, ${month})`),
      );
      const events = await db.sql<{ at: string; key: string }[]>`
        select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, encode(idempotency_key, 'hex') as key
        from public.ingest_idempotency where site_id = ${this.#team.siteUuid} and private.billing_month(created_at) = ${month}`;
      const later = found.corrections.reduce((sum, { events: more }) => sum + more, 0);
      expect(found.eventCount + later, month).toBe(events.length);
      const verified = verifyInvoice(found, events);
      expect(verified, month).toMatchObject({ hashMatches: true, sumMatches: true });
      if (later !== 0 || month === second) expect(verified.events, month).toBe(later === 0 ? "match" : "corrected");
    }
  }
}

async function live(steps: Step[]): Promise<void> {
  runs += 1;
  const team = await createTeam(db.sql, `ledger${runs}`, founder.owner);
  if (runs % 50 === 0) founder = await handOver(db.sql, team, `owner@runs${runs}.test`); // a person has at most 100 sites
  const ledger = new Ledger(team);
  await callAt(db.sql, ledger.at(), (tx) => tx`select public.set_site_plan(${team.siteId}, 'Plan', 5, 'soft', 'TRY', null, 0, 1000)`);
  try {
    for (const step of steps) {
      await ledger.take(step);
      await ledger.check();
    }
  } finally {
    await ledger.endAll();
  }
  await ledger.check();
  await ledger.checkInvoices();
}

const timeout = 600_000;

// Guarantee: an invoice is the exact count, whenever rows were admitted, committed or lost and whenever they were counted.
// Mutation: no trigger that notes late or lost rows.
test("the days add up to one COUNT, also with rows that come or go at any time", { timeout }, async () => {
  const steps = fc.array(fc.oneof(...regular, ...irregular), { minLength: 5, maxLength: 25 });
  await fc.assert(fc.asyncProperty(steps, live), { numRuns: runsMax });
});

// Guarantee: an admission that commits hours after it began is counted, and no counted day needs to be counted again for it.
// Nothing notes late rows here, so what holds is the watermark alone. Mutation: a watermark that ignores running transactions.
test("the days add up to one COUNT, by the watermark alone", { timeout }, async () => {
  await db.sql`alter table public.ingest_idempotency disable trigger late_rows_are_noted`;
  const steps = fc.array(fc.oneof(...regular), { minLength: 5, maxLength: 25 });
  const property = fc.asyncProperty(steps, async (taken) => {
    await db.sql`update private.ledger_watermark set settled_until = '-infinity', noted_at = null, horizon = null`; // time begins anew
    await live(taken);
  });
  await fc.assert(property, { numRuns: runsMax });
});
