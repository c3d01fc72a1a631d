import { createHash } from "node:crypto";
import { z } from "zod";
import { adsApiTime } from "#lib/providers/conversion-time.ts";
import { buildRows, clickIds, identifierHashes } from "#lib/providers/google/build-rows.ts";
import type { GoogleAnswer } from "#lib/providers/google/call-google.ts";
import { type GoogleError, readGoogleErrors } from "#lib/providers/google/read-errors.ts";
import { blockOf, readRefusal } from "#lib/providers/google/read-refusal.ts";
import { type AnswerContext, rowResult } from "#lib/providers/google/row-result.ts";
import { type BatchAnswer, sendBatches, splitJobs } from "#lib/providers/google/send-batches.ts";
import type { ConversionJob, ProviderConnection, Upload, UploadResult } from "#lib/providers/port.ts";
import { callAds } from "./call-ads.ts";

const rowsMax = 2_000;
const transport = "ads_api" as const;

interface UploadOptions {
  signal?: AbortSignal;
  validateOnly?: boolean;
}

const uploaded = z.object({ partialFailureError: z.unknown(), results: z.array(z.unknown()).catch([]) }).partial();

/** 1 to 2^31 - 1, the same for the same batch: Google's upload diagnostics name it. */
export function jobIdOf(batchId: string): number {
  return (createHash("sha256").update(batchId).digest().readUInt32BE(0) % (2 ** 31 - 1)) + 1;
}

/** Conversions go to uploadClickConversions, corrections to uploadConversionAdjustments; conversions first. */
export function uploadRows(
  jobs: readonly ConversionJob[],
  connection: ProviderConnection,
  { signal, validateOnly = false }: UploadOptions = {},
): Promise<Upload> {
  const ordered = jobs.toSorted((a, b) => Number(isAdjustment(a)) - Number(isAdjustment(b)));
  const { rows, sendable, refused } = buildRows(ordered, transport, (job) => (isAdjustment(job) ? adjustmentRow(job) : conversionRow(job)));
  const send = async (batch: ConversionJob[]) => {
    const [method, field] = batch.some(isAdjustment)
      ? [":uploadConversionAdjustments", "conversionAdjustments"]
      : [":uploadClickConversions", "conversions"];
    const jobId = jobIdOf(connection.batchId ?? batch.map(({ id }) => id).join());
    const body = { [field]: batch.map(({ id }) => rows.get(id)), partialFailure: true, validateOnly, jobId };
    const isAdsApiOptional = connection.credentials.transport === "data_manager";
    return readUpload(batch, await callAds(method, body, connection, signal), { isAdsApiOptional, validateOnly });
  };
  return sendBatches(
    splitJobs(sendable, rowsMax, (job) => String(isAdjustment(job))),
    send,
    refused,
  );
}

function isAdjustment({ kind }: ConversionJob): boolean {
  return kind !== "CONVERSION";
}

function readUpload(
  jobs: ConversionJob[],
  answer: GoogleAnswer,
  options: { isAdsApiOptional: boolean; validateOnly: boolean },
): BatchAnswer {
  const { isAdsApiOptional, validateOnly } = options;
  const context: AnswerContext = { transport, httpStatus: answer.status, requestId: answer.requestId, isAdsApiOptional };
  if (answer.status >= 400) return readRefusal(jobs, answer, context);
  const { partialFailureError, results: taken = [] } = uploaded.parse(answer.body);
  const failure = partialFailureError ? readGoogleErrors(partialFailureError, answer.status) : { errors: [] };
  const requestId = answer.requestId ?? failure.requestId;
  const results = rowResults(jobs, failure.errors, { ...context, requestId }, validateOnly ? null : taken);
  return { results, ...blockOf(results) };
}

/**
 * Each row by the errors that name it. A row that Google lists as taken is COMPLETED, whatever an error without a row says: as FAILED it
 * could not be corrected later. The other rows share the errors that name no row. A row that Google neither refused nor lists as taken is
 * tried again: if it did arrive, the order id makes the second one a duplicate. A dry run has no list.
 */
function rowResults(
  jobs: ConversionJob[],
  errors: readonly GoogleError[],
  context: AnswerContext,
  taken: readonly unknown[] | null,
): UploadResult[] {
  const errorsAt = Map.groupBy(errors, ({ index }) => (index !== null && index < jobs.length ? index : null));
  const unnamed = errorsAt.get(null) ?? [];
  return jobs.map((job, index) => {
    const own = errorsAt.get(index) ?? [];
    const isTaken = taken ? isFilled(taken[index]) : unnamed.length === 0;
    if (own.length > 0 || !isTaken) return rowResult(job, [...own, ...unnamed], context);
    return { id: job.id, status: "COMPLETED", transport, ...(context.requestId && { requestId: context.requestId }) };
  });
}

/** A row that failed is {} in the list. */
function isFilled(row: unknown): boolean {
  return typeof row === "object" && row !== null && Object.keys(row).length > 0;
}

/** One conversion for uploadClickConversions. Throws RangeError on an impossible time. */
export function conversionRow(job: ConversionJob) {
  const { phoneHash, emailHash } = identifierHashes(job);
  const source = { userIdentifierSource: "FIRST_PARTY" } as const;
  const userIdentifiers = [
    ...(phoneHash ? [{ ...source, hashedPhoneNumber: phoneHash }] : []),
    ...(emailHash ? [{ ...source, hashedEmail: emailHash }] : []),
  ];
  return {
    conversionAction: job.conversionAction,
    conversionDateTime: adsApiTime(new Date(job.conversionTime), job.timezone),
    conversionValue: job.valueCents / 100,
    currencyCode: job.currency,
    orderId: job.orderId,
    ...clickIds(job),
    ...(userIdentifiers.length > 0 && { userIdentifiers }),
    ...(job.consent === "GRANTED" && { consent: { adUserData: "GRANTED" } }),
  };
}

/** One correction for uploadConversionAdjustments, found by its order id. Each has to be later than the one before and than the conversion. */
export function adjustmentRow(job: ConversionJob, now = new Date()) {
  const conversionTime = new Date(job.conversionTime).getTime();
  const at = new Date(Math.max(now.getTime(), conversionTime + 1000));
  return {
    conversionAction: job.conversionAction,
    adjustmentType: job.kind === "RETRACT" ? "RETRACTION" : "RESTATEMENT",
    orderId: job.orderId,
    adjustmentDateTime: adsApiTime(at, job.timezone),
    ...(job.kind === "RESTATE" && { restatementValue: { adjustedValue: job.valueCents / 100, currencyCode: job.currency } }),
  };
}
