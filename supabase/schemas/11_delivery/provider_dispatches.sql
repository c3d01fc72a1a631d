-- What was handed to a provider, with the snapshot that was sent. What the provider says of it
-- later is its verdict.

-- Hand-outs that we only assume to have arrived: see assume_arrival. Their rows are not delivered.
create table private.assumed_dispatches (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  queue_id uuid not null,
  -- Taken from the queue's row: foreign keys would look both up again.
  sale_id uuid not null,
  snapshot_id uuid not null,
  kind text not null,
  provider_key text not null,
  transport text not null,
  order_id text not null,
  conversion_name text not null,
  conversion_action text,
  conversion_time timestamptz not null,
  value_cents bigint not null,
  currency text not null,
  identifiers_hash text,
  click_kind text,
  is_certain boolean not null,
  dispatched_at timestamptz not null,
  verdict text not null,                           -- UNKNOWN, or REJECTED: it never arrived
  verdict_reason text not null,
  verdict_at timestamptz not null,
  constraint assumed_verdict_is_known check (verdict in ('UNKNOWN', 'REJECTED'))
);
create index assumed_dispatches_of_a_sale on private.assumed_dispatches (sale_id);
create index assumed_dispatches_of_a_row on private.assumed_dispatches (queue_id);
create index assumed_dispatches_of_a_site on private.assumed_dispatches (site_id, dispatched_at);
alter table private.assumed_dispatches enable row level security;

create trigger assumed_dispatches_are_never_deleted before delete on private.assumed_dispatches
  for each row execute function private.refuse_change();
create trigger assumed_dispatches_say_what_was_sent
  before update of id, site_id, queue_id, sale_id, snapshot_id, kind, provider_key, transport,
    order_id, conversion_name, conversion_action, conversion_time, value_cents, currency,
    identifiers_hash, click_kind, dispatched_at
  on private.assumed_dispatches for each row execute function private.refuse_change();
create trigger assumed_dispatches_are_never_truncated before truncate
  on private.assumed_dispatches for each statement execute function private.refuse_change();

-- provider_dispatches: everything that was handed over: the delivered rows themselves, under their
-- own ids, and what we assume. Read-only; a verdict is written to the row.
--   identifiers_hash  over dispatch_identifiers; null by hand. click_kind: by which kind of click
--                     id Google finds it.
-- Both halves have the same types, domains included: otherwise Postgres reads every row of both
-- for each look at one sale.
create view public.provider_dispatches with (security_invoker = true) as
  select q.id, q.site_id, q.id as queue_id, q.sale_id, q.snapshot_id, q.kind::text, q.provider_key,
    q.transport::text, q.order_id, q.conversion_name, q.conversion_action, q.conversion_time,
    q.value_cents, q.currency,
    case when q.transport <> 'by_hand' then q.identifiers_hash end as identifiers_hash,
    case when q.transport <> 'by_hand' then q.click_kind end as click_kind,
    q.is_certain, q.provider_request_id::text, q.record_index, q.uploaded_at as dispatched_at,
    q.verdict::text, q.verdict_reason::text, q.verdict_at, q.is_retryable
  from private.queue_delivered q
  union all
  select a.id, a.site_id, a.queue_id, a.sale_id, a.snapshot_id, a.kind, a.provider_key,
    a.transport, a.order_id, a.conversion_name, a.conversion_action, a.conversion_time,
    a.value_cents, a.currency, a.identifiers_hash, a.click_kind, a.is_certain, null, null,
    a.dispatched_at, a.verdict, a.verdict_reason, a.verdict_at, false
  from private.assumed_dispatches a;

-- standing_dispatches: what Google has of each sale: the newest dispatch that it did not reject, on
-- whichever transport. Everything that decides by "Google has it" reads this. An API adjusts only
-- what it finds; an adjustment by hand counts only while a conversion of the sale does.
create view private.standing_dispatches as
  select distinct on (d.sale_id, d.provider_key) d.*
  from public.provider_dispatches d where d.verdict is distinct from 'REJECTED'
    and (d.transport <> 'by_hand' or exists (select from public.provider_dispatches c
      where c.sale_id = d.sale_id and c.provider_key = d.provider_key and c.kind = 'CONVERSION'
        and c.verdict is distinct from 'REJECTED'))
  order by d.sale_id, d.provider_key, d.dispatched_at desc, d.id desc;

-- delivered_sales: sales that Google counts, or has accepted without a verdict yet. Their earlier
-- failed conversions are not sent again.
create view private.delivered_sales as
  select d.sale_id, d.provider_key from public.provider_dispatches d
  where d.kind = 'CONVERSION' and coalesce(d.verdict, 'CONFIRMED') in ('CONFIRMED', 'DUPLICATE');

-- adjustment_bases: what an adjustment of a sale starts from, and what it waits for.
--   waits_for  VERDICT: Data Manager has not said whether it took the conversion, and an adjustment
--              of one that it did not take is a new conversion there. DAY: a script or a person
--              sent it; we do not learn when Google has it, but a day later it has.
--   takes_restatements  Data Manager has it for certain and corrects the value itself. It wants
--              the click again, which is erased when consent is withdrawn; the Ads API needs only
--              the order id.
create view private.adjustment_bases as
  select d.sale_id, d.provider_key,
    case
      when d.transport = 'data_manager' and d.verdict is null then 'VERDICT'
      when d.transport in ('script', 'by_hand')
        and d.dispatched_at > private.current_moment() - interval '1 day'
        then 'DAY' end as waits_for,
    case when d.transport in ('script', 'by_hand')
      then d.dispatched_at + interval '1 day' end as waits_until,
    d.transport = 'data_manager' and d.verdict in ('CONFIRMED', 'DUPLICATE')
      and exists (select from public.sales s where s.id = d.sale_id
        and coalesce(s.gclid, s.wbraid, s.gbraid) is not null) as takes_restatements
  from private.standing_dispatches d;

-- standing_json: what Google has of a sale, for whoever wants to correct it or take it back.
--   isWbraidOnly, isElsewhere  a person adjusts it in Google Ads, as follow_ledger says.
create function private.standing_json(p_sale_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'kind', d.kind,
    'transport', d.transport,
    'valueCents', d.value_cents,
    'at', d.dispatched_at,
    'verdict', d.verdict,
    'isWbraidOnly', exists (
      select from public.provider_dispatches c where c.sale_id = d.sale_id
        and c.kind = 'CONVERSION' and c.click_kind = 'wbraid'
        and c.verdict is distinct from 'REJECTED'),
    'isElsewhere', private.is_elsewhere(d.site_id, d.conversion_action))
  from private.standing_dispatches d where d.sale_id = p_sale_id and d.provider_key = 'google_ads'
$$;
