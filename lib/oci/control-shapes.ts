import { z } from "zod";
import { errorCategories, queueKinds, queueStatuses, verdicts } from "./queue-types.ts";

/** What OCI Control's functions and endpoints answer. Times are ISO 8601, money is cents by currency, a site is its public id. */

export const leadChannels = ["phone", "whatsapp", "form"] as const;
export const transports = ["script", "data_manager", "ads_api", "by_hand"] as const;
const byHandReasons = ["NO_ADS_API_ACCESS", "SENT_BY_SCRIPT", "WBRAID_ONLY", "NO_VERDICT", "OTHER_ACCOUNT"] as const;
/**
 * What a waiting row waits for besides its time. RETRACTION: another sale of the lead, see heldBy. VERDICT: Google has not said whether it took
 * the conversion. DAY: a script or a person sent the conversion less than a day ago. ACTION: no usable conversion action has the row's name.
 */
const waitReasons = ["RETRACTION", "VERDICT", "DAY", "ACTION", "QUOTA"] as const;

const status = z.enum(queueStatuses);
const category = z.enum(errorCategories);
const kind = z.enum(queueKinds);
const channel = z.enum(leadChannels);
const verdict = z.enum(verdicts);
const moment = z.string();
const causeCount = z.object({ code: z.string(), category: category.nullable(), count: z.number() });
const centsByCurrency = z.record(z.string(), z.number());
const totals = z.record(status, z.number());

/** How a connected API site's provider stands; of several sites the worst. Null where a script sends. */
const circuit = z.object({
  state: z.enum(["CLOSED", "OPEN", "HALF_OPEN"]),
  failureCount: z.number(),
  nextProbeAt: moment.nullable(),
});
/** Nothing is sent until an owner fixes the connection. */
const blocked = z.object({ code: z.string(), since: moment });
const providerStats = z.object({
  provider: z.string(),
  totals,
  valueWaitingCents: centsByCurrency,
  blocked: blocked.nullable(),
  circuit: circuit.nullable(),
});

export const queueStats = z.object({
  /** Null when the figures are of all the reader's sites. */
  siteId: z.string().nullable(),
  scope: z.enum(["site", "multi"]),
  totals,
  stuckProcessing: z.number(),
  lastUpdatedAt: moment.nullable(),
  /** What QUEUED and RETRY rows are worth. */
  valueWaitingCents: centsByCurrency,
  /** failed / (failed + completed), without what was skipped on purpose (DETERMINISTIC_SKIP). Null before anything ended. */
  failedRatio: z.number().nullable(),
  oldestWaitingAt: moment.nullable(),
  /** When the next row of a state may be sent; in the past: it may be sent now. Null: all that waits is a person's work. */
  nextDueAt: z.object({ QUEUED: moment.nullable(), RETRY: moment.nullable() }),
  perProvider: z.array(providerStats),
  circuit: circuit.nullable(),
  blocked: blocked.nullable(),
  /** Google's limit is used up until then: nothing is sent before. */
  quotaUntil: moment.nullish(),
  /** Whether sites that send by API have credentials; null when none sends by API. */
  connected: z.boolean().nullable(),
  /** Conversion actions that Google refuses: what waits for them is not sent. */
  blockedActions: z.array(z.object({ conversionName: z.string(), code: z.string(), since: moment })),
  /** Names of sales for which no conversion action was chosen: none of them is sent. */
  missingActions: z.array(z.string()),
  /** The last call of the site's script, or the worker's last turn for an API site. */
  lastRun: z.object({ at: moment, ok: z.boolean(), kind: z.string(), errorCode: z.string().nullable() }).nullable(),
  mainCause: z.object({ code: z.string(), category, count: z.number() }).nullable(),
  /** Rows that are FAILED now by cause, biggest first, what was skipped on purpose included. */
  failedCauses: z.array(causeCount),
  /** Corrections that neither the script nor an API can make: they wait for a person in Google Ads. */
  waitingByHand: z.number(),
  /** Rows that failed because Google refused the API's access: new access sends them. */
  refusedAccess: z.number(),
  /** What Google rejected and does not have yet, by its reason. */
  rejectedCauses: z.array(causeCount),
});
export type QueueStats = z.output<typeof queueStats>;

