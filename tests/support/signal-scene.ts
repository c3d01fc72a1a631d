import type postgres from "postgres";
import { connectApi } from "#tests/fixtures/connections.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { minutesLater, sealedAt } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

export let db: TestDatabase;
export let team: Team;
let founder: Person;
let number = 0;

/** To be called once by each test file, which has this scene to itself. */
export async function openSignals(): Promise<void> {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@signals.test");
}

/** What is called below is about this site from now on. */
export function actOn(site: Team): void {
  team = site;
}

/** A connected site that sends signals. */
export async function nextSite(): Promise<void> {
  number += 1;
  team = await createQueueTeam(db.sql, `signal${number}`, founder, "api");
  await deliverySettings(db.sql, team, { signalsEnabled: true });
  await connectApi(db.sql, team);
}

interface Job {
  id: string;
  orderId: string;
  via: string;
  attemptCount: number;
  [more: string]: unknown;
}
export interface Claim {
  token: string;
  gate: string;
  rows: Job[];
  batch: { credentialsVersion: number | null };
}
export interface Group {
  site_id: string;
  queued_count: number;
  is_probe_due: boolean;
}
/** A lead that a telephone system signed: its signal may be sent at once. */
export const lead = (at = sealedAt) => newLead(db.sql, team, { at, visitor: `visitor-${Math.random()}`, reporter: "system" });
export const claimArgs = (limit = 10) => ({ p_site_id: team.siteUuid, p_provider_key: "google_ads", p_limit: limit });
export const claim = (minute: number, limit = 10) =>
  service<Claim>(db.sql, "claim_marketing_signal_jobs", claimArgs(limit), minutesLater(minute));
export const groups = async (minute: number) => {
  const all = await service<Group[]>(db.sql, "list_signal_groups", { p_limit_groups: 100 }, minutesLater(minute));
  return all.filter(({ site_id }) => site_id === team.siteUuid);
};
export const batchOf = ({ batch }: Claim, outcome = "success", more: object = {}) => ({
  provider: "google_ads",
  outcome,
  credentialsVersion: batch.credentialsVersion,
  durationMs: 12,
  firstPollSeconds: 60,
  customerId: "1234567890",
  ...more,
});
export const settle = (claimed: Claim, results: object[], minute: number, batch: object | null = batchOf(claimed)) =>
  service<{ completed: number; retried: number; failed: number; stale: number }>(
    db.sql,
    "settle_marketing_signal_jobs",
    { p_site_id: team.siteUuid, p_token: claimed.token, p_results: results, p_batch: batch },
    minutesLater(minute),
  );
export const all = ({ rows }: Claim, result: object) => rows.map(({ id }) => ({ id, ...result }));
export const sent = { outcome: "COMPLETED", transport: "data_manager", requestId: "req-1", recordIndex: 0 };
export const later = { outcome: "RETRY", category: "TRANSIENT", code: "UNAVAILABLE", message: "down" };
export const signal = async (): Promise<postgres.Row> => {
  const [row] = await db.sql`select * from public.marketing_signals where site_id = ${team.siteUuid} order by created_at limit 1`;
  if (!row) throw new Error("There is no signal.");
  return row;
};
export const recover = (minute: number) => service(db.sql, "recover_marketing_signals", {}, minutesLater(minute));
export const refused = { outcome: "FAILED", category: "AUTH", code: "invalid_grant", message: "revoked" };
