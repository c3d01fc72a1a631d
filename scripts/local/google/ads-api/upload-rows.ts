/** What the two upload methods of the Ads API have in common: each row is taken or refused by itself, inside one 200. */
import { tally } from "../book.ts";
import type { Sim } from "../sim.ts";
import type { Account, Answer, Call, ConversionAction, SentRow } from "../sim-shapes.ts";
import { type AdsError, partialFailure, type RowProblem, refuseCall, rowError } from "./ads-failure.ts";

export interface UploadBody<Row> {
  rows: Row[];
  partialFailure?: boolean | undefined;
  validateOnly?: boolean | undefined;
  jobId?: number | undefined;
}

export interface UploadMethod<Row> {
  /** The list in the request: `conversions`. */
  list: string;
  /** The field of ErrorCode that holds this service's codes. */
  service: "conversionUploadError" | "conversionAdjustmentUploadError";
  tooMany: string;
  response: string;
  access: "uploads" | "adjustments";
  /** All that is wrong with a row, before anything is changed. */
  check(row: Row): RowProblem[];
  /** Takes a good row; a refusal that only the state can tell is given back. */
  take(row: Row): RowProblem | null;
  result(row: Row): object;
  describe(row: Row): Omit<SentRow, "outcome">;
  actionId(row: Row): string;
}

const rowsMax = 2000;
const firstOwnJobId = 2 ** 31;

export function uploadRows<Row>(sim: Sim, call: Call, account: Account, body: UploadBody<Row>, method: UploadMethod<Row>): Answer {
  const { rows, validateOnly = false, jobId } = body;
  if (body.partialFailure !== true) {
    throw refuseCall(call, 400, { partialFailureError: "PARTIAL_FAILURE_MODE_REQUIRED" }, "The partial failure field must be true.");
  }
  if (rows.length === 0) throw refuseCall(call, 400, { fieldError: "REQUIRED" }, "The required field was not present.");
  if (rows.length > rowsMax)
    throw refuseCall(call, 400, { [method.service]: method.tooMany }, "Upload fewer than 2001 events in a single request.");
  if (jobId !== undefined && jobId < 1) throw refuseCall(call, 400, { [method.service]: "INVALID_JOB_ID" }, "The job id is out of range.");
  const ownJobId = String(jobId ?? firstOwnJobId + sim.store.log.length);
  const errors: AdsError[] = [];
  const sent: SentRow[] = [];
  const results = rows.map((row, index) => {
    const problems = judge(call, account, row, index, method, validateOnly);
    errors.push(...problems.map((problem) => rowError(method.list, index, problem)));
    const outcome = problems[0] ? String(Object.values(problems[0].code)[0]) : null;
    const actionId = method.actionId(row);
    if (!validateOnly) tally(sim, { customerId: account.customerId, client: "GOOGLE_ADS_API", actionId, jobId: ownJobId }, outcome);
    sent.push({ ...method.describe(row), outcome: outcome ?? (validateOnly ? "VALID" : "COUNTED") });
    return outcome ? {} : method.result(row);
  });
  const partialFailureError = partialFailure(call, errors);
  const answer = {
    ...(partialFailureError && { partialFailureError }),
    ...(!validateOnly && { results, jobId: ownJobId }),
  };
  const message = call.forced.length > 0 ? {} : { message: method.response };
  return { status: 200, body: answer, rows: sent, isValidateOnly: validateOnly, ...message };
}

function judge<Row>(
  call: Call,
  account: Account,
  row: Row,
  index: number,
  method: UploadMethod<Row>,
  isValidateOnly: boolean,
): RowProblem[] {
  const forced = call.forced.filter((error) => error.index === index && error.code);
  if (forced.length > 0) return forced.map(({ code = {}, message = "Scripted." }) => ({ code, message }));
  if (account[method.access] === "not_allowlisted") {
    const message = "Conversion uploads aren't supported in the Google Ads API for this project. Use the Data Manager API.";
    return [{ code: { notAllowlistedError: "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE" }, message }];
  }
  const problems = method.check(row);
  if (problems.length > 0 || isValidateOnly) return problems;
  const refusal = method.take(row);
  return refusal ? [refusal] : [];
}

/** The keys that more than one row has. */
export function twinsIn<Row>(rows: Row[], keyOf: (row: Row) => string): Set<string> {
  const seen = new Set<string>();
  return new Set(rows.map(keyOf).filter((key) => seen.has(key) || !seen.add(key)));
}

/** Google looks at the action's id alone and ignores the customer in its name. */
export function findAction({ conversionActions }: Account, resourceName: string): ConversionAction | undefined {
  const [, id] = /^customers\/\d+\/conversionActions\/(\d+)$/.exec(resourceName) ?? [];
  return conversionActions.find((action) => action.id === id && action.status === "ENABLED");
}

export const required = (field: string): RowProblem => ({
  code: { fieldError: "REQUIRED" },
  message: "The required field was not present.",
  field,
});
export const mustBeUnset = (field: string): RowProblem => ({
  code: { fieldError: "VALUE_MUST_BE_UNSET" },
  message: "The field's value must be unset.",
  field,
});
export const badDate = (field: string, trigger: string): RowProblem => ({
  code: { dateError: "INVALID_STRING_DATE_TIME_SECONDS_WITH_OFFSET" },
  message: "The string date time's format should be yyyy-mm-dd hh:mm:ss+|-hh:mm.",
  field,
  trigger,
});
export const futureDate = (field: string, trigger: string): RowProblem => ({
  code: { dateError: "LATER_THAN_MAXIMUM_DATE" },
  message: "The date time lies in the future.",
  field,
  trigger,
});
export const unknownCurrency = (field: string, trigger: string): RowProblem => ({
  code: { currencyCodeError: "UNSUPPORTED" },
  message: "The currency code is not supported.",
  field,
  trigger,
});
