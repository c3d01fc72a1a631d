import { z } from "zod";
import { leadChannels } from "#lib/channels.ts";
import type { Json } from "#lib/db/types.gen.ts";
import { circuitStates, queueKinds } from "#lib/oci/queue-types.ts";
import type { ConversionJob, UploadResult } from "#lib/providers/port.ts";
import { type SiteUuid, siteUuidShape } from "#lib/site.ts";
import { claimedRows } from "./claimed-rows.ts";
import type { ShareGroup } from "./fair-share.ts";

/** One (site, provider) with due rows. */
export interface DeliveryGroup extends ShareGroup {
  siteUuid: SiteUuid;
  providerKey: string;
  nextProbeAt: string | null;
}

/** A row as claimed: what is sent, and the name under which the site knows its conversion action. */
export interface ClaimedJob extends ConversionJob {
  conversionName: string;
}

export interface Claim {
  /** The batch's id: in the ledger, in the rows' claims, in Google's job id. */
  token: string;
  /** HALF_OPEN: this worker probes. All but CLOSED and HALF_OPEN come without rows. */
  gate: string;
  jobs: ClaimedJob[];
  credentialsVersion: number | null;
  /** Where in the queue it ended; the next claim of the same worker goes on from there. */
  last: QueuePlace | null;
}

export type QueuePlace = z.infer<typeof queuePlace>;

/** Why rows wait without having been sent. */
export interface Deferral {
  until: Date;
  jitterSeconds: number;
  code: string;
  message: string;
}

/** What a batch says about its provider; SQL moves circuit, block and ledger with it. */
export interface BatchFacts {
  provider: string;
  /** `definite`: it answered, though with a refusal. `none`: it was not asked, or only asked us to wait. */
  outcome: "success" | "transient" | "definite" | "none";
  credentialsVersion: number;
  /** The account that the batch went to; left out when nothing was sent. */
  customerId?: string;
  durationMs: number;
  firstPollSeconds?: number;
  requestId?: string;
  errorCode?: string;
  errorCategory?: string;
  quotaUntil?: string;
  /** Every site with the same OAuth client waits too. */
  isQuotaShared?: boolean;
  block?: { code: string; message: string };
  blockActions?: { conversionName: string; code: string; message: string }[];
}

export interface Settled {
  completed: number;
  failed: number;
  retried: number;
}

/** A batch that arrived whole: the same answer for every row. */
export interface WholeAnswer {
  /** Of which rows, if not of all that were claimed, in that order. */
  rows?: {
    ids: string[];
    /** Their places in a Data Manager request; empty without one. */
    indexes: number[];
  };
  sent: { transport: string; requestId?: string; verdict?: string };
}

/** Rows that are `left` must be settled by `settle`, with all results of the batch. */
interface SettledAndClaimed {
  completed: number;
  left: number;
  claim: Claim | null;
}

/** What is delivered: seals or signals. Both go through the same steps. */
export interface Pipeline {
  name: "seals" | "signals";
  listGroups(): Promise<DeliveryGroup[]>;
  claim(group: DeliveryGroup, limit: number): Promise<Claim>;
  /** Lets due rows wait; no attempt is spent. Answers how many. */
  defer(group: DeliveryGroup, limit: number, deferral: Deferral): Promise<number>;
  settle(group: DeliveryGroup, token: string, results: UploadResult[], facts: BatchFacts): Promise<Settled>;
  /** Settles a batch that arrived whole and claims the next one, in one call. */
  settleAndClaim?(
    group: DeliveryGroup,
    batch: { token: string; answer: WholeAnswer; facts: BatchFacts },
    next: { limit: number; after: QueuePlace | null },
  ): Promise<SettledAndClaimed>;
}

export const groupList = z.array(
  z
    .object({
      site_id: siteUuidShape,
      provider_key: z.string(),
      queued_count: z.number(),
      state: z.enum(circuitStates),
      probe_limit: z.number(),
      next_probe_at: z.string().nullable(),
      is_probe_due: z.boolean(),
      served_at: z.string().nullable(),
    })
    .transform(
      (row): DeliveryGroup => ({
        siteUuid: row.site_id,
        providerKey: row.provider_key,
        queuedCount: row.queued_count,
        state: row.state,
        probeLimit: row.probe_limit,
        nextProbeAt: row.next_probe_at,
        isProbeDue: row.is_probe_due,
        servedAt: row.served_at,
      }),
    ),
);

export const jobRow = z
  .object({
    id: z.uuid(),
    kind: z.enum(queueKinds).default("CONVERSION"),
    via: z.enum(["data_manager", "ads_api"]),
    orderId: z.string(),
    conversionName: z.string(),
    conversionAction: z.string(),
    conversionTime: z.string(),
    timezone: z.string(),
    valueCents: z.number(),
    currency: z.string(),
    gclid: z.string().nullable(),
    wbraid: z.string().nullable(),
    gbraid: z.string().nullable(),
    customerHash: z.string().nullable().default(null),
    emailHash: z.string().nullable().default(null),
    channel: z.enum(leadChannels).nullable(),
    consent: z.literal("GRANTED").nullable(),
    mayHaveArrived: z.boolean(),
  })
  .transform(({ customerHash, ...row }): ClaimedJob => ({ ...row, phoneHash: customerHash }));

const queuePlace = z.object({ eligibleAt: z.string(), createdAt: z.string(), id: z.uuid() });

const packedClaim = z.looseObject({
  rows: z.array(z.looseObject({})),
  plain: z.object({ each: z.looseObject({}), columns: z.record(z.string(), z.array(z.unknown())) }).nullish(),
});

export const claimAnswer = packedClaim
  .transform((claim): unknown => ({ ...claim, rows: claimedRows(claim) }))
  .pipe(
    z.object({
      token: z.uuid(),
      gate: z.string(),
      rows: z.array(jobRow),
      batch: z.object({ credentialsVersion: z.number().nullable() }).nullish(),
      last: queuePlace.nullish(),
    }),
  )
  .transform(
    ({ token, gate, rows, batch, last }): Claim => ({
      token,
      gate,
      jobs: rows,
      credentialsVersion: batch?.credentialsVersion ?? null,
      last: last ?? null,
    }),
  );

export const settledAndClaimedAnswer = z.object({ completed: z.number(), left: z.number(), claim: claimAnswer.nullable() });

export const settledAnswer = z.object({ completed: z.number(), failed: z.number(), retried: z.number() });

/** A result as settle takes it. */
export function settledRow({ id, status, message, retryAt, isFreeWait, isJudged: _judged, blocksAction: _blocks, ...rest }: UploadResult) {
  return { id, outcome: status, ...rest, message, retryAt: retryAt?.toISOString(), free: isFreeWait };
}

/** Text that Postgres takes: no U+0000 and no half of a character. A cut can leave one, and a click id may contain one. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}

/** Plain data as JSON that the database takes, whatever its texts contain. */
export function storable(value: unknown): Json {
  return JSON.parse(JSON.stringify(value, (_key, part) => (typeof part === "string" ? storableText(part) : part)));
}
