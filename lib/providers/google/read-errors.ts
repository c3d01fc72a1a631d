import { z } from "zod";

/** One error of Google, of whichever shape. */
export interface GoogleError {
  code: string;
  /** The Ads API's name for the kind of code: `conversionUploadError`. */
  family?: string;
  message: string;
  /** The row it is about; null when it is about the whole request. */
  index: number | null;
  /** Google's name of the wrong field. */
  field?: string;
  retryDelayMs?: number;
  /** The quota that ran out, as Google names it. */
  quotaName?: string;
  /** Every account of the same Google Cloud project or developer token shares it. */
  isQuotaShared?: boolean;
}

export interface GoogleErrors {
  errors: GoogleError[];
  requestId?: string;
}

const text = z.string().catch("");
const list = <Item extends z.ZodType>(item: Item) => z.array(item).catch([]);

const adsError = z.object({
  errorCode: z.record(z.string(), z.unknown()).catch({}),
  message: text,
  location: z
    .object({ fieldPathElements: list(z.object({ fieldName: text, index: z.coerce.number().int().optional().catch(undefined) })) })
    .optional()
    .catch(undefined),
  details: z
    .object({
      unpublishedErrorCode: z.string().optional(),
      quotaErrorDetails: z.object({ rateName: text, rateScope: text, retryDelay: text }).partial().optional(),
    })
    .optional()
    .catch(undefined),
});

/** Each detail has a type; whatever a type does not have is simply absent. */
const detail = z.object({
  "@type": text,
  requestId: z.string().optional().catch(undefined),
  errors: list(adsError),
  fieldViolations: list(z.object({ field: text, description: text, reason: z.string().optional().catch(undefined) })),
  reason: z.string().optional().catch(undefined),
  metadata: z.record(z.string(), z.string()).optional().catch(undefined),
  retryDelay: z.string().optional().catch(undefined),
});

/** google.rpc.Status, as `error` of a refusal and as `partialFailureError` inside a 200. */
const rpcStatus = z.object({ message: text, status: z.string().optional().catch(undefined), details: list(detail) });

/** The field that holds the rows. In JSON a missing index is 0. */
const rowField = /^(conversions|conversion_?adjustments|operations)$/i;

function readAdsError({ errorCode, message, location, details }: z.output<typeof adsError>): GoogleError {
  const [family, code] = Object.entries(errorCode).find(([, value]) => typeof value === "string") ?? [];
  const path = location?.fieldPathElements ?? [];
  const row = path.find(({ fieldName }) => rowField.test(fieldName));
  const field = path.map(({ fieldName, index }) => (index === undefined ? fieldName : `${fieldName}[${index}]`)).join(".");
  const quota = details?.quotaErrorDetails;
  return {
    code: details?.unpublishedErrorCode ?? (typeof code === "string" ? code : "UNKNOWN"),
    family,
    message,
    index: row ? (row.index ?? 0) : null,
    ...(field && { field }),
    ...(quota && {
      retryDelayMs: readDelay(quota.retryDelay),
      quotaName: quota.rateName,
      isQuotaShared: quota.rateScope === "DEVELOPER",
    }),
  };
}

/** `3.5s` */
function readDelay(delay: string | undefined): number | undefined {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(delay ?? "")?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** `events.events[3].adIdentifiers.gclid` → 3 */
function eventIndex(field: string): number | null {
  const index = /(?:^|\.)events\[(\d+)\]/.exec(field)?.[1];
  return index === undefined ? null : Number(index);
}

/** Without an error of Google's own, the API did not answer: its address, and so its version, is gone. */
const silentCodes: Record<number, string> = { 404: "UNSUPPORTED_VERSION" };

/** Every error of a google.rpc.Status, whichever API sent it. An answer that says nothing gives its status as the code. */
export function readGoogleErrors(status: unknown, httpStatus: number): GoogleErrors {
  const { message, status: name, details } = rpcStatus.catch({ message: "", status: undefined, details: [] }).parse(status);
  const reason = details.find((item) => item["@type"].endsWith("ErrorInfo"))?.reason;
  const quotaName = details.map(({ metadata }) => metadata?.quota_limit ?? metadata?.quota_limit_name).find(Boolean);
  const retryDelayMs = readDelay(details.find(({ retryDelay }) => retryDelay)?.retryDelay);
  const errors = details.flatMap((item) => [
    ...item.errors.map(readAdsError),
    ...item.fieldViolations.map(({ field, description, reason: own }) => ({
      code: own ?? reason ?? name ?? "INVALID_ARGUMENT",
      message: description,
      index: eventIndex(field),
      field,
    })),
  ]);
  const whole = { code: reason ?? name ?? silentCodes[httpStatus] ?? `HTTP_${httpStatus}`, message, index: null };
  return {
    errors: (errors.length > 0 ? errors : [whole]).map((error) => ({
      ...(quotaName && { quotaName, isQuotaShared: /per.?project$/i.test(quotaName) }),
      ...(retryDelayMs !== undefined && { retryDelayMs }),
      ...error,
    })),
    requestId: details.map(({ requestId }) => requestId).find(Boolean),
  };
}