const queueRow = z.object({
  id: z.string(),
  callId: z.string().nullable(),
  saleId: z.string(),
  provider: z.string(),
  kind,
  status,
  orderId: z.string(),
  valueCents: z.number(),
  currency: z.string(),
  conversionTime: moment,
  channel: channel.nullable(),
  clickKind: z.enum(["gclid", "wbraid", "gbraid"]).nullable(),
  phoneEnding: z.string().nullable(),
  attemptCount: z.number(),
  attemptsLeft: z.number(),
  notBefore: moment,
  nextRetryAt: moment.nullable(),
  claimedAt: moment.nullable(),
  stuck: z.boolean(),
  lastError: z.string().nullable(),
  providerErrorCode: z.string().nullable(),
  providerErrorCategory: category.nullable(),
  /** What the last real attempt met. The fields above may be a deferral that came since. A code of null: the sender threw. */
  attemptError: z.string().nullable(),
  attemptErrorCode: z.string().nullable(),
  attemptErrorCategory: category.nullable(),
  /** Attempts given back because Google asked to wait; at most 20. */
  freeWaits: z.number(),
  /** An adjustment that no API makes: a person does it in Google Ads, on API sites too. */
  byHandReason: z.enum(byHandReasons).nullable(),
  /** An earlier, cancelled sale of the lead that Google still has, and the row that must be finished first. */
  heldBy: z.object({ saleId: z.string(), rowId: z.string() }).nullable(),
  waitsFor: z.enum(waitReasons).nullable(),
  /** Of DAY: when the day is over. */
  waitsUntil: moment.nullable(),
  uploadedAt: moment.nullable(),
  providerRequestId: z.string().nullable(),
  /** How it went to Google: script, data_manager, ads_api or by_hand; null before it did. */
  transport: z.string().nullable(),
  verdict: verdict.nullable(),
  verdictReason: z.string().nullable(),
  verdictAt: moment.nullable(),
  /** Of a row that Google has, whose sale was cancelled since: whether the retraction was sent. */
  takeBack: z.enum(["PENDING", "DONE"]).nullable(),
  createdAt: moment,
  updatedAt: moment,
});
export type QueueRow = z.output<typeof queueRow>;

export const queueRows = z.object({ siteId: z.string(), rows: z.array(queueRow), nextCursor: z.string().nullable() });
export type QueueRows = z.output<typeof queueRows>;

const person = z.object({ kind: z.enum(["user", "api_key", "system"]), name: z.string().nullable() });

export const queueRowStory = z.object({
  siteId: z.string(),
  row: queueRow,
  sale: z.object({
    id: z.string(),
    version: z.number(),
    status: z.enum(["DRAFT", "CONFIRMED", "CANCELED"]),
    amountCents: z.number(),
    currency: z.string(),
    deliveryBlock: z.string().nullable(),
    /** Until when Google takes a correction or a retraction. */
    adjustableUntil: moment,
    /** What Google has of the sale; null when it has nothing. */
    atGoogle: z
      .object({
        kind,
        transport: z.enum(transports),
        valueCents: z.number(),
        at: moment,
        verdict: verdict.nullable(),
        isWbraidOnly: z.boolean(),
        /** Another account has it than the one that the site is connected to. */
        isElsewhere: z.boolean(),
      })
      .nullable(),
  }),
  seal: z
    .object({ at: moment, by: person, amountCents: z.number(), currency: z.string(), valueSource: z.string(), note: z.string().nullable() })
    .nullable(),
  ledger: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(["SEAL", "CORRECT", "CANCEL", "RESTORE"]),
      amountCents: z.number(),
      deltaCents: z.number(),
      currency: z.string(),
      valueSource: z.string(),
      by: person,
      at: moment,
    }),
  ),
  transitions: z.array(
    z.object({
      from: status.nullable(),
      to: status,
      reason: z.string(),
      by: person,
      attemptCount: z.number(),
      errorCode: z.string().nullable(),
      /** What the operator wrote beside the action, where there was one. */
      note: z.string().nullable(),
      at: moment,
    }),
  ),
  /** Each time the row was handed out, and how that ended; without an end it is still under way. */
  attempts: z.array(
    z.object({
      number: z.number(),
      by: person,
      startedAt: moment,
      endedAt: moment.nullable(),
      durationMs: z.number().nullable(),
      outcome: status.nullable(),
      errorCode: z.string().nullable(),
      /** What the ledger of attempts says of the batch that it was in; null for a script's. */
      batch: z
        .object({
          requestId: z.string().nullable(),
          durationMs: z.number().nullable(),
          claimed: z.number(),
          completed: z.number().nullable(),
          failed: z.number().nullable(),
          retried: z.number().nullable(),
          errorCode: z.string().nullable(),
          errorCategory: z.string().nullable(),
          isFinished: z.boolean(),
        })
        .nullable(),
    }),
  ),
  dispatches: z.array(
    z.object({
      id: z.string(),
      kind,
      transport: z.string(),
      orderId: z.string(),
      valueCents: z.number(),
      currency: z.string(),
      providerRequestId: z.string().nullable(),
      at: moment,
      verdict: verdict.nullable(),
      verdictReason: z.string().nullable(),
      verdictAt: moment.nullable(),
      /** When Google is asked next; null when it has answered, or gives no verdicts on this transport. */
      nextCheckAt: moment.nullable(),
    }),
  ),
  /** What was sent, or would be sent now. The click id is masked. */
  payload: z.object({
    sent: z.boolean(),
    orderId: z.string(),
    conversionName: z.string().nullable(),
    conversionTime: moment,
    valueCents: z.number(),
    currency: z.string(),
    clickKind: z.enum(["gclid", "wbraid", "gbraid"]).nullable(),
    clickId: z.string().nullable(),
    /** It was sent with one, and what was sent is not kept any more. */
    clickForgotten: z.boolean(),
  }),
  proofs: z.array(z.object({ id: z.string(), contract: z.string(), from: z.string().nullable(), to: z.string(), at: moment })),
  siblings: z.array(queueRow),
  allowedActions: z.array(z.enum(["RETRY_SELECTED", "RESET_TO_QUEUED", "MARK_FAILED"])),
  /** A person's work that the API may make by now: RETRY_SELECTED with overApi sends it. */
  canTryApi: z.boolean(),
  /** Google rejected it or never said what became of it, and an operator may send it once more. */
  canSendAgain: z.boolean(),
});
export type QueueRowStory = z.output<typeof queueRowStory>;

