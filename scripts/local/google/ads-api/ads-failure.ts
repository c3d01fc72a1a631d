import { errorAnswer, Refusal } from "../failures.ts";
import type { Answer, Call } from "../sim-shapes.ts";

export interface AdsError {
  errorCode: Record<string, string>;
  message: string;
  trigger?: { stringValue: string };
  location?: { fieldPathElements: { fieldName: string; index?: number }[] };
  details?: object;
}

type Names = Pick<Call, "version" | "requestId">;

function failureOf({ version, requestId }: Names, errors: AdsError[]): object {
  return { "@type": `type.googleapis.com/google.ads.googleads.${version}.errors.GoogleAdsFailure`, errors, requestId };
}

/** A call that is refused as a whole. */
export function adsFailure(call: Names, status: number, errors: AdsError[]): Answer {
  return errorAnswer(status, [failureOf(call, errors)]);
}

export function refuseCall(call: Names, status: number, errorCode: Record<string, string>, message: string): Refusal {
  return new Refusal(adsFailure(call, status, [{ errorCode, message }]));
}

/** A code of the one service that this file's callers speak of, e.g. `UNPARSEABLE_GCLID`, or a pair for another kind of error. */
export interface RowProblem {
  code: Record<string, string>;
  message: string;
  /** The field of the row, as `gclid` or `restatement_value.adjusted_value`. */
  field?: string | undefined;
  trigger?: string | undefined;
}

/** `conversions[3].gclid`, as Google writes it. Index 0 is written, though a reader must not count on it. */
export function rowError(list: string, index: number, { code, message, field, trigger }: RowProblem): AdsError {
  const names = field?.split(".") ?? [];
  return {
    errorCode: code,
    message,
    ...(trigger !== undefined && { trigger: { stringValue: trigger } }),
    location: { fieldPathElements: [{ fieldName: list, index }, ...names.map((fieldName) => ({ fieldName }))] },
  };
}

/** Rows that failed inside a call that went well. */
export function partialFailure(call: Names, errors: AdsError[]): object | undefined {
  const [first] = errors;
  if (!first) return undefined;
  const path = first.location?.fieldPathElements
    .map(({ fieldName, index }) => (index === undefined ? fieldName : `${fieldName}[${index}]`))
    .join(".");
  const text = `${first.message}${path ? `, at ${path}` : ""}`;
  const message = errors.length > 1 ? `Multiple errors in ‘details’. First error: ${text}` : text;
  return { code: 3, message, details: [failureOf(call, errors)] };
}
