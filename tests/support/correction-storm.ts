import type postgres from "postgres";
import { bulkSeal } from "#tests/fixtures/bulk-seal.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, settleClaim, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { StormRandom } from "./storm/storm-random.ts";

/** Workers that answer in one call, die or outlive their lease; people who correct and cancel meanwhile; recovery all the time. */
export interface CorrectionStorm {
  sql: postgres.Sql;
  team: Team;
  waves: number;
  seed: number;
}

const salesPerWave = 40;
const workerCount = 4;
const correctorCount = 2;
const changesPerCorrector = 15;
const claimsPerRecovery = 12; // more often, and hardly a worker would answer in time

export interface Tally {
  sales: number;
  changes: number;
  claims: number;
  inOneCall: number;
  leftToSettle: number;
  died: number;
  late: number;
  recovered: number;
}

/** A wave of sales at a time, until nothing of it is due or in flight. What was handed out is remembered, by row. */
export async function runCorrectionStorm(storm: CorrectionStorm): Promise<{ tally: Tally; handed: Map<string, Set<number>> }> {
  const { sql, team } = storm;
  const random = new StormRandom(storm.seed);
  const tally: Tally = { sales: 0, changes: 0, claims: 0, inOneCall: 0, leftToSettle: 0, died: 0, late: 0, recovered: 0 };
  const handed = new Map<string, Set<number>>();
  for (let wave = 0; wave < storm.waves; wave++) {
    await bulkSeal(sql, team, salesPerWave);
    const sales = (
      await sql`select sale_id from public.offline_conversion_queue where site_id = ${team.siteUuid} and status = 'QUEUED' and kind = 'CONVERSION'`
    ).map((row) => String(row.sale_id));
    tally.sales += sales.length;
    const state = { isOver: false };
    const work = { storm, random, tally, handed, state };
    const people = Array.from({ length: correctorCount }, () => changeSales(work, sales));
    const others = [recover(work), ...Array.from({ length: workerCount }, () => deliver(work))];
    await Promise.all(people);
    state.isOver = true; // the others end when nothing is left to do
    await Promise.all(others);
    // A worker may have died after the last recovery.
    while (await isUnderWay(sql, team)) {
      tally.recovered += await recoverAll(sql);
      await deliver(work);
    }
  }
  return { tally, handed };
}

interface Work {
  storm: CorrectionStorm;
  random: StormRandom;
  tally: Tally;
  handed: Map<string, Set<number>>;
  state: { isOver: boolean };
}

async function changeSales({ storm: { sql, team }, random, tally }: Work, sales: string[]): Promise<void> {
  for (let n = 0; n < changesPerCorrector; n++) {
    const id = random.pick(sales);
    const { status } = random.chance(0.85)
      ? await change(sql, { team }, "correct_sale", { id, amountCents: random.integer(100, 900_000) })
      : await change(sql, { team }, "cancel_sale", { id });
    if (status === 200) tally.changes += 1; // a cancelled sale cannot be corrected
  }
}

async function recover({ storm: { sql, team }, tally, state }: Work): Promise<void> {
  let next = tally.claims + claimsPerRecovery;
  while (!state.isOver || (await isUnderWay(sql, team))) {
    if (tally.claims < next && !state.isOver) {
      await sql`select`; // the others go on meanwhile
      continue;
    }
    next = tally.claims + claimsPerRecovery;
    tally.recovered += await recoverAll(sql);
  }
}

/** Every claim counts as run out, those under way as well. */
async function recoverAll(sql: postgres.Sql): Promise<number> {
  const at = minutesLater(2, new Date());
  return (await service<{ recovered: number }>(sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 1 }, at)).recovered;
}

async function isUnderWay(sql: postgres.Sql, { siteUuid }: Team): Promise<boolean> {
  return (await sql`select from private.queue_open where site_id = ${siteUuid} and status = 'PROCESSING' limit 1`).length > 0;
}

