import { firstPollSeconds } from "#lib/oci/limits.ts";
import { untilAborted } from "#lib/platform/until-aborted.ts";
import type { Provider, ProviderConnection, Upload, UploadResult } from "#lib/providers/port.ts";
import { isProviderError, ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { withoutSecrets } from "./connection.ts";
import type { BatchFacts, Claim, ClaimedJob, Deferral } from "./pipeline.ts";

/** What became of a batch: a result for every claimed row, and what it says about the provider. */
export interface SentBatch {
  results: UploadResult[];
  facts: BatchFacts;
}

interface Sending {
  provider: Provider;
  providerKey: string;
  connection: ProviderConnection;
  signal: AbortSignal;
  now(): Date;
}

/** From this length on, Google asked us to wait; the try did not fail. */
const freeWaitMinMs = 10 * 60_000;
/** How long an adapter may take after the run's end to say what was decided. One that ignores the signal must not hold the run for longer. */
const graceMs = 1_000;

/** Sends claimed rows. Never throws: whatever the adapter does, every row gets a result. */
export async function sendBatch(claim: Claim, sending: Sending): Promise<SentBatch> {
  const startedAt = performance.now();
  const { upload, thrown } = await uploadJobs(claim, sending);
  const known = new Map(upload.results.map((result) => [result.id, result]));
  const results = claim.jobs.map((job) => cleaned(known.get(job.id) ?? undecided(job, thrown, sending), sending.connection));
  return {
    results,
    facts: factsOf(claim.jobs, { upload, results, thrown, ...sending, durationMs: Math.round(performance.now() - startedAt) }),
  };
}

/** Claimed rows that were not sent: they wait without spending an attempt, and nothing is said about the provider. */
export function notSent(claim: Claim, { providerKey, code, message, until }: Deferral & { providerKey: string }): SentBatch {
  const wait = { status: "RETRY", category: "TRANSIENT", code, message, retryAt: until, isFreeWait: true } as const;
  return {
    results: claim.jobs.map(({ id, via }) => ({ id, transport: via, ...wait })),
    facts: {
      provider: providerKey,
      outcome: "none",
      credentialsVersion: claim.credentialsVersion ?? 0,
      durationMs: 0,
      errorCode: code,
      errorCategory: "TRANSIENT",
    },
  };
}

/** The adapter's answer, and what it threw. What was decided before a throw stays decided: those rows reached Google. */
async function uploadJobs(claim: Claim, { provider, connection, signal }: Sending): Promise<{ upload: Upload; thrown?: unknown }> {
  const withBatch = { ...connection, batchId: claim.token };
  const errorOf = () => new ProviderTransientError("The provider did not answer before the run's end.", "TIMEOUT");
  try {
    const work = provider.uploadConversions(claim.jobs, withBatch, signal);
    return { upload: await untilAborted(work, { signal, graceMs, errorOf }) };
  } catch (thrown) {
    return { upload: isProviderError(thrown) ? thrown.decided : { results: [] }, thrown };
  }
}

/** A row without a decision: it is sent again with the same order id, so Google counts it once. */
function undecided({ id, via }: ClaimedJob, thrown: unknown, { now }: Sending): UploadResult {
  const base = { id, status: "RETRY" as const, transport: via };
  if (thrown === undefined)
    return { ...base, category: "TRANSIENT", code: "NO_RESULT", message: "The provider's answer did not name this row." };
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  // Without an answer no attempt is spent. Any answer, also a 5xx, spends one.
  if (thrown instanceof ProviderTransientError && thrown.isUnanswered) return { ...base, category: "TRANSIENT", message, isFreeWait: true };
  if (!(thrown instanceof ProviderRateLimitError)) return { ...base, category: "TRANSIENT", message };
  const retryAt = realTime(thrown.quota?.until);
  const isFreeWait = retryAt !== undefined && retryAt.getTime() - now().getTime() >= freeWaitMinMs;
  return { ...base, category: "RATE_LIMIT", code: "RATE_LIMIT", message, isFreeWait, ...(retryAt && { retryAt }) };
}

function cleaned({ retryAt, message, ...result }: UploadResult, connection: ProviderConnection): UploadResult {
  const at = realTime(retryAt);
  return {
    ...result,
    ...(at && { retryAt: at }),
    ...(message !== undefined && { message: withoutSecrets(message, connection) }),
  };
}

interface Outcome {
  upload: Upload;
  results: UploadResult[];
  thrown?: unknown;
  providerKey: string;
  connection: ProviderConnection;
  durationMs: number;
}

/** What a batch says about its provider. */
function factsOf(jobs: ClaimedJob[], outcome: Outcome): BatchFacts {
  const { upload, results, thrown, connection, providerKey, durationMs } = outcome;
  const error = results.find(({ status }) => status === "FAILED") ?? results.find(({ status }) => status === "RETRY");
  const requestId = results.find((result) => result.requestId)?.requestId;
  const quota = upload.quota ?? (thrown instanceof ProviderRateLimitError ? thrown.quota : undefined);
  const quotaUntil = realTime(quota?.until);
  const blockActions = blockedActions(jobs, results);
  return {
    provider: providerKey,
    outcome: outcomeOf(results, thrown),
    credentialsVersion: connection.version,
    customerId: connection.credentials.customer_id,
    durationMs,
    firstPollSeconds: firstPollSeconds(),
    ...(requestId && { requestId }),
    ...(error?.code && { errorCode: error.code }),
    ...(error?.category && { errorCategory: error.category }),
    ...(quotaUntil && { quotaUntil: quotaUntil.toISOString(), isQuotaShared: quota?.isShared ?? false }),
    ...(upload.block && { block: { code: upload.block.code, message: withoutSecrets(upload.block.message, connection) } }),
    ...(blockActions.length > 0 && { blockActions }),
  };
}

/**
 * One success proves that the provider works. So does a row that it refused, judged or asked to wait for; only failures do not. A throw is
 * a failure, even if it spends no attempt, unless the provider asked us to wait.
 */
function outcomeOf(results: UploadResult[], thrown: unknown): BatchFacts["outcome"] {
  if (results.some(({ status }) => status === "COMPLETED")) return "success";
  const isFailure = ({ status, isFreeWait, isJudged, byHand }: UploadResult) => status === "RETRY" && !isFreeWait && !isJudged && !byHand;
  if (thrown instanceof ProviderRateLimitError) return results.some(isFailure) ? "transient" : "none";
  if (thrown !== undefined) return "transient";
  return results.every(isFailure) ? "transient" : "definite";
}

function blockedActions(jobs: ClaimedJob[], results: UploadResult[]): NonNullable<BatchFacts["blockActions"]> {
  const names = new Map(jobs.map(({ id, conversionName }) => [id, conversionName]));
  const blocked = new Map<string, { conversionName: string; code: string; message: string }>();
  for (const { id, blocksAction, code = "UNKNOWN", message = "" } of results) {
    const conversionName = names.get(id);
    if (blocksAction && conversionName && !blocked.has(conversionName)) blocked.set(conversionName, { conversionName, code, message });
  }
  return [...blocked.values()];
}

/** A number beyond any date makes a Date that cannot be formatted. */
function realTime(at: Date | undefined): Date | undefined {
  return at && !Number.isNaN(at.getTime()) ? at : undefined;
}
