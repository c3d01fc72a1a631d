-- Sales: what a lead turned out to be worth. A sale's amount is what its snapshots add up to; a snapshot is never changed.

create table public.sales (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  call_id uuid references public.calls (id),
  sibling_call_id uuid,                            -- a call of the same customer that had its sale before this one came from elsewhere
  external_ref text,                               -- the sale's number in the system it comes from
  status text not null,
  seal_status text not null generated always as (case when status = 'CONFIRMED' then 'sealed' else 'unsealed' end) stored,
  version int not null default 1,
  order_id text not null unique,                   -- the same on every way to Google: a second upload is a duplicate there, never a second sale
  amount_cents bigint not null,                    -- always the sum of the snapshots; 0 when cancelled
  drafted_cents bigint,                            -- what a draft said that was cancelled: it has no snapshot to come back from
  currency text not null,
  value_source text not null,
  occurred_at timestamptz not null,                -- when the customer bought, or reached out: the conversion's time
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  customer_hash text,                              -- SHA-256 of the phone number in E.164
  email_hash text,                                 -- SHA-256 of the e-mail address, as a sale from elsewhere brought it
  delivery_block text,                             -- why Google will never be told, if so
  note text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint sale_status_is_known check (status in ('DRAFT', 'CONFIRMED', 'CANCELED')),
  constraint order_id_fits_everywhere check (char_length(order_id) between 8 and 64),
  constraint cancelled_sales_are_worth_nothing check (case when status = 'CANCELED' then amount_cents = 0 else amount_cents > 0 end),
  constraint sale_currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint value_source_is_known check (value_source in ('OPERATOR', 'PREDICTED', 'EXTERNAL')),
  constraint external_ref_is_plain_text check (external_ref is null or private.is_plain_text(external_ref, 120)),
  constraint customer_hash_is_sha_256 check (customer_hash ~ '^[0-9a-f]{64}$'),
  constraint email_hash_is_sha_256 check (email_hash ~ '^[0-9a-f]{64}$'),
  constraint sale_note_is_bounded check (char_length(note) <= 500),
  constraint delivery_block_is_known check (delivery_block in ('NO_CLICK_ID', 'NO_CONSENT', 'CLICK_EXPIRED', 'NO_MATCH')),
  constraint one_sale_per_external_ref unique (site_id, external_ref)
);
create unique index one_living_sale_per_call on public.sales (call_id) where status <> 'CANCELED';
create index sales_of_a_call on public.sales (call_id);
create index sales_beside_a_call on public.sales (sibling_call_id) where sibling_call_id is not null;
create index sales_of_a_site on public.sales (site_id, occurred_at desc, id);

create table public.revenue_snapshots (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null references public.sales (id),
  sequence int not null,
  kind text not null,
  amount_cents bigint not null,                    -- what the sale is worth from now on
  delta_cents bigint not null,                     -- the change: a sale's deltas add up to its amount
  currency text not null,
  value_source text not null,
  actor_kind text not null,
  actor_id uuid,
  created_at timestamptz not null,
  constraint one_snapshot_per_step unique (sale_id, sequence),
  constraint snapshot_kind_is_known check (kind in ('SEAL', 'CORRECT', 'CANCEL', 'RESTORE')),
  constraint snapshot_amounts_are_not_negative check (amount_cents >= 0)
);

