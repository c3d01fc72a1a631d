import type { ConversionJob, ProviderBlock, UploadResult } from "#lib/providers/port.ts";
import { ProviderRateLimitError } from "#lib/providers/provider-error.ts";
import type { GoogleAnswer } from "./call-google.ts";
import { classifyGoogleAdsError } from "./classify-google-ads-error.ts";
import type { GoogleError } from "./read-errors.ts";
import { type AnswerContext, quotaWait, rowResult } from "./row-result.ts";
import type { Batch, BatchAnswer } from "./send-batches.ts";

/**
 * What a refused request (4xx) means for its rows. A fault of the account is the result of every row. Otherwise one bad row can be the cause: the rows
 * that Google names get their result and the others are sent again; if it names none, halving the batch finds it. An ordinary 429 throws.
 */
export function readRefusal(jobs: ConversionJob[], answer: GoogleAnswer, context: AnswerContext): BatchAnswer {
  const resultOf = (job: ConversionJob) => rowResult(job, answer.errors, context);
  if (answer.status === 429) {
    const { isFree, quota } = quotaWait(answer.errors);
    if (!isFree) throw new ProviderRateLimitError(`Google answered 429 (${answer.errors[0]?.code ?? "RATE_LIMIT"})`, quota);
    return { results: jobs.map(resultOf), quota, resultOfRest: resultOf };
  }
  if (answer.status === 401 || answer.status === 403) {
    const results = jobs.map(resultOf);
    return { results, ...blockOf(results), resultOfRest: resultOf };
  }
  const unnamed = answer.errors.filter(({ index }) => index === null || index >= jobs.length);
  if (unnamed.some((error) => isAboutRequest(error, answer.status)) || (unnamed.length > 0 && jobs.length === 1)) {
    const results = jobs.map(resultOf);
    return { results, ...blockOf(results) };
  }
  const [{ code, message } = { code: "INVALID_ARGUMENT", message: "" }] = answer.errors;
  if (unnamed.length === answer.errors.length) return { results: [], again: halves(jobs, { code, message }) };
  return withoutNamedRows(jobs, answer.errors, context, { code, message });
}

function withoutNamedRows(
  jobs: ConversionJob[],
  errors: readonly GoogleError[],
  context: AnswerContext,
  refusal: Batch["refusal"],
): BatchAnswer {
  const errorsAt = Map.groupBy(errors, ({ index }) => index);
  const results = jobs.flatMap((job, index) => {
    const own = errorsAt.get(index);
    return own ? [rowResult(job, own, context)] : [];
  });
  const rest = jobs.filter((_job, index) => !errorsAt.has(index));
  return { results, ...blockOf(results), ...(rest.length > 0 && { again: [{ jobs: rest, refusal }] }) };
}

/** Sending fewer rows would not help: the account, the conversion action or the request's own fields are at fault. */
function isAboutRequest({ code, family, field = "" }: GoogleError, httpStatus: number): boolean {
  const { status, blocksAction, blocksAccount } = classifyGoogleAdsError(code, httpStatus, family);
  return status !== "FAILED" || blocksAction === true || blocksAccount === true || /^(destinations|encoding|validate)/.test(field);
}

function halves(jobs: ConversionJob[], refusal: Batch["refusal"]): Batch[] {
  const middle = Math.ceil(jobs.length / 2);
  return [jobs.slice(0, middle), jobs.slice(middle)].map((part) => ({ jobs: part, refusal }));
}

/** The block that results of the account's own fault ask for. */
export function blockOf(results: readonly UploadResult[]): { block?: ProviderBlock } {
  const refused = results.find(({ status, category }) => status === "FAILED" && category === "AUTH");
  return refused ? { block: { code: refused.code ?? "UNAUTHENTICATED", message: refused.message ?? "" } } : {};
}
