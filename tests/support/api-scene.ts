import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { claimForWorker, type Result, type Sealed, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";

/** A moment so many minutes before now. */
export const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);

/** Seals a lead and answers for it as a worker does, minutes ago. */
export async function answered(
  sql: postgres.Sql,
  team: Team,
  minutes: number,
  answer: Result,
  batch: Record<string, unknown>,
): Promise<Sealed> {
  const row = await sealLead(sql, team, { at: ago(minutes + 5) });
  await settleClaim(sql, team, await claimForWorker(sql, team, { at: ago(minutes) }), answer, { at: ago(minutes), batch });
  return row;
}

/** A conversion that Data Manager took, and what it says of it half an hour later; without that it is still to come. */
export async function takenByGoogle(
  sql: postgres.Sql,
  team: Team,
  minutes: number,
  verdict?: "CONFIRMED" | { rejected: string },
): Promise<Sealed & { requestId: string }> {
  const requestId = randomUUID();
  const row = await answered(
    sql,
    team,
    minutes,
    { outcome: "COMPLETED", requestId, recordIndex: 0 },
    {
      ...{ outcome: "success", durationMs: 412, requestId, firstPollSeconds: 1800 },
    },
  );
  const verdicts = typeof verdict === "object" ? [{ index: 0, verdict: "REJECTED", reason: verdict.rejected }] : [];
  const p_answer = { status: "PARTIAL_SUCCESS", verdicts, rest: verdict === "CONFIRMED" ? "CONFIRMED" : null };
  if (verdict) await service(sql, "record_verdicts", { p_site_id: team.siteUuid, p_request_id: requestId, p_answer }, ago(minutes - 30));
  return { ...row, requestId };
}