/** Claims, hands over and answers until the people are done and nothing is due. */
async function deliver(work: Work): Promise<void> {
  const { storm, random, tally, handed, state } = work;
  const { sql, team } = storm;
  let open: WorkerClaim | null = null;
  for (;;) {
    const wasOver = state.isOver;
    const claim: WorkerClaim = open ?? (await claimForWorker(sql, team, { limit: random.integer(1, 8) }));
    open = null;
    if (claim.rows.length === 0) {
      if (wasOver) return;
      continue;
    }
    tally.claims += 1;
    for (const { id, valueCents } of claim.rows) handed.set(id, (handed.get(id) ?? new Set()).add(valueCents));
    const fate = random.weighed([
      [70, "answers"],
      [15, "late"],
      [15, "dies"],
    ] as const);
    if (fate === "dies") tally.died += 1;
    if (fate === "late") {
      tally.late += 1;
      tally.recovered += await recoverAll(sql);
      await settleClaim(sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" });
    }
    if (fate === "answers") open = await answer(work, claim);
  }
}

/** In one call, and what is no longer plain in a second one. */
async function answer({ storm: { sql, team }, random, tally }: Work, claim: WorkerClaim): Promise<WorkerClaim | null> {
  const args = {
    p_site_id: team.siteUuid,
    p_provider_key: "google_ads",
    p_token: claim.token,
    p_ids: claim.rows.map(({ id }) => id),
    p_indexes: claim.rows.map((_row, index) => index),
    p_sent: { transport: "ads_api", verdict: "CONFIRMED" },
    p_batch: { provider: "google_ads", outcome: "success", credentialsVersion: claim.batch.credentialsVersion, durationMs: 1 },
    p_limit: random.integer(0, 8),
  };
  const done = await service<{ left: number; claim: WorkerClaim | null }>(sql, "settle_and_claim_conversion_jobs", args).catch((error) => {
    if (error?.code === "55P03") return { left: claim.rows.length, claim: null }; // somebody held a row for longer than it waits
    throw error;
  });
  if (done.left === 0) tally.inOneCall += 1;
  else {
    tally.leftToSettle += 1;
    await settleClaim(sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { batch: { outcome: "success", durationMs: 1 } });
  }
  return done.claim;
}

/** Everything that is not as it should be afterwards, one sentence each. */
export async function findCorrectionProblems(sql: postgres.Sql, team: Team, handed: Map<string, Set<number>>): Promise<string[]> {
  const sales = await sql`
    select s.id, s.status, s.amount_cents::int as ledger, d.kind as sent_kind, d.value_cents::int as sent, o.kind as open_kind, o.value_cents::int as open
    from public.sales s left join private.standing_dispatches d on d.sale_id = s.id
      left join lateral (select q.kind, q.value_cents from private.queue_open q where q.sale_id = s.id and q.status in ('QUEUED', 'RETRY')
        order by q.created_at desc, q.id desc limit 1) o on true
    where s.site_id = ${team.siteUuid}`;
  const wrong = sales.flatMap(({ id, status, ledger, sent_kind, sent, open_kind, open }) => {
    if (status === "CANCELED")
      return sent_kind === null || sent_kind === "RETRACT" || open_kind === "RETRACT" ? [] : [`sale ${id} is cancelled and counts ${sent}`];
    return (open ?? sent) === ledger ? [] : [`sale ${id} is worth ${ledger}; sent ${sent}, queued ${open}`];
  });
  const delivered = await sql`select id, value_cents::int as value from private.queue_delivered where site_id = ${team.siteUuid}`;
  const unsent = delivered.flatMap(({ id, value }) =>
    handed.get(id)?.has(value) ? [] : [`row ${id} is booked with ${value}, never handed out`],
  );
  const [left] = await sql`
    select (select count(*)::int from private.queue_open where site_id = ${team.siteUuid} and status = 'PROCESSING') as "rows in flight",
      (select count(*)::int from private.queue_open o join private.queue_delivered d using (id)) as "rows in both parts",
      (select count(*)::int from (select t.from_status, lag(t.to_status) over (partition by t.queue_id order by t.id) as before
        from public.queue_transitions t where t.site_id = ${team.siteUuid}) m where m.from_status is distinct from m.before)
        as "moves that do not follow from the one before",
      (select count(*)::int from (
        select status, currency, code, category, row_count, value_cents from private.queue_totals(array[${team.siteUuid}]::uuid[])) t
        full join (
          select status, currency, case status when 'FAILED' then provider_error_code else '' end as code,
            case status when 'FAILED' then provider_error_category else '' end as category, count(*) as n, sum(value_cents)::bigint as cents
          from public.offline_conversion_queue where site_id = ${team.siteUuid} group by 1, 2, 3, 4) q using (status, currency, code, category)
        where (t.row_count, t.value_cents) is distinct from (q.n, q.cents)) as "counts that are wrong"`;
  return [...wrong, ...unsent, ...Object.entries(left ?? {}).flatMap(([what, rows]) => (Number(rows) > 0 ? [`${rows} ${what}`] : []))];
}
