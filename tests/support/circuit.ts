import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";

/** A worker's steps around a batch, by the functions that claim and settle call. */

export interface Gate {
  gate: "CLOSED" | "HALF_OPEN" | "OPEN" | "BLOCKED" | "NOT_CONNECTED" | "PAUSED" | "SCRIPT";
  probe_limit: number | null;
  credentials_version: number | null;
  transport: string | null;
  token: string;
}

export async function passGateIn(tx: postgres.TransactionSql, team: Team, at: Date, token: string = randomUUID()): Promise<Gate> {
  await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
  const [gate] = await tx`select * from private.pass_gate(${team.siteUuid}, 'google_ads', ${token})`;
  return { ...gate, token } as Gate;
}

export function passGate(sql: postgres.Sql, team: Team, at: Date): Promise<Gate> {
  return sql.begin((tx) => passGateIn(tx, team, at));
}

/** Passes the gate and starts a batch, as a claim with rows does. */
export function startBatch(sql: postgres.Sql, team: Team, at: Date, claimed = 3): Promise<Gate> {
  return sql.begin(async (tx) => {
    const gate = await passGateIn(tx, team, at);
    await tx`select private.start_batch(${team.siteUuid}, 'google_ads', ${gate.token}, 'seals', ${claimed})`;
    return gate;
  });
}

export interface BatchEnd {
  outcome: "success" | "transient" | "definite" | "none";
  credentialsVersion?: number | null;
  [more: string]: unknown;
}

export async function finishBatchIn(
  tx: postgres.TransactionSql,
  team: Team,
  { token, credentials_version }: Gate,
  end: BatchEnd,
  at: Date,
): Promise<boolean> {
  const batch = { credentialsVersion: credentials_version, ...end };
  const completed = end.outcome === "success" ? 3 : 0;
  const failed = end.outcome === "definite" ? 3 : 0;
  await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
  const [row] = await tx`select private.finish_batch(${team.siteUuid}, ${token}, ${tx.json(batch as never)}, ${completed}, ${failed},
    ${3 - completed - failed}) as finished`;
  return Boolean(row?.finished);
}

export function finishBatch(sql: postgres.Sql, team: Team, gate: Gate, end: BatchEnd, at: Date): Promise<boolean> {
  return sql.begin((tx) => finishBatchIn(tx, team, gate, end, at));
}

/** A failure or a success that belongs to no batch. */
export function recordOutcome(sql: postgres.Sql, team: Team, outcome: "success" | "transient" | "definite", at: Date, probe?: string) {
  return service<{ state: string; failureCount: number; nextProbeAt: string | null } | null>(
    sql,
    "record_provider_outcome",
    {
      p_site_id: team.siteUuid,
      p_provider_key: "google_ads",
      p_success: outcome === "success",
      p_transient: outcome === "transient",
      p_probe: probe ?? null,
    },
    at,
  );
}

export async function readHealth(sql: postgres.Sql, team: Team): Promise<postgres.Row> {
  const [row] = await sql`select * from public.provider_health_state where site_id = ${team.siteUuid}`;
  if (!row) throw new Error("The site was never connected.");
  return row;
}

/** Opens the circuit by five transient failures in a row and gives the probe time. */
export async function openCircuit(sql: postgres.Sql, team: Team, at: Date): Promise<Date> {
  for (let failure = 0; failure < 5; failure += 1) await recordOutcome(sql, team, "transient", at);
  return (await readHealth(sql, team)).next_probe_at;
}
