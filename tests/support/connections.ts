import type postgres from "postgres";
import { callAs } from "#tests/fixtures/act-as.ts";
import { claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";

/** What a member sees of the connection. */
export interface ConnectionView {
  syncMethod: "script" | "api";
  connected: boolean;
  transport: string | null;
  account: Record<string, unknown> | null;
  connectedBy: string | null;
  testedAt: string | null;
  testError: { code: string; message: string | null } | null;
  actions: { conversionName: string; action: string; testedAt: string | null; blocked: { code: string } | null }[];
  health: {
    state: string;
    failureCount: number;
    quotaUntil: string | null;
    blocked: { code: string; message: string | null } | null;
  } | null;
}

export function readConnection(sql: postgres.Sql, team: Team, person: Pick<Person, "id"> = team.viewer): Promise<ConnectionView> {
  return callAs(sql, person, (tx) => tx`select public.provider_connection(${team.siteId})`);
}

/** Seals a lead, claims it for a worker and lets the provider refuse the credentials. Gives the row's id. */
export async function failAuth(sql: postgres.Sql, team: Team, at: Date = minutesLater(1)): Promise<string> {
  const { id } = await sealLead(sql, team);
  const { token, rows } = await claimForWorker(sql, team, { at });
  if (!rows.some((row) => row.id === id)) throw new Error("The row was not claimed.");
  const results = rows.map((row) => ({ id: row.id, outcome: "FAILED", code: "invalid_grant", category: "AUTH", message: "revoked" }));
  await service(sql, "settle_offline_conversion_jobs", { p_site_id: team.siteUuid, p_token: token, p_results: results }, at);
  return id;
}
