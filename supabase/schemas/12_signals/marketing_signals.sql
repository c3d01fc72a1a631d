-- Pipeline B: stages before the seal, valued by the age of the click. One per call and type.
create table public.marketing_signals (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  call_id uuid not null references public.calls (id),
  signal_type text not null,
  conversion_value bigint not null,                -- whole units of the currency
  currency text not null,
  occurred_at timestamptz not null,
  dispatch_status text not null default 'PENDING',
  order_id text not null generated always as ('signal_' || id::text) stored,   -- on each transport
  conversion_name text,                            -- of the first claim; kept by later ones
  conversion_action text,                          -- of a worker's first claim, likewise
  may_have_arrived boolean not null default false, -- a claim ended without an answer
  attempt_count int not null default 0,
  attempt_base int not null default 0,             -- attempts up to here do not count
  free_waits int not null default 0,               -- how often Google asked us to wait
  claim_token uuid,
  claimed_at timestamptz,
  last_claim uuid,                                 -- the newest claim, even after it ended
  last_claimed_at timestamptz,
  claimed_before_at timestamptz,                   -- the time of the claim before it
  next_retry_at timestamptz,
  last_error text,
  provider_error_code text,                        -- of a worker's last attempt
  provider_error_category text,
  google_sent_at timestamptz,
  transport text,                                  -- how it was sent
  provider_request_id text,
  record_index int,                                -- its place in a Data Manager request
  verdict text,
  verdict_reason text,
  verdict_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint one_signal_per_call_and_type unique (call_id, signal_type),
  constraint signal_type_is_known
    check (signal_type in ('INTENT_CAPTURED', 'SEAL_PENDING', 'MEETING_BOOKED')),
  constraint dispatch_status_is_known
    check (dispatch_status in ('PENDING', 'PROCESSING', 'SENT', 'FAILED')),
  constraint processing_signals_have_a_claim check (
    (dispatch_status = 'PROCESSING') = (claim_token is not null and claimed_at is not null)),
  constraint claimed_signals_have_a_name
    check (attempt_count = 0 or conversion_name is not null),
  constraint sent_signals_have_a_time
    check ((dispatch_status = 'SENT') = (google_sent_at is not null)),
  constraint sent_signals_have_a_way
    check ((dispatch_status = 'SENT') = (transport is not null)),
  constraint signal_transport_is_known
    check (transport in ('script', 'data_manager', 'ads_api')),
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
create index claimable_signals
  on public.marketing_signals (site_id, next_retry_at nulls first, created_at, id)
  where dispatch_status = 'PENDING';
create index waiting_signals_by_name on public.marketing_signals (site_id, conversion_name)
  where dispatch_status = 'PENDING' and conversion_name is not null;
create index signals_by_handout on public.marketing_signals (site_id, last_claimed_at)
  where last_claimed_at is not null;
create index processing_signals on public.marketing_signals (claimed_at)
  where dispatch_status = 'PROCESSING';
alter table public.marketing_signals enable row level security;

-- emit_signal: records a stage to be sent, once per call, valued at p_at. Does nothing without
-- consent and a click that Google still takes.
create function private.emit_signal(p_call_id uuid, p_type text, p_at timestamptz) returns void
language sql security definer set search_path = ''
as $$
  insert into public.marketing_signals (site_id, call_id, signal_type, conversion_value, currency,
      occurred_at, created_at, updated_at)
    select c.site_id, c.id, p_type,
      private.decayed_value(s.default_aov_cents, c.clicked_at, p_at), s.currency, p_at,
      private.current_moment(), private.current_moment()
    from public.calls c join public.sites s on s.id = c.site_id
    where c.id = p_call_id and s.signals_enabled and c.marketing_consent
      and coalesce(c.gclid, c.wbraid, c.gbraid) is not null
      and c.clicked_at > p_at - private.click_life()
    on conflict (call_id, signal_type) do nothing
$$;

-- silence_signals: stops signals of a lead that came to nothing (CALL_IS_JUNK) or of a stage that
-- was undone (STAGE_UNDONE); or, with p_silent false, lets those stopped for that reason be sent
-- again.
--   Moves    PENDING, and FAILED(AUTH), which a new connection would queue -> FAILED with the
--            reason; and back to PENDING.
create function private.silence_signals(
  p_call_id uuid, p_silent boolean, p_reason text, p_type text default null
) returns void
language sql security definer set search_path = ''
as $$
  update public.marketing_signals g
    set dispatch_status = case when p_silent then 'FAILED' else 'PENDING' end,
        last_error = case when p_silent then p_reason end,
        provider_error_code = null, provider_error_category = null,
        next_retry_at = null, updated_at = private.current_moment()
    where g.call_id = p_call_id and g.signal_type = coalesce(p_type, g.signal_type)
      and case when p_silent
        then g.dispatch_status = 'PENDING'
          or (g.dispatch_status = 'FAILED' and g.provider_error_category = 'AUTH')
        else g.dispatch_status = 'FAILED' and g.last_error = p_reason end
$$;

-- stage_signal: the signal that a stage of a lead emits; null for a stage without one. The first
-- contact emits its own when the lead is stored.
create function private.stage_signal(p_status text) returns text
language sql immutable set search_path = ''
as $$
  select case p_status
    when 'qualified' then 'SEAL_PENDING'
    when 'meeting' then 'MEETING_BOOKED' end
$$;

-- follow_stages: brings the signals of a call in line with a move of it.
create function private.follow_stages(
  p_call public.calls, p_to text, p_is_undo boolean
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_entered text := private.stage_signal(p_to);
  v_left text := private.stage_signal(p_call.status);
begin
  if p_to = any (private.ended_lead_states()) then
    perform private.silence_signals(p_call.id, true, 'CALL_IS_JUNK');
  elsif p_call.status = any (private.ended_lead_states()) then
    perform private.silence_signals(p_call.id, false, 'CALL_IS_JUNK');
  end if;
  if p_is_undo and v_left is not null then
    perform private.silence_signals(p_call.id, true, 'STAGE_UNDONE', v_left);
  elsif v_entered is not null and not p_is_undo then
    perform private.silence_signals(p_call.id, false, 'STAGE_UNDONE', v_entered);
    perform private.emit_signal(p_call.id, v_entered, private.current_moment());
  end if;
end
$$;
