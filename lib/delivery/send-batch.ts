import { env } from "#lib/env.ts";
import { redact } from "#lib/platform/redact.ts";
import { untilAborted } from "#lib/platform/until-aborted.ts";
import type { Provider, ProviderConnection, Upload, UploadResult } from "#lib/providers/port.ts";
import { isProviderError, ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { withoutSecrets } from "./connection.ts";
import type { BatchFacts, Claim, ClaimedJob } from "./pipeline.ts";
import { storableText } from "./storable.ts";

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

/** A wait this long is Google's wish, not a failed try. */
const freeWaitMinMs = 10 * 60_000;
const messageMax = 1000;
/** After the run's end an adapter says at once what was decided. One that ignores the signal must not hold the run for longer. */
const graceMs = 1_000;

/** Sends claimed rows. Never throws: whatever the adapter does, every row gets a result. */
export async function sendBatch(claim: Claim, sending: Sending): Promise<SentBatch> {
  const startedAt = performance.now();
  const { upload, thrown } = await uploadJobs(claim, sending);
  const known = new Map(upload.results.map((result) => [result.id, result]));
  const results = claim.jobs.map((job) => cleaned(known.get(job.id) ?? undecided(job, thrown, sending), sending.connection));
  return {
    results,
    facts: factsOf(claim.jobs, { upload, results, thrown, sending, durationMs: Math.round(performance.now() - startedAt) }),
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

/** A row that nobody has decided: it is sent again with the same order id, so Google counts it once. */
function undecided({ id, via }: ClaimedJob, thrown: unknown, { now }: Sending): UploadResult {
  const base = { id, status: "RETRY" as const, transport: via };
  if (thrown === undefined)
    return { ...base, category: "TRANSIENT", code: "NO_RESULT", message: "The provider's answer did not name this row." };
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  if (!(thrown instanceof ProviderRateLimitError)) return { ...base, category: "TRANSIENT", message };
  const retryAt = realTime(thrown.retryAt);
  const isFreeWait = retryAt !== undefined && retryAt.getTime() - now().getTime() >= freeWaitMinMs;
  return { ...base, category: "RATE_LIMIT", code: "RATE_LIMIT", message, isFreeWait, ...(retryAt && { retryAt }) };
}

/** A number beyond any date makes a Date that nothing can write. */
function realTime(at: Date | undefined): Date | undefined {
  return at && !Number.isNaN(at.getTime()) ? at : undefined;
}

function cleaned({ retryAt, message, ...result }: UploadResult, connection: ProviderConnection): UploadResult {
  const at = realTime(retryAt);
  return {
    ...result,
    ...(at && { retryAt: at }),
    ...(message !== undefined && { message: storableText(String(redact(withoutSecrets(message, connection))).slice(0, messageMax)) }),
  };
}

interface Outcome {
  upload: Upload;
  results: UploadResult[];
  thrown?: unknown;
  sending: Sending;
  durationMs: number;
}

function factsOf(jobs: ClaimedJob[], { upload, results, thrown, sending, durationMs }: Outcome): BatchFacts {
  const { connection, providerKey } = sending;
  const error = results.find(({ status }) => status === "FAILED") ?? results.find(({ status }) => status === "RETRY");
  const requestId = results.find((result) => result.requestId)?.requestId;
  const retryAt = thrown instanceof ProviderRateLimitError ? thrown.retryAt : undefined;
  const quotaUntil = realTime(upload.quotaUntil ?? retryAt);
  const blockActions = blockedActions(jobs, results);
  return {
    provider: providerKey,
    outcome: outcomeOf(results, thrown),
    credentialsVersion: connection.version,
    durationMs,
    firstPollSeconds: env().VERDICT_FIRST_POLL_SECONDS,
    ...(requestId && { requestId }),
    ...(error?.code && { errorCode: error.code }),
    ...(error?.category && { errorCategory: error.category }),
    ...(quotaUntil && { quotaUntil: quotaUntil.toISOString() }),
    ...(upload.block && { block: { code: upload.block.code, message: withoutSecrets(upload.block.message, connection) } }),
    ...(blockActions.length > 0 && { blockActions }),
  };
}

/** One success proves that the provider is well. Rows that it refused or asked to wait were answered; a throw, or nothing but failures, is not. */
function outcomeOf(results: UploadResult[], thrown: unknown): BatchFacts["outcome"] {
  if (results.some(({ status }) => status === "COMPLETED")) return "success";
  const hasFailure = results.some(({ status, isFreeWait, byHand }) => status === "RETRY" && !isFreeWait && !byHand);
  if (thrown !== undefined) return hasFailure ? "transient" : "none";
  const isAllFailures = results.every(({ status, isFreeWait, byHand }) => status === "RETRY" && !isFreeWait && !byHand);
  return isAllFailures ? "transient" : "definite";
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
