import { z } from "zod";
import { ledgerKinds, saleStatuses } from "#lib/contracts/states.ts";
import { undoStep } from "#lib/contracts/undo-step.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { transports } from "#lib/oci/queue-types.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { queueRow } from "./rows.ts";
import { actor, clickKind, kind, moment, status, verdict } from "./shapes.ts";

/** One row with everything that happened to it and its sale. */

export const queueRowStory = z.object({
  siteId: siteIdShape,
  row: queueRow,
  sale: z.object({
    id: z.string(),
    version: z.number(),
    status: z.enum(saleStatuses),
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
    /** What an undo of it, or of its lead, takes back now. */
    undo: undoStep.nullable(),
  }),
  seal: z
    .object({ at: moment, by: actor, amountCents: z.number(), currency: z.string(), valueSource: z.string(), note: z.string().nullable() })
    .nullable(),
  ledger: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(ledgerKinds),
      amountCents: z.number(),
      deltaCents: z.number(),
      currency: z.string(),
      valueSource: z.string(),
      by: actor,
      at: moment,
    }),
  ),
  transitions: z.array(
    z.object({
      from: status.nullable(),
      to: status,
      reason: z.string(),
      by: actor,
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
      by: actor,
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
    clickKind: clickKind.nullable(),
    clickId: z.string().nullable(),
    /** It was sent with one, which has been deleted since. */
    clickForgotten: z.boolean(),
  }),
  proofs: z.array(z.object({ id: z.string(), contract: z.string(), from: z.string().nullable(), to: z.string(), at: moment })),
  siblings: z.array(queueRow),
  /** A person's work that the API may be able to make now: RETRY_SELECTED with overApi sends it. */
  canTryApi: z.boolean(),
  /** Google rejected it or gave no verdict, and an operator may send it once more. */
  canSendAgain: z.boolean(),
});
export type QueueRowStory = z.output<typeof queueRowStory>;

export const readQueueRowStory = (db: SessionClient, siteId: SiteId, id: string) =>
  callAsUser(db, "queue_row_story", { p_public_id: siteId, p_id: id, p_max_attempts: maxAttempts() }, queueRowStory);
