-- What was handed to a provider, with the snapshot that was sent. What the provider says of it
-- later is its verdict.
create table public.provider_dispatches (
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
  conversion_name text not null,                   -- as handed out; the settings may change
  conversion_action text,                          -- likewise; null where the name alone went out
  conversion_time timestamptz not null,
  value_cents bigint not null,
  currency text not null,
  identifiers_hash text,                           -- over dispatch_identifiers; null by hand
  click_kind text,                                 -- by which kind of click id Google finds it
  -- False: an earlier hand-out with another value may have arrived before this one.
  is_certain boolean not null default true,
  provider_request_id text,
  record_index int,                                -- its place in a Data Manager request
  dispatched_at timestamptz not null,
  verdict text,
  verdict_reason text,
  verdict_at timestamptz,
  is_retryable boolean not null default false,     -- REJECTED for now: the same may work later
  constraint dispatch_kind_is_known check (kind in ('CONVERSION', 'RESTATE', 'RETRACT')),
  constraint transport_is_known
    check (transport in ('script', 'data_manager', 'ads_api', 'by_hand')),
  constraint verdict_is_known check (verdict in ('CONFIRMED', 'REJECTED', 'DUPLICATE', 'UNKNOWN')),
  constraint click_kind_is_known check (click_kind in ('gclid', 'gbraid', 'wbraid')),
  constraint verdict_reason_is_bounded check (char_length(verdict_reason) <= 256),
  -- Data Manager would take a value of 0 as a conversion worth 0, and keep counting it.
  constraint data_manager_cannot_retract check (kind <> 'RETRACT' or transport <> 'data_manager')
);
create index dispatches_of_a_sale on public.provider_dispatches (sale_id, dispatched_at desc);
create index dispatches_of_a_site on public.provider_dispatches (site_id, dispatched_at desc);
create index dispatches_of_a_request on public.provider_dispatches (site_id, provider_request_id)
  where transport = 'data_manager';
create index verdicts_of_a_site on public.provider_dispatches (site_id, verdict_at)
  where verdict_at is not null;
create index dispatches_not_confirmed on public.provider_dispatches
  (site_id, verdict, dispatched_at desc) where verdict in ('REJECTED', 'DUPLICATE', 'UNKNOWN');
alter table public.provider_dispatches enable row level security;

create trigger dispatches_are_never_deleted before delete on public.provider_dispatches
  for each row execute function private.refuse_change();
-- What was handed over is fixed; only what the provider says of it later is added.
create trigger dispatches_say_what_was_sent
  before update of id, site_id, queue_id, sale_id, snapshot_id, kind, provider_key, transport,
    order_id, conversion_name, conversion_action, conversion_time, value_cents, currency,
    identifiers_hash, click_kind, record_index, dispatched_at
  on public.provider_dispatches for each row execute function private.refuse_change();
create trigger dispatches_are_never_truncated before truncate on public.provider_dispatches
  for each statement execute function private.refuse_change();

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