export const queueActions = ["RETRY_SELECTED", "RESET_TO_QUEUED", "MARK_FAILED"] as const;
export type QueueAction = (typeof queueActions)[number];

/** Why an action left a row as it was. */
const skipReasons = ["NOT_FOUND", "CHANGED_SINCE", "ILLEGAL_MOVE", "SALE_CANCELLED", "ALREADY_QUEUED", "BY_HAND"] as const;
const skipped = z.object({ id: z.string(), reason: z.enum(skipReasons), status: status.nullable() });

/** While `cursor` is set there is more to do: send the same request again with it. Counts are of the whole action so far. */
export const queueActionAnswer = z.object({
  ok: z.literal(true),
  actionId: z.string(),
  affected: z.number(),
  /** The rows that this call skipped; skippedCount counts all. */
  skipped: z.array(skipped),
  skippedCount: z.number(),
  done: z.number(),
  total: z.number(),
  cursor: z.string().nullable(),
  /** Until when it can be taken back; null for what can not. */
  undoUntil: moment.nullable(),
});
export type QueueActionAnswer = z.output<typeof queueActionAnswer>;

export const queueActionPreview = z.object({
  previewId: z.string(),
  digest: z.string(),
  expiresAt: moment,
  action: z.enum(queueActions),
  /** Rows that would change, and what they are worth. */
  count: z.number(),
  valueCents: centsByCurrency,
  byStatus: z.partialRecord(status, z.number()),
  ineligible: z.partialRecord(z.enum(skipReasons), z.number()),
  sample: z.array(queueRow),
  /** More rows match than one action may take: these are the first. */
  truncated: z.boolean(),
});
export type QueueActionPreview = z.output<typeof queueActionPreview>;

export const queueActionLog = z.array(
  z.object({
    actionId: z.string(),
    action: z.enum([...queueActions, "UNDO"]),
    by: person,
    reason: z.string().nullable(),
    filter: z.record(z.string(), z.unknown()).nullable(),
    undoes: z.string().nullable(),
    undoneBy: z.string().nullable(),
    total: z.number(),
    done: z.number(),
    affected: z.number(),
    at: moment,
    undoUntil: moment.nullable(),
  }),
);

export const chartRanges = ["24h", "7d", "30d", "90d"] as const;

export const queueCharts = z.object({
  siteId: z.string(),
  range: z.enum(chartRanges),
  from: moment,
  to: moment,
  /** Buckets are hours, or days of the site's own time zone; empty ones are there too. */
  bucket: z.enum(["hour", "day"]),
  activity: z.array(z.object({ at: moment, delivered: z.number(), failed: z.number(), retried: z.number() })),
  /** Seconds from seal to delivery over the newest deliveries of the range. */
  latency: z.object({
    sample: z.number(),
    p50Seconds: z.number().nullable(),
    p90Seconds: z.number().nullable(),
    p95Seconds: z.number().nullable(),
    p99Seconds: z.number().nullable(),
  }),
  /** Failures that happened in the range, biggest cause first. */
  causes: z.array(causeCount),
  /** Rows that are FAILED now, biggest cause first, with what they are worth. */
  failedNow: z.array(causeCount.extend({ valueCents: centsByCurrency })),
});
export type QueueCharts = z.output<typeof queueCharts>;
