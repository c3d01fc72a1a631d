import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import type { QueueActionAnswer, QueueActionPreview } from "#lib/oci/queue/actions.ts";
import type { QueueRows } from "#lib/oci/queue/rows.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import { claimForScript, minutesLater, type Sealed, sealLead, service } from "./queue.ts";
import { callAs, type Person, type Team } from "./team.ts";

/** When operators look at the queue: everything below happened before it. */
export const controlAt = minutesLater(40);

export const startingStates = ["QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED"] as const;
export type StartingState = (typeof startingStates)[number];

/** Sealed rows of a site, brought into a state by the product's own functions. */
export async function rowsIn(sql: postgres.Sql, team: Team, state: StartingState, count = 1, amountCents?: number): Promise<Sealed[]> {
  const rows: Sealed[] = [];
  for (let made = 0; made < count; made++) rows.push(await sealLead(sql, team, amountCents === undefined ? {} : { amountCents }));
  const ids = rows.map(({ id }) => id);
  const about = { p_site_id: team.siteId, p_ids: ids };
  if (state === "QUEUED") return rows;
  await claimForScript(sql, team, ids, minutesLater(state === "PROCESSING" ? 39 : 1));
  if (state === "COMPLETED") await service(sql, "ack_offline_conversions", about, minutesLater(2));
  if (state === "FAILED" || state === "RETRY") {
    const category = state === "FAILED" ? "VALIDATION" : "TRANSIENT";
    await service(
      sql,
      "fail_offline_conversions",
      { ...about, p_code: `${state}_CODE`, p_category: category, p_words: "words" },
      minutesLater(2),
    );
  }
  if (state === "RETRY") await service(sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(15));
  return rows;
}

interface Doing {
  team: Team;
  person?: Person;
  at?: Date;
  key?: string | null;
  hash?: string;
}

async function once(
  sql: postgres.Sql,
  name: "act_on_queue" | "undo_queue_action",
  args: Record<string, unknown>,
  { team, person = team.operator, at = controlAt, key = randomUUID(), hash = "0".repeat(64) }: Doing,
): Promise<{ status: number; replayed: boolean; body: QueueActionAnswer & { code?: string } }> {
  const answer = await callAs<{ status: number; replayed: boolean; body: string }>(
    sql,
    person,
    (tx) => tx`select ${tx(`public.${name}`)}(${team.publicId}, ${tx.json(args as never)}, ${hash}, ${key})`,
    at,
  );
  return { ...answer, body: JSON.parse(answer.body) };
}

/** An operator's action, as the endpoint calls it. */
export const act = (sql: postgres.Sql, action: { action: QueueAction; [more: string]: unknown }, doing: Doing) =>
  once(sql, "act_on_queue", action, doing);

export const undo = (sql: postgres.Sql, actionId: string, doing: Doing) => once(sql, "undo_queue_action", { actionId }, doing);

export const preview = (sql: postgres.Sql, action: QueueAction, filter: Record<string, unknown>, { team, at = controlAt }: Doing) =>
  callAs<QueueActionPreview>(
    sql,
    team.operator,
    (tx) => tx`select public.preview_queue_action(${team.publicId}, ${action}, ${tx.json(filter as never)}, 5)`,
    at,
  );

export const listRows = (
  sql: postgres.Sql,
  team: Team,
  filter: Record<string, unknown>,
  { cursor, limit = 100, at = controlAt }: { cursor?: string | null; limit?: number; at?: Date } = {},
) =>
  callAs<QueueRows>(
    sql,
    team.viewer,
    (tx) => tx`select public.queue_rows(${team.publicId}, 5, ${tx.json(filter as never)}, ${cursor ?? null}, ${limit})`,
    at,
  );

export const readStats = (sql: postgres.Sql, team: Team, at = controlAt) =>
  callAs<QueueStats>(sql, team.viewer, (tx) => tx`select public.queue_stats(${team.publicId})`, at);