-- What was handed to a provider, with the snapshot that was sent. What the provider says of it later is its verdict.
create table public.provider_dispatches (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  queue_id uuid not null,
  sale_id uuid not null,                           -- taken with its snapshot from the queue's row: foreign keys would look both up again
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
  is_certain boolean not null default true,        -- false: an earlier hand-out with another value may have arrived before this one
  provider_request_id text,
  record_index int,                                -- its place in a Data Manager request
  dispatched_at timestamptz not null,
  verdict text,
  verdict_reason text,
  verdict_at timestamptz,
  is_retryable boolean not null default false,     -- REJECTED for now: the same may work later
  constraint dispatch_kind_is_known check (kind in ('CONVERSION', 'RESTATE', 'RETRACT')),
  constraint transport_is_known check (transport in ('script', 'data_manager', 'ads_api', 'by_hand')),
  constraint verdict_is_known check (verdict in ('CONFIRMED', 'REJECTED', 'DUPLICATE', 'UNKNOWN')),
  constraint click_kind_is_known check (click_kind in ('gclid', 'gbraid', 'wbraid')),
  constraint verdict_reason_is_bounded check (char_length(verdict_reason) <= 256),
  -- It would take a value of 0 for a conversion worth nothing, and go on counting it.
  constraint data_manager_cannot_retract check (kind <> 'RETRACT' or transport <> 'data_manager')
);
create index dispatches_of_a_sale on public.provider_dispatches (sale_id, dispatched_at desc);
create index dispatches_of_a_site on public.provider_dispatches (site_id, dispatched_at desc);
create index dispatches_of_a_request on public.provider_dispatches (site_id, provider_request_id)
  where transport = 'data_manager';

-- standing_dispatches: what Google has of each sale: the newest dispatch that it did not reject, on
-- whichever transport. Whatever decides by "Google has it" reads this. An API adjusts only what it
-- finds; what a person adjusted by hand is there only while a conversion of the sale is.
create view private.standing_dispatches as
  select distinct on (d.sale_id, d.provider_key) d.*
  from public.provider_dispatches d where d.verdict is distinct from 'REJECTED'
    and (d.transport <> 'by_hand' or exists (select from public.provider_dispatches c
      where c.sale_id = d.sale_id and c.provider_key = d.provider_key and c.kind = 'CONVERSION'
        and c.verdict is distinct from 'REJECTED'))
  order by d.sale_id, d.provider_key, d.dispatched_at desc, d.id desc;

-- delivered_sales: sales that Google counts, or has taken and not yet decided about. Whatever of
-- their conversion was given up before is not sent again.
create view private.delivered_sales as
  select d.sale_id, d.provider_key from public.provider_dispatches d
  where d.kind = 'CONVERSION' and coalesce(d.verdict, 'CONFIRMED') in ('CONFIRMED', 'DUPLICATE');

