import { z } from "zod";
import { callGoogle } from "#lib/providers/google/call-google.ts";
import { bareCode, classifyGoogleAdsError, isKnownCode } from "#lib/providers/google/classify-google-ads-error.ts";
import { googleHosts } from "#lib/providers/google/hosts.ts";
import { quotaWait } from "#lib/providers/google/row-result.ts";
import type { ProviderConnection, VerdictAnswer } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";

const errorCount = z.object({
  reason: z.string().catch("UNKNOWN"),
  recordCount: z.coerce.number().int().catch(0),
  /** Since Data Manager v1.9; int64 in JSON is text. */
  recordIndices: z.array(z.coerce.number().int()).catch([]),
});
const status = z.object({
  requestStatusPerDestination: z
    .array(
      z.object({
        requestStatus: z.string().catch("PROCESSING"),
        errorInfo: z.object({ errorCounts: z.array(errorCount).catch([]) }).optional(),
      }),
    )
    .catch([]),
});

type ErrorCount = z.output<typeof errorCount>;
type RowVerdict = VerdictAnswer["verdicts"][number];

const stillAtWork: VerdictAnswer = { status: "PROCESSING", verdicts: [], rest: null };

/** The verdicts on the rows of a request that Data Manager accepted. Google has them after half an hour or later. */
export async function readVerdicts(
  request: { requestId: string; rowCount: number },
  connection: ProviderConnection,
  signal?: AbortSignal,
): Promise<VerdictAnswer> {
  const url = `${googleHosts().dataManager}/requestStatus:retrieve?requestId=${encodeURIComponent(request.requestId)}`;
  const answer = await callGoogle({ method: "GET", url, connection, signal });
  const [first] = answer.errors;
  if (answer.status === 429)
    throw new ProviderRateLimitError("Google answered 429 to a question for verdicts", quotaWait(answer.errors).quota);
  if (answer.status === 401 || answer.status === 403)
    return { ...stillAtWork, block: { code: bareCode(first?.code ?? "UNAUTHENTICATED"), message: first?.message ?? "" } };
  if (answer.errors.some(({ code }) => code === "INVALID_REQUEST_ID" || code === "NOT_FOUND"))
    return { status: "LOST", verdicts: [], rest: "UNKNOWN" };
  if (answer.status !== 200)
    throw new ProviderTransientError(`Google answered ${answer.status} to a question for verdicts (${first?.code ?? ""})`);
  return verdictsOf(status.parse(answer.body), request.rowCount);
}

/** A request has one destination. */
function verdictsOf({ requestStatusPerDestination: [destination] }: z.output<typeof status>, rowCount: number): VerdictAnswer {
  const errorCounts = (destination?.errorInfo?.errorCounts ?? []).map((count) => ({
    ...count,
    recordIndices: count.recordIndices.filter((index) => index >= 0 && index < rowCount),
  }));
  const named = namedRows(errorCounts);
  const vague = errorCounts.filter(({ recordIndices, recordCount }) => recordIndices.length < Math.max(recordCount, 1));
  // Of errors without a row, or of a part that failed without any error, we know only that it concerns some rows.
  const isVague = vague.length > 0 || (destination?.requestStatus === "PARTIAL_SUCCESS" && errorCounts.length === 0);
  switch (destination?.requestStatus) {
    case "SUCCESS":
    case "PARTIAL_SUCCESS":
      return { status: destination.requestStatus, verdicts: named, rest: isVague ? "UNKNOWN" : "CONFIRMED" };
    case "FAILED":
      return { status: "FAILED", ...allFailed(named, vague, rowCount) };
    default:
      return stillAtWork;
  }
}

/** A row with several reasons keeps the worst: a duplicate is at Google whatever else is said; a permanent fault outranks a temporary one. */
function namedRows(errorCounts: readonly ErrorCount[]): RowVerdict[] {
  const rows = new Map<number, RowVerdict>();
  for (const { reason, recordIndices } of errorCounts) {
    for (const index of recordIndices) {
      const verdict = verdictOf(reason, index);
      const before = rows.get(index);
      if (!before || rank(verdict) < rank(before)) rows.set(index, verdict);
    }
  }
  return [...rows.values()].toSorted((a, b) => a.index - b.index);
}

const rank = ({ verdict, retryable }: RowVerdict) => (verdict === "DUPLICATE" ? 0 : retryable ? 2 : 1);

/** Reasons that we know lose their prefix; others stay as Google wrote them and are tried again within the cap. */
function verdictOf(reason: string, index: number): RowVerdict {
  const rule = classifyGoogleAdsError(reason, 200);
  if (rule.isDuplicate)
    return { index, verdict: "DUPLICATE", reason: bareCode(reason), retryable: false, ...(rule.isByClick && { byClick: true }) };
  return { index, verdict: "REJECTED", reason: bareCode(reason), retryable: rule.status === "RETRY" || !isKnownCode(reason) };
}

/** Every row failed. Where duplicates and true failures are counted together without naming rows, nobody can say which is which. */
function allFailed(named: RowVerdict[], vague: readonly ErrorCount[], rowCount: number): Pick<VerdictAnswer, "verdicts" | "rest"> {
  const reasons = (vague.length > 0 ? vague : [{ reason: "UNKNOWN" }]).map(({ reason }) => verdictOf(reason, 0));
  const duplicates = reasons.filter(({ verdict }) => verdict === "DUPLICATE").length;
  const seen = new Set(named.map(({ index }) => index));
  if (seen.size === rowCount) return { verdicts: named, rest: null };
  if (duplicates > 0 && duplicates < reasons.length) return { verdicts: named, rest: "UNKNOWN" };
  // One temporary fault among them is enough to try all again: a row with a permanent one is then rejected by itself.
  const shared = reasons.toSorted((a, b) => rank(b) - rank(a))[0];
  const others = Array.from({ length: rowCount }, (_, index) => index).filter((index) => !seen.has(index));
  return { verdicts: [...named, ...others.flatMap((index) => (shared ? [{ ...shared, index }] : []))], rest: null };
}
