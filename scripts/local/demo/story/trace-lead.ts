import type postgres from "postgres";
import type { SiteId } from "#lib/site.ts";

/** Everything that one ad click became, each with the id under which the product knows it. */
export interface Trace {
  visit: { id: string; events: number; campaign: string | null; term: string | null } | null;
  lead: { id: string; eventId: string; channel: string; status: string; at: Date; isBilled: boolean } | null;
  sale: { id: string; orderId: string; amountCents: number; currency: string; by: string | null; at: Date } | null;
  row: { id: string; status: string; errorCode: string | null; notBefore: Date } | null;
  dispatch: { id: string; transport: string; at: Date; verdict: string | null; verdictAt: Date | null } | null;
  proof: { id: string; hash: string } | null;
  /** The entry in the simulated Google's book. */
  counted: Pick<BookEntry, "value" | "currency"> | null;
}

/** A conversion as the simulated Google counts it. */
export interface BookEntry {
  customerId: string;
  orderId: string | null;
  value: number;
  currency: string;
  conversionTime: string;
  sends: number;
  via: string;
  isRetracted: boolean;
}

/** What it counts, the newest last. */
export async function readBooks(googleUrl: string): Promise<BookEntry[]> {
  const { conversions }: { conversions: BookEntry[] } = await (await fetch(`${googleUrl}/__sim/state`)).json();
  return conversions;
}

/** Reads what the product stored; changes nothing. */
export async function traceLead(
  sql: postgres.Sql,
  googleUrl: string,
  { siteId, gclid }: { siteId: SiteId; gclid: string },
): Promise<Trace> {
  const [found] = await sql`
    select v.id as visit, v.event_count, v.utm ->> 'campaign' as campaign, v.utm ->> 'term' as term, c.id as lead, c.intent_stamp, c.channel, c.status, c.called_at,
      exists (select from public.ingest_idempotency i where i.site_id = site.id and i.eid = c.intent_stamp) as is_billed,
      s.id as sale, s.order_id, s.amount_cents::float8 as amount_cents, s.currency,
      q.id as row, q.status as row_status, q.provider_error_code, q.not_before,
      d.id as dispatch, d.transport, d.dispatched_at, d.verdict, d.verdict_at,
      p.id as proof, p.hash, p.occurred_at as sealed_at, private.actor_email(p.actor_id, p.occurred_at) as sealed_by
    from public.sites site
    join lateral (select * from public.sessions v where v.site_id = site.id and v.gclid = ${gclid} order by v.started_at desc limit 1) v on true
    left join lateral (select * from public.calls c where c.session_id = v.id
      order by c.status = 'sealed' desc, c.called_at limit 1) c on true
    left join lateral (select * from public.sales s where s.call_id = c.id and s.status = 'CONFIRMED' limit 1) s on true
    left join lateral (select * from public.offline_conversion_queue q where q.sale_id = s.id and q.kind = 'CONVERSION'
      order by q.created_at desc limit 1) q on true
    left join public.provider_dispatches d on d.queue_id = q.id
    left join lateral (select * from public.transition_proofs p where p.entity_id = c.id and p.to_state = 'sealed'
      order by p.occurred_at desc limit 1) p on s.id is not null
    where site.public_id = ${siteId}`;
  if (!found) return { visit: null, lead: null, sale: null, row: null, dispatch: null, proof: null, counted: null };
  return {
    visit: { id: found.visit, events: found.event_count, campaign: found.campaign, term: found.term },
    lead: found.lead && {
      id: found.lead,
      eventId: found.intent_stamp,
      channel: found.channel,
      status: found.status,
      at: found.called_at,
      isBilled: found.is_billed,
    },
    sale: found.sale && {
      id: found.sale,
      orderId: found.order_id,
      amountCents: found.amount_cents,
      currency: found.currency,
      by: found.sealed_by,
      at: found.sealed_at,
    },
    row: found.row && { id: found.row, status: found.row_status, errorCode: found.provider_error_code, notBefore: found.not_before },
    dispatch: found.dispatch && {
      id: found.dispatch,
      transport: found.transport,
      at: found.dispatched_at,
      verdict: found.verdict,
      verdictAt: found.verdict_at,
    },
    proof: found.proof && { id: found.proof, hash: found.hash },
    counted: found.dispatch ? await findCounted(googleUrl, found.order_id) : null,
  };
}

async function findCounted(googleUrl: string, orderId: string): Promise<Trace["counted"]> {
  return (await readBooks(googleUrl)).find((conversion) => conversion.orderId === orderId) ?? null;
}
