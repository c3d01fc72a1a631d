import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import type { QueueActionAnswer, QueueActionPreview } from "#lib/oci/queue/actions.ts";
import { unfixableCodes } from "#lib/oci/queue/causes.ts";
import type { QueueRows } from "#lib/oci/queue/rows.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { minutesLater } from "#tests/fixtures/queue.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";

/** When operators look at the queue: everything below happened before it. */
export const controlAt = minutesLater(40);

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
    (tx) => tx`select ${tx(`public.${name}`)}(${team.siteId}, ${tx.json(args as never)}, ${hash}, ${key})`,
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
    (tx) => tx`select public.preview_queue_action(${team.siteId}, ${action}, ${tx.json(filter as never)}, 5, ${unfixableCodes})`,
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
    (tx) => tx`select public.queue_rows(${team.siteId}, 5, ${tx.json(filter as never)}, ${cursor ?? null}, ${limit})`,
    at,
  );

export const readStats = (sql: postgres.Sql, team: Team, at = controlAt) =>
  callAs<QueueStats>(sql, team.viewer, (tx) => tx`select public.queue_stats(${team.siteId})`, at);
