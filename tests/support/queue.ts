import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { type ConnectionOptions, connectApi } from "./connections.ts";
import { change, newLead } from "./leads.ts";
import { callAs, createTeam, type Person, type Team } from "./team.ts";

/** When test conversions are sealed; the functions are then called at minutes after it. */
export const sealedAt = new Date("2026-11-16T09:00:00Z");
export const minutesLater = (minutes: number, from = sealedAt) => new Date(from.getTime() + minutes * 60_000);

/** A site whose conversions can be sent at once, by script or, once it is connected, by worker. */
export async function createQueueTeam(
  sql: postgres.Sql,
  name: string,
  founder?: Person,
  syncMethod: "script" | "api" = "script",
): Promise<Team> {
  const team = await createTeam(sql, name, founder, syncMethod);
  await deliverySettings(sql, team, { sendDelayMinutes: 0, clickMinAgeHours: 0 });
  return team;
}

/** A site that is connected to Google and whose conversions a worker can send at once. */
export async function createApiTeam(sql: postgres.Sql, name: string, founder?: Person, connection: ConnectionOptions = {}): Promise<Team> {
  const team = await createQueueTeam(sql, name, founder, "api");
  await connectApi(sql, team, connection);
  return team;
}

/** From now on the site sends by its script, or by the API that it is connected to. */
export async function switchDelivery(sql: postgres.Sql, team: Team, to: "script" | "api"): Promise<void> {
  await callAs(sql, team.owner, (tx) => tx`select public.switch_delivery(${team.publicId}, ${to})`);
}

export async function deliverySettings(sql: postgres.Sql, team: Team, settings: Record<string, unknown>, at?: Date): Promise<void> {
  await callAs(sql, team.owner, (tx) => tx`select public.set_site_delivery(${team.publicId}, ${tx.json(settings as never)})`, at);
}

/** A sealed lead's row on the queue. */
export interface Sealed {
  id: string;
  callId: string;
  saleId: string;
}

export async function sealLead(sql: postgres.Sql, team: Team, { amountCents = 425_000, at = sealedAt, step = {} } = {}): Promise<Sealed> {
  const callId = await newLead(sql, team, { at: minutesLater(-5, at), ...step });
  const { body, status } = await change(sql, { team }, "seal_call", { id: callId, amountCents }, { at });
  if (status !== 200) throw new Error(`The seal was refused: ${JSON.stringify(body)}`);
  const [row] = await sql`select id from public.offline_conversion_queue where sale_id = ${String(body.saleId)} and kind = 'CONVERSION'`;
  return { id: String(row?.id), callId, saleId: String(body.saleId) };
}

/** A service function, called with named arguments at a given time. */
export async function service<T = Record<string, unknown>>(
  sql: postgres.Sql,
  name: string,
  args: Record<string, unknown>,
  at?: Date,
): Promise<T> {
  const answer = await sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at?.toISOString() ?? ""}, true)`;
    return callIn<T>(tx, name, args);
  });
  return answer as T; // postgres.js unwraps arrays of promises, which nobody here returns
}

const jsonArguments = new Set(["p_results", "p_rows", "p_run", "p_claims", "p_confirm", "p_batch", "p_answer", "p_connection", "p_error"]);

/** The same inside a transaction of the test's own. */
export async function callIn<T>(tx: postgres.TransactionSql, name: string, args: Record<string, unknown>): Promise<T> {
  const names = Object.keys(args);
  const values = names.map((key) => (jsonArguments.has(key) ? tx.json(args[key] as never) : args[key]));
  const list = names.map((key, index) => `${key} => $${index + 1}`).join(", ");
  const [row] = await tx.unsafe(`select public.${name}(${list}) as answer`, values as never[]);
  return row?.answer as T;
}

export interface Claimed {
  token: string;
  rows: {
    id: string;
    saleId: string;
    valueCents: number;
    attemptCount: number;
    kind: string;
    orderId: string;
    conversionTime: string;
    via: "data_manager" | "ads_api" | null;
    conversionAction: string | null;
  }[];
}

/** What a worker gets: why there may be no rows, and under which credentials it sends. */
export interface WorkerClaim extends Claimed {
  gate: string;
  batch: { credentialsVersion: number | null };
}

export function claimForScript(sql: postgres.Sql, team: Team, ids: string[], at?: Date): Promise<Claimed> {
  return service(sql, "claim_offline_conversion_rows_for_script_export", { p_ids: ids, p_site_id: team.siteId }, at);
}

export function claimForWorker(
  sql: postgres.Sql,
  team: Team,
  { limit = 500, at }: { limit?: number; at?: Date } = {},
): Promise<WorkerClaim> {
  return service(sql, "claim_offline_conversion_jobs_v2", { p_site_id: team.siteId, p_provider_key: "google_ads", p_limit: limit }, at);
}

/** A (site, provider) with something due, as a worker sees it. */
export interface Group {
  site_id: string;
  provider_key: string;
  queued_count: number;
  min_next_retry_at: string | null;
  min_created_at: string;
  state: "CLOSED" | "OPEN" | "HALF_OPEN";
  probe_limit: number;
  next_probe_at: string | null;
  is_probe_due: boolean;
  served_at: string | null;
}

/** What a worker would serve now, of the given sites. */
export async function listGroups(sql: postgres.Sql, at: Date, siteIds: string[]): Promise<Group[]> {
  const groups = await service<Group[]>(sql, "list_offline_conversion_groups", { p_limit_groups: 1000 }, at);
  return groups.filter(({ site_id }) => siteIds.includes(site_id));
}

/** A provider's answer for one row, as settle takes it. */
export interface Result {
  outcome: "COMPLETED" | "RETRY" | "FAILED";
  [more: string]: unknown;
}
export interface Settled {
  completed: number;
  retried: number;
  failed: number;
  stale: number;
}

/** Answers for every row of a claim, each by the API that it was handed to; `batch` tells of the batch as a worker does. */
export function settleClaim(
  sql: postgres.Sql,
  team: Team,
  { token, rows, batch: claimed }: WorkerClaim,
  answer: Result | ((row: Claimed["rows"][number], index: number) => Result),
  { at, batch }: { at?: Date; batch?: Record<string, unknown> } = {},
): Promise<Settled> {
  const p_results = rows.map((row, index) => ({
    id: row.id,
    transport: row.via,
    ...(typeof answer === "function" ? answer(row, index) : answer),
  }));
  const p_batch = batch && { provider: "google_ads", ...claimed, ...batch };
  return service(
    sql,
    "settle_offline_conversion_jobs",
    { p_site_id: team.siteId, p_token: token, p_results, ...(p_batch && { p_batch }) },
    at,
  );
}

/** What an operator does with a row, as the contract endpoint does it. */
export async function moveConversion(
  sql: postgres.Sql,
  team: Team,
  move: { id: string; to: "QUEUED" | "FAILED"; [more: string]: unknown },
  at?: Date,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await callAs<{ status: number; body: string }>(
    sql,
    team.operator,
    (tx) => tx`select public.transition_contract(${tx.json({ contract: "conversion", ...move })}, ${randomUUID()}, ${"0".repeat(64)})`,
    at,
  );
  return { status: answer.status, body: JSON.parse(answer.body) };
}

export async function readRow(sql: postgres.Sql, id: string): Promise<postgres.Row> {
  const [row] = await sql`select * from public.offline_conversion_queue where id = ${id}`;
  if (!row) throw new Error(`There is no row ${id}.`);
  return row;
}
