import type postgres from "postgres";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";

export type Verdict = "CONFIRMED" | "REJECTED" | "DUPLICATE" | "UNKNOWN";

/** The result of a poll of Data Manager, as record_verdicts takes it. */
export interface VerdictAnswer {
  status: "PROCESSING" | "SUCCESS" | "PARTIAL_SUCCESS" | "FAILED" | "LOST";
  verdicts?: { index: number; verdict: Verdict; reason?: string; retryable?: boolean; byClick?: boolean }[];
  rest?: Verdict | null;
  nextPollAt?: string;
}
export interface Recorded {
  recorded: number;
  rejected: number;
  queuedAgain: number;
}

export const recordAnswer = (sql: postgres.Sql, team: Team, requestId: string, answer: VerdictAnswer, at: Date): Promise<Recorded> =>
  service(
    sql,
    "record_verdicts",
    { p_site_id: team.siteUuid, p_request_id: requestId, p_answer: { verdicts: [], rest: null, ...answer } },
    at,
  );

/** Google's final verdict on the first row of a request. A rejection is for good unless it says otherwise. */
export function recordVerdict(
  sql: postgres.Sql,
  team: Team,
  requestId: string,
  verdict: Verdict,
  at: Date,
  more: { reason?: string; retryable?: boolean; byClick?: boolean } = {},
): Promise<Recorded> {
  const status = verdict === "REJECTED" ? "FAILED" : "SUCCESS";
  return recordAnswer(sql, team, requestId, { status, verdicts: [{ index: 0, verdict, ...more }] }, at);
}
