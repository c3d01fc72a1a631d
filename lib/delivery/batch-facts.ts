import { firstPollSeconds } from "#lib/oci/limits.ts";
import type { ProviderConnection, Upload, UploadResult } from "#lib/providers/port.ts";
import { ProviderRateLimitError } from "#lib/providers/provider-error.ts";
import { withoutSecrets } from "./connection.ts";
import type { BatchFacts, ClaimedJob } from "./pipeline.ts";

interface Outcome {
  upload: Upload;
  results: UploadResult[];
  thrown?: unknown;
  providerKey: string;
  connection: ProviderConnection;
  durationMs: number;
}

/** What a batch says about its provider. */
export function factsOf(jobs: ClaimedJob[], outcome: Outcome): BatchFacts {
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
export function realTime(at: Date | undefined): Date | undefined {
  return at && !Number.isNaN(at.getTime()) ? at : undefined;
}
