import { randomUUID } from "node:crypto";
import postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { claimForWorker, createApiTeam, type Result, type Sealed, sealLead, service, settleClaim } from "./queue.ts";
import { handOver, type Team } from "./team.ts";

/** A moment so many minutes before now. */
export const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);

/** A connected API site of its own on the browser's stack. No key opens its credentials: what a worker would do is done here. */
export async function withApiSite<T>(stack: DemoFile, run: (site: { team: Team; sql: postgres.Sql }) => Promise<T>): Promise<T> {
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    const [founder] = await sql`select id, email from auth.users where email = ${stack.users[0]?.email ?? ""}`;
    const name = `api-${randomUUID().slice(0, 8)}`;
    const made = await createApiTeam(sql, name, { id: String(founder?.id), email: String(founder?.email) });
    return await run({ team: await handOver(sql, made, `owner@${name}.test`), sql });
  } finally {
    await sql.end();
  }
}

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
  if (verdict) await service(sql, "record_verdicts", { p_site_id: team.siteId, p_request_id: requestId, p_answer }, ago(minutes - 30));
  return { ...row, requestId };
}