-- Pipeline B: stages before the seal, valued by how fresh the click was. One per call and type.
create table public.marketing_signals (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  call_id uuid not null references public.calls (id),
  signal_type text not null,
  conversion_value bigint not null,                -- whole units of the currency
  currency text not null,
  occurred_at timestamptz not null,
  dispatch_status text not null default 'PENDING',
  order_id text not null generated always as ('signal_' || id::text) stored,   -- on every way
  conversion_name text,                            -- of the first hand-out: kept for all later ones
  conversion_action text,                          -- of the first hand-out to a worker, likewise
  may_have_arrived boolean not null default false, -- a hand-out ended without an answer
  attempt_count int not null default 0,
  attempt_base int not null default 0,             -- attempts that do not count: the budget counts from here
  free_waits int not null default 0,               -- how often Google asked us to wait
  claim_token uuid,
  claimed_at timestamptz,
  last_claim uuid,                                 -- the newest claim, also after it has ended
  last_claimed_at timestamptz,
  claimed_before_at timestamptz,                   -- when the claim before that was made
  next_retry_at timestamptz,
  last_error text,
  provider_error_code text,                        -- of a worker's last attempt
  provider_error_category text,
  google_sent_at timestamptz,
  transport text,                                  -- the way by which it was sent
  provider_request_id text,
  record_index int,                                -- its place in a Data Manager request
  verdict text,
  verdict_reason text,
  verdict_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint one_signal_per_call_and_type unique (call_id, signal_type),
  constraint signal_type_is_known check (signal_type in ('INTENT_CAPTURED', 'SEAL_PENDING', 'MEETING_BOOKED')),
  constraint dispatch_status_is_known check (dispatch_status in ('PENDING', 'PROCESSING', 'SENT', 'FAILED')),
  constraint processing_signals_have_a_claim check ((dispatch_status = 'PROCESSING') = (claim_token is not null and claimed_at is not null)),
  constraint claimed_signals_have_a_name check (attempt_count = 0 or conversion_name is not null),
  constraint sent_signals_have_a_time check ((dispatch_status = 'SENT') = (google_sent_at is not null)),
  constraint sent_signals_have_a_way check ((dispatch_status = 'SENT') = (transport is not null)),
  constraint signal_transport_is_known check (transport in ('script', 'data_manager', 'ads_api')),
  constraint sent_signals_have_no_error check (dispatch_status <> 'SENT'
    or num_nonnulls(last_error, provider_error_code, provider_error_category) = 0),
  constraint signal_attempts_only_grow check (attempt_count >= attempt_base and attempt_base >= 0),
  constraint signal_free_waits_are_bounded check (free_waits between 0 and 20),
  constraint signal_category_is_known check (provider_error_category in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT')),
  constraint signal_verdict_is_known
    check (verdict in ('CONFIRMED', 'REJECTED', 'DUPLICATE', 'UNKNOWN')),
  constraint signal_verdicts_have_a_time check ((verdict is null) = (verdict_at is null)
    and (verdict is null or dispatch_status = 'SENT')),
  constraint signal_text_is_bounded check (char_length(last_error) <= 1024
    and char_length(provider_error_code) <= 64 and char_length(provider_request_id) <= 256
    and char_length(verdict_reason) <= 256 and char_length(conversion_action) <= 100)
);
create index signals_of_a_request on public.marketing_signals (site_id, provider_request_id)
  where provider_request_id is not null;
create index signals_refused_by_auth on public.marketing_signals (site_id)
  where dispatch_status = 'FAILED' and provider_error_category = 'AUTH';
create index claimable_signals on public.marketing_signals (site_id, next_retry_at nulls first, created_at, id) where dispatch_status = 'PENDING';
create index waiting_signals_by_name on public.marketing_signals (site_id, conversion_name)
  where dispatch_status = 'PENDING' and conversion_name is not null;
create index processing_signals on public.marketing_signals (claimed_at) where dispatch_status = 'PROCESSING';

alter table public.sales enable row level security;
alter table public.revenue_snapshots enable row level security;
alter table public.provider_dispatches enable row level security;
alter table public.marketing_signals enable row level security;

create trigger snapshots_are_permanent before update or delete on public.revenue_snapshots
  for each row execute function private.refuse_change();
create trigger snapshots_are_never_truncated before truncate on public.revenue_snapshots
  for each statement execute function private.refuse_change();
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

-- intent_weight: the share of an average order that a stage is worth: the site's own for the stage, else its own for what the stage
-- counts as, else the default. lib/valuation has the same table; a test compares them.
create function private.intent_weight(p_site public.sites, p_stage text) returns numeric
language sql immutable set search_path = ''
as $$
  select coalesce((p_site.intent_weights ->> p_stage)::numeric,
    (p_site.intent_weights ->> case p_stage when 'meeting' then 'qualified' when 'intent' then 'pending' when 'cancelled' then 'lost' end)::numeric,
    case
      when p_stage in ('sealed', 'won', 'purchase') then 1.0
      when p_stage in ('qualified', 'real', 'meeting') then 0.20
      when p_stage in ('pending', 'open', 'intent') then 0.02
      else 0 end)
$$;

-- expected_value_cents: what a lead in a stage is worth before anybody says an amount, as its currency can express it.
create function private.expected_value_cents(p_site public.sites, p_stage text) returns bigint
language sql immutable set search_path = ''
as $$
  select case when private.currency_decimals(p_site.currency) = 0
      then round(round(p_site.default_aov_cents * w.weight) / 100) * 100
    else round(p_site.default_aov_cents * w.weight) end::bigint
  from (select private.intent_weight(p_site, p_stage) as weight) w
$$;

-- decayed_value: MizanMantik. The nearer to the click, the more a signal is worth; whole units of the currency.
create function private.decayed_value(p_base_cents bigint, p_clicked_at timestamptz, p_at timestamptz) returns bigint
language sql immutable set search_path = ''
as $$
  select round(p_base_cents / 100.0 * case when d.days <= 3 then 0.50 when d.days <= 10 then 0.25 else 0.10 end)::bigint
  from (select ceil(greatest(0, extract(epoch from p_at - p_clicked_at)) / 86400) as days) d
$$;

-- check_amount: what an amount of money must satisfy. Cents are hundredths in every currency. A yen
-- has none, so its amounts are multiples of 100.
create function private.check_amount(p_amount_cents bigint, p_currency text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
  perform private.check_currency(p_currency);
  if p_amount_cents is null or p_amount_cents <= 0 or p_amount_cents > 100000000000
     or (p_amount_cents % 100 <> 0 and private.currency_decimals(p_currency) = 0) then
    perform private.fail(400, 'INVALID_AMOUNT');
  end if;
end
$$;

-- asked_cents: the amount that a request names, or null when it names none. What is no whole number is refused, not rounded.
create function private.asked_cents(p_args jsonb) returns bigint
language plpgsql immutable set search_path = ''
as $$
begin
  if p_args -> 'amountCents' is null or jsonb_typeof(p_args -> 'amountCents') = 'null' then
    return null;
  end if;
  if jsonb_typeof(p_args -> 'amountCents') <> 'number' or (p_args -> 'amountCents')::numeric % 1 <> 0
     or (p_args -> 'amountCents')::numeric not between 1 and 100000000000 then
    perform private.fail(400, 'INVALID_AMOUNT');
  end if;
  return (p_args -> 'amountCents')::numeric::bigint;
end
$$;

-- emit_signal: a stage that the site tells Google of, once per call, valued now. Nothing without a living click and consent.
create function private.emit_signal(p_call_id uuid, p_type text, p_at timestamptz) returns void
language sql security definer set search_path = ''
as $$
  insert into public.marketing_signals (site_id, call_id, signal_type, conversion_value, currency, occurred_at, created_at, updated_at)
    select c.site_id, c.id, p_type, private.decayed_value(s.default_aov_cents, c.clicked_at, p_at), s.currency, p_at,
      private.current_moment(), private.current_moment()
    from public.calls c join public.sites s on s.id = c.site_id
    where c.id = p_call_id and s.signals_enabled and c.marketing_consent
      and coalesce(c.gclid, c.wbraid, c.gbraid) is not null and c.clicked_at > p_at - interval '90 days'
    on conflict (call_id, signal_type) do nothing
$$;

-- write_snapshot: the next line of a sale's ledger, and the sale's amount with it. Every sale that
-- is sealed or comes back passes here, so this is where Google forgets what another sale replaces.
create function private.write_snapshot(p_sale_id uuid, p_kind text, p_amount_cents bigint, p_value_source text, p_actor private.actor) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_before bigint;
begin
  select coalesce(sum(r.delta_cents), 0) into v_before from public.revenue_snapshots r where r.sale_id = p_sale_id;
  update public.sales s
    set amount_cents = p_amount_cents, value_source = p_value_source, version = s.version + 1, updated_at = private.current_moment(),
        status = case p_kind when 'CANCEL' then 'CANCELED' else 'CONFIRMED' end
    where s.id = p_sale_id returning * into v_sale;
  insert into public.revenue_snapshots (site_id, sale_id, sequence, kind, amount_cents, delta_cents, currency, value_source, actor_kind, actor_id, created_at)
    values (v_sale.site_id, p_sale_id, 1 + (select count(*) from public.revenue_snapshots r where r.sale_id = p_sale_id), p_kind, p_amount_cents,
      p_amount_cents - v_before, v_sale.currency, p_value_source, p_actor.kind, p_actor.id, private.current_moment());
  if p_kind in ('SEAL', 'RESTORE') then
    perform private.retract_after_all(v_sale, p_actor);
  end if;
  return v_sale;
end
$$;
