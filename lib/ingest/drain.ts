import { z } from "zod";
import { channelOf, isLeadAction } from "#lib/channels.ts";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { Json } from "#lib/db/types.gen.ts";
import { log } from "#lib/platform/log.ts";
import { siteUuidShape } from "#lib/site.ts";
import { callerHashes, callerRing } from "#lib/vault/caller-hash.ts";
import type { KeyRing } from "#lib/vault/secret.ts";
import type { CapturedEvent } from "./event-shape.ts";
import { capturedEvent } from "./event-shape.ts";

const batch = z.object({
  token: z.uuid(),
  rows: z.array(
    z.object({ id: z.uuid(), siteUuid: siteUuidShape, payload: z.unknown(), receivedAt: z.string(), phoneHash: z.string().nullable() }),
  ),
});
type Batch = z.output<typeof batch>;
type Row = Batch["rows"][number];

const stored = z.object({ stored: z.number(), calls: z.number() });

const batchMax = 200;
/** Below the minute that a serverless function may run. What is left, the cron finds. */
const drainMaxMs = 45_000;

export interface Drained {
  stored: number;
  calls: number;
  failed: number;
}

/** Takes captured events until none is left. Any number of workers may do it at once. */
export async function drainEvents(): Promise<Drained> {
  const total: Drained = { stored: 0, calls: 0, failed: 0 };
  const endAt = Date.now() + drainMaxMs;
  while (Date.now() < endAt) {
    const claimed = await callRpc("get_and_claim_fallback_batch", { p_limit: batchMax }, batch);
    if (claimed.rows.length === 0) break;
    const done = await storeBatch(claimed);
    total.stored += done.stored;
    total.calls += done.calls;
    total.failed += done.failed;
  }
  return total;
}

/** Stores the whole batch at once. If that fails, one by one, so that only the event that cannot be stored waits. */
async function storeBatch({ token, rows }: Batch): Promise<Drained> {
  const readable = rows.flatMap((row) => {
    const parsed = capturedEvent.safeParse(row.payload);
    return parsed.success ? [{ row, event: parsed.data }] : [];
  });
  const poison = rows.filter((row) => !readable.some((each) => each.row.id === row.id));
  for (const row of poison) await release(token, row, "The captured payload cannot be read.");
  const ring = callerRing();
  const values = readable.map(({ row, event }) => storedRow(row, event, ring));
  try {
    const done = await store(token, values);
    return { ...done, failed: poison.length };
  } catch (error) {
    if (values.length > 1) log.warn("batch not stored at once", { rows: values.length, error });
    return storeOneByOne(
      token,
      values,
      readable.map(({ row }) => row),
      poison.length,
    );
  }
}

async function storeOneByOne(token: string, values: ReturnType<typeof storedRow>[], rows: Row[], failedBefore: number): Promise<Drained> {
  const total: Drained = { stored: 0, calls: 0, failed: failedBefore };
  for (const [index, value] of values.entries()) {
    const row = rows[index];
    if (!row) continue;
    try {
      const done = await store(token, [value]);
      total.stored += done.stored;
      total.calls += done.calls;
    } catch (error) {
      await release(token, row, error instanceof Error ? error.message : String(error));
      total.failed += 1;
    }
  }
  return total;
}

function store(token: string, rows: ReturnType<typeof storedRow>[]) {
  return callRpc("store_events", { p_token: token, p_rows: rows as unknown as Json }, stored); // plain data by its construction
}

function release(token: string, row: Row, reason: string) {
  return callRpc("release_fallback_event", { p_token: token, p_id: row.id, p_reason: reason }, z.unknown());
}

/** Its ad networks and apps count too: googleadservices.com, com.google.android.googlequicksearchbox. */
function isFromGoogle(referrer: string | null): boolean {
  return referrer !== null && /google/i.test(referrer);
}

function scrollDepth({ action, value }: CapturedEvent): number {
  return action === "scroll_depth" && value !== null ? Math.max(0, Math.min(100, Math.round(value))) : 0;
}

/**
 * What a captured event says about its session and its call, in the shape that store_events writes. A caller's number is hashed with the vault's
 * key here: SQL has no key, and stores no hash that can be tried out.
 */
export function storedRow({ id, phoneHash }: Pick<Row, "id"> & Partial<Pick<Row, "phoneHash">>, event: CapturedEvent, ring?: KeyRing) {
  const [caller] = phoneHash ? callerHashes(phoneHash, ring) : [];
  const channel = event.category === "conversion" && isLeadAction(event.action) ? channelOf[event.action] : null;
  return {
    ...event,
    id,
    fromGoogle: isFromGoogle(event.referrer),
    scrollDepth: scrollDepth(event),
    channel,
    intentStamp: channel ? (event.intentStamp ?? id) : null,
    callerHash: caller?.hash ?? null,
    callerKeyId: caller?.keyId ?? null,
  };
}
