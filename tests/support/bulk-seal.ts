import { createHash, randomUUID } from "node:crypto";
import type postgres from "postgres";
import { type CapturedEvent, capturedEvent } from "#lib/ingest/captured-event.ts";
import { storedRow } from "#lib/ingest/drain.ts";
import { actAs } from "#scripts/local/postgres/auth-user.ts";
import type { Team } from "./team.ts";

export interface BulkOptions {
  at?: Date;
  click?: "gclid" | "wbraid" | "gbraid";
  amountCents?: number;
  /** What else is known of a call, by its intent stamp. */
  about?: (stamp: string) => Partial<CapturedEvent>;
}

const chunkMax = 100; // what one request of the tracker may hold

/** Many sealed leads, by the product's own functions in as few round trips as they allow. Gives the ids of the queue rows. */
export async function bulkSeal(sql: postgres.Sql, team: Team, count: number, options: BulkOptions = {}): Promise<string[]> {
  const { at = new Date(Date.now() - 3_600_000), click = "gclid", amountCents = 425_000, about = () => ({}) } = options;
  const eventOf = (stamp: string) => ({ ...callEvent(team, stamp, click), ...about(stamp) });
  const stamps = Array.from({ length: count }, () => randomUUID());
  await sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
    for (let start = 0; start < count; start += chunkMax) await storeCalls(tx, team, stamps.slice(start, start + chunkMax), eventOf);
  });
  await actAs(
    sql,
    team.operator.id,
    async (tx) => {
      await tx`select public.seal_call(${team.publicId}, jsonb_build_object('id', c, 'amountCents', ${amountCents}::bigint), ${"0".repeat(64)})
        from unnest(${await callIds(sql, team, stamps)}::uuid[]) c`;
    },
    at,
  );
  const rows = await sql`
    select q.id from public.offline_conversion_queue q join public.calls c on c.id = q.call_id
    where c.site_id = ${team.siteId} and c.intent_stamp = any (${stamps}) and q.kind = 'CONVERSION'`;
  return rows.map((row) => String(row.id));
}

async function callIds(sql: postgres.Sql, team: Team, stamps: string[]): Promise<string[]> {
  const rows = await sql`select id from public.calls where site_id = ${team.siteId} and intent_stamp = any (${stamps})`;
  return rows.map((row) => String(row.id));
}

async function storeCalls(
  tx: postgres.TransactionSql,
  team: Team,
  stamps: string[],
  eventOf: (stamp: string) => CapturedEvent,
): Promise<void> {
  const events = stamps.map((stamp) => ({
    k: createHash("sha256").update(stamp).digest("hex"),
    e: stamp,
    n: "conversion/phone_call",
    p: eventOf(stamp),
  }));
  await tx`select public.admit_events(${team.siteId}, ${tx.json(events as never)})`;
  const [claim] = await tx<{ batch: { token: string; rows: { id: string; payload: unknown; receivedAt: string }[] } }[]>`
    select public.get_and_claim_fallback_batch(500) as batch`;
  if (!claim) return;
  const rows = claim.batch.rows.map((row) => storedRow(row.id, capturedEvent.parse(row.payload)));
  await tx`select public.store_events(${claim.batch.token}, ${tx.json(rows)})`;
}

function callEvent(team: Team, stamp: string, click: string): CapturedEvent {
  return {
    visitor: `visitor-${stamp}`,
    category: "conversion",
    action: "phone_call",
    label: null,
    value: null,
    url: `https://${team.publicId}.test/`,
    referrer: null,
    device: "mobile",
    country: null,
    city: null,
    utm: {},
    gclid: null,
    wbraid: null,
    gbraid: null,
    [click]: click === "gclid" ? `gclid-${stamp}` : `0AAAA-${stamp}`,
    ageMs: 0,
    scopes: null,
    trackerVersion: null,
    reporter: "tracker",
    marketingConsent: true,
    marketingDefault: true,
    intentStamp: stamp,
    phone: null,
  };
}
