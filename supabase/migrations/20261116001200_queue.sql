-- The queue: what Google has to be told. Every row belongs to a sealed sale; every change of a row is written down beside it.

create table public.offline_conversion_queue (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null references public.sales (id),
  call_id uuid,
  provider_key text not null default 'google_ads',
  kind text not null default 'CONVERSION',
  status text not null default 'QUEUED',
  order_id text not null,
  snapshot_id uuid not null,                       -- what the row says now; a claim takes the newest
  value_cents bigint not null,
  currency text not null,
  conversion_time timestamptz not null,
  conversion_name text,                            -- of the first hand-out, for good
  conversion_action text,                          -- Google's id of it, from the first API hand-out on
  click_expires_at timestamptz not null,           -- 90 days for a click, 54 for an adjustment
  not_before timestamptz not null,                 -- its own column: a retry clears next_retry_at and must still not send too early
  next_retry_at timestamptz,
  attempt_count int not null default 0,            -- how often it was handed out, ever
  attempt_base int not null default 0,             -- attempts before the operator's last retry: the budget counts from here
  free_waits int not null default 0,               -- attempts given back, because Google asked to wait
  claimed_at timestamptz,
  claim_token uuid,
  claims uuid[] not null default '{}',             -- the row's last 50 claims, newest first
  identifiers_hash text,                           -- over dispatch_identifiers, of the last claim
  click_kind text,                                 -- by which kind of click id it left, of the last claim
  handed_snapshot_id uuid,                         -- what the last claim handed out: a success that comes late says this, whatever the row says by then
  handed_value_cents bigint,
  handed_values_differ boolean not null default false,   -- claims handed out different values, and nobody can say which of them Google kept
  handed_via text,                                 -- the API of the last claim; null: a script
  handed_vias_differ boolean not null default false,   -- claims gave it to both APIs, which do not keep to each other's order
  may_have_arrived boolean not null default false, -- a hand-out ended without an answer, of this row or of one before it
  last_error text,
  provider_error_code text,
  provider_error_category text,
  attempt_error text,                              -- of the last real attempt: a deferral leaves it
  attempt_error_code text,
  attempt_error_category text,
  by_hand_reason text,                             -- an adjustment that no API makes: a person does
  provider_request_id text,
  uploaded_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint kind_is_known check (kind in ('CONVERSION', 'RESTATE', 'RETRACT')),
  constraint queue_status_is_known check (status in ('QUEUED', 'RETRY', 'PROCESSING', 'COMPLETED', 'FAILED')),
  constraint processing_rows_have_a_claim check ((status = 'PROCESSING') = (claimed_at is not null and claim_token is not null)),
  constraint completed_rows_were_uploaded check ((status = 'COMPLETED') = (uploaded_at is not null)),
  constraint completed_rows_have_no_error check (status <> 'COMPLETED' or (provider_error_code is null and provider_error_category is null and last_error is null)),
  constraint failed_rows_say_why check (status <> 'FAILED' or (provider_error_code is not null and provider_error_category is not null)),
  constraint error_category_is_known check (provider_error_category in ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT', 'DETERMINISTIC_SKIP')),
  constraint attempts_only_grow check (attempt_count >= attempt_base and attempt_base >= 0),
  constraint handed_out_rows_have_a_name
    check (conversion_name is not null or (kind = 'CONVERSION' and attempt_count = 0)),
  constraint values_are_sendable check (case kind when 'RETRACT' then value_cents = 0 else value_cents > 0 end),
  constraint errors_are_bounded check (char_length(last_error) <= 1024 and char_length(provider_error_code) <= 64 and char_length(provider_request_id) <= 256),
  constraint attempt_errors_are_bounded
    check (char_length(attempt_error) <= 1024 and char_length(attempt_error_code) <= 64),
  constraint attempt_category_is_known check (attempt_error_category in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT', 'DETERMINISTIC_SKIP')),
  constraint free_waits_are_bounded check (free_waits between 0 and 20),
  constraint only_adjustments_are_made_by_hand check (by_hand_reason is null
    or (kind <> 'CONVERSION' and by_hand_reason in
      ('NO_ADS_API_ACCESS', 'SENT_BY_SCRIPT', 'WBRAID_ONLY', 'NO_VERDICT', 'OTHER_ACCOUNT')))
) with (
  -- A row is updated three or four times within minutes and then never again: room on its page keeps it there, and vacuum must come
  -- by count, not by share of a table that is mostly history.
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.02
);
-- Most indexes hold only the rows that are open or only those that are closed: an update writes into every index that takes the row, so a claim
-- must not pay for the filters of a screen.
-- The claim's ORDER BY, exactly: a claim reads its rows off this index whatever the backlog.
create index idx_offline_conversion_queue_eligible_scan
  on public.offline_conversion_queue (site_id, provider_key, next_retry_at nulls first, created_at, id) where status in ('QUEUED', 'RETRY');
create index idx_offline_conversion_queue_processing_claimed_at on public.offline_conversion_queue (claimed_at) where status = 'PROCESSING';
create index idx_offline_conversion_queue_uploaded_at on public.offline_conversion_queue (site_id, provider_key, uploaded_at) where uploaded_at is not null;
create index transient_failures_to_retry on public.offline_conversion_queue (next_retry_at) where status = 'FAILED' and next_retry_at is not null;
create index waiting_rows_by_click_expiry on public.offline_conversion_queue (click_expires_at) where status in ('QUEUED', 'RETRY');
create index waiting_rows_that_were_tried on public.offline_conversion_queue (updated_at) where status in ('QUEUED', 'RETRY') and attempt_count > attempt_base;
create index queue_rows_of_a_sale on public.offline_conversion_queue (sale_id, kind);
create index waiting_rows_by_name on public.offline_conversion_queue (site_id, conversion_name)
  where status in ('QUEUED', 'RETRY') and conversion_name is not null
    and conversion_action is null and kind = 'CONVERSION';
create unique index one_open_row_per_sale_and_kind on public.offline_conversion_queue (sale_id, provider_key, kind)
  where status in ('QUEUED', 'RETRY', 'PROCESSING');

create table public.queue_transitions (
  id bigint generated always as identity,
  queue_id uuid not null,
  site_id uuid not null,
  from_status text,
  to_status text not null,
  reason text not null,
  actor_kind text not null,
  actor_id uuid,
  attempt_count int not null,
  provider_error_code text,
  created_at timestamptz not null,
  primary key (queue_id, id)
);
alter table public.offline_conversion_queue enable row level security;
alter table public.queue_transitions enable row level security;
create trigger transitions_are_permanent before update or delete on public.queue_transitions
  for each row execute function private.refuse_change();
create trigger transitions_are_never_truncated before truncate on public.queue_transitions
  for each statement execute function private.refuse_change();
create trigger queue_rows_are_never_deleted before delete on public.offline_conversion_queue
  for each row execute function private.refuse_change();
create trigger queue_is_never_truncated before truncate on public.offline_conversion_queue
  for each statement execute function private.refuse_change();
-- Whatever changes, one order id is one conversion at Google: one name, one time, one currency.
create trigger rows_stay_the_same_conversion
  before update of site_id, sale_id, kind, order_id, currency, conversion_time
  on public.offline_conversion_queue for each row execute function private.refuse_change();
create trigger rows_keep_their_name
  before update of conversion_name on public.offline_conversion_queue for each row
  when (old.conversion_name is not null
    and old.conversion_name is distinct from new.conversion_name)
  execute function private.refuse_change();

-- act: who changes queue rows in this transaction from here on, and why. The ledger below reads it.
create function private.act(p_actor private.actor, p_reason text) returns void
language plpgsql set search_path = ''
as $$
begin
  perform set_config('opsmantik.actor_kind', p_actor.kind, true), set_config('opsmantik.actor_id', coalesce(p_actor.id::text, ''), true),
    set_config('opsmantik.reason', p_reason, true);
end
$$;

create function private.record_queue_transitions() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_reason text := coalesce(nullif(current_setting('opsmantik.reason', true), ''), 'UNSTATED');
  v_kind text := coalesce(nullif(current_setting('opsmantik.actor_kind', true), ''), 'system');
  v_actor uuid := nullif(current_setting('opsmantik.actor_id', true), '')::uuid;
begin
  if tg_op = 'INSERT' then
    insert into public.queue_transitions (queue_id, site_id, from_status, to_status, reason, actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, null, n.status, v_reason, v_kind, v_actor, n.attempt_count, n.provider_error_code, n.updated_at from after_rows n;
  else
    insert into public.queue_transitions (queue_id, site_id, from_status, to_status, reason, actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, o.status, n.status, v_reason, v_kind, v_actor, n.attempt_count, n.provider_error_code, n.updated_at
      from after_rows n join before_rows o on o.id = n.id;
  end if;
  return null;
end
$$;
-- Once per statement, so that a batch of 500 costs one insert.
create trigger new_rows_are_recorded after insert on public.offline_conversion_queue
  referencing new table as after_rows for each statement execute function private.record_queue_transitions();
create trigger changes_are_recorded after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows for each statement execute function private.record_queue_transitions();

-- Nothing unsealed goes to Google, whoever writes: a conversion needs a sealed sale, a retraction a sale that Google has.
create function private.require_sealed_sale() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (select from public.sales s where s.id = new.sale_id and s.site_id = new.site_id and s.delivery_block is null
       and case new.kind when 'RETRACT' then exists (
             select from private.standing_dispatches d where d.sale_id = s.id)
           else s.seal_status = 'sealed' end) then
    perform private.fail(409, 'SALE_NOT_SEALED');
  end if;
  return new;
end
$$;
create trigger only_sealed_sales_are_queued before insert on public.offline_conversion_queue
  for each row execute function private.require_sealed_sale();

-- masked_click: enough of a click id to tell two apart, too little to use it.
create function private.masked_click(p_click text) returns text
language sql immutable set search_path = ''
as $$ select case when char_length(p_click) >= 16 then left(p_click, 6) || '…' || right(p_click, 4) when p_click is not null then '…' end $$;

-- newest_snapshot: what a sale is worth now, as it would be sent.
create function private.newest_snapshot(p_sale_id uuid) returns public.revenue_snapshots
language sql stable security definer set search_path = ''
as $$ select r.* from public.revenue_snapshots r where r.sale_id = p_sale_id order by r.sequence desc limit 1 $$;

-- adjustments_end: how long after a conversion Google takes a correction or a retraction of it.
create function private.adjustments_end() returns interval
language sql immutable set search_path = ''
as $$ select interval '54 days' $$;

-- enqueue: a row for what Google has to be told of a sale. What was told before keeps its name, and
-- the action it was told under: elsewhere the order id would be a new conversion. A conversion that
-- is queued once more also remembers that an earlier hand-out of it may have arrived, and with what.
--   Takes    p_not_before: when Google asked to wait longer than the settings say.
create function private.enqueue(
  p_sale public.sales, p_kind text, p_by_hand_reason text default null,
  p_not_before timestamptz default null
) returns void
language sql security definer set search_path = ''
as $$
  insert into public.offline_conversion_queue (site_id, sale_id, call_id, kind, order_id, snapshot_id, value_cents, currency, conversion_time,
      conversion_name, conversion_action, may_have_arrived, handed_value_cents,
      handed_values_differ, handed_via, handed_vias_differ, click_expires_at, not_before,
      by_hand_reason, created_at, updated_at)
    select p_sale.site_id, p_sale.id, p_sale.call_id, p_kind, p_sale.order_id, r.id, r.amount_cents, r.currency, p_sale.occurred_at,
      (select o.conversion_name from public.offline_conversion_queue o
       where o.sale_id = p_sale.id and o.conversion_name is not null
       order by o.created_at, o.id limit 1),
      case when d.id is not null then d.conversion_action else o.conversion_action end,
      o.id is not null, o.handed_value_cents,
      coalesce(o.handed_values_differ, false), o.handed_via, coalesce(o.handed_vias_differ, false),
      case when p_kind = 'CONVERSION'   -- the sale's time where the click had to be forgotten
        then coalesce(p_sale.clicked_at, p_sale.occurred_at) + interval '90 days'
        else p_sale.occurred_at + private.adjustments_end() end,
      greatest(n.now + make_interval(mins => s.send_delay_minutes), p_sale.occurred_at, p_not_before,
        case p_kind when 'CONVERSION' then p_sale.clicked_at + make_interval(hours => s.click_min_age_hours) end),
      p_by_hand_reason, n.now, n.now
    from public.sites s
      cross join private.newest_snapshot(p_sale.id) r
      cross join (select private.current_moment() as now) n
      left join private.standing_dispatches d
        on d.sale_id = p_sale.id and d.provider_key = 'google_ads'
      left join lateral (
        select x.* from public.offline_conversion_queue x
        where p_kind = 'CONVERSION' and x.sale_id = p_sale.id and x.kind = 'CONVERSION'
          and x.may_have_arrived
        order by x.created_at desc, x.id desc limit 1) o on true
    where s.id = p_sale.site_id
    on conflict do nothing   -- a row of this kind went back to waiting at this moment: its claim takes the newest snapshot
$$;

-- close_waiting: rows of a sale that need not be sent any more, with what a new connection would
-- bring back. What is in flight is left: its answer will be compared.
create function private.close_waiting(p_sale_id uuid, p_kinds text[], p_code text, p_words text) returns void
language sql security definer set search_path = ''
as $$
  update public.offline_conversion_queue q
    set status = 'FAILED', next_retry_at = null, last_error = p_words, provider_error_code = p_code,
        provider_error_category =
          case p_code when 'ADJUSTMENT_EXPIRED' then 'VALIDATION' else 'DETERMINISTIC_SKIP' end,
        updated_at = private.current_moment()
    where q.sale_id = p_sale_id and q.kind = any (p_kinds)
      and (q.status in ('QUEUED', 'RETRY') or (q.status = 'FAILED'
        and (q.next_retry_at is not null or q.provider_error_category = 'AUTH')))
$$;

create function private.adjustment_expired_words() returns text
language sql immutable set search_path = ''
as $$
  select 'Google takes no correction 54 days after the sale; it keeps the last value it was sent.'
$$;

-- may_tell: whether Google may be told a thing of this kind about a sale. A conversion needs the
-- click, which is forgotten when consent is withdrawn; what Google has can be adjusted without it.
-- No search_path of its own: the planner then writes it into the query, which asks for many rows.
create function private.may_tell(p_sale public.sales, p_kind text) returns boolean
language sql immutable
as $$
  select p_sale.delivery_block is null and (p_kind <> 'CONVERSION'
    or coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null)
$$;

-- assume_arrival: a conversion will not be sent again, and nobody answered for one of its hand-outs,
-- so Google may have it, also when it rejected another one of them. A dispatch with the verdict
-- UNKNOWN says so: it can then be adjusted and taken back. What is in flight is left, its answer is
-- still to come. Called with the sale locked.
--   Returns  whether one was written.
create function private.assume_arrival(p_sale_id uuid) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  with assumed as (
    update public.offline_conversion_queue q set may_have_arrived = false, updated_at = v_now
      where q.sale_id = p_sale_id and q.kind = 'CONVERSION' and q.may_have_arrived
        and (q.status in ('QUEUED', 'RETRY', 'FAILED') or q.status = 'COMPLETED'
          and not exists (select from public.provider_dispatches d where d.sale_id = p_sale_id
            and d.queue_id = q.id and d.verdict is distinct from 'REJECTED'))
      returning q.*)
  insert into public.provider_dispatches (site_id, queue_id, sale_id, snapshot_id, kind,
      provider_key, transport, order_id, conversion_name, conversion_action, conversion_time,
      value_cents, currency, identifiers_hash, click_kind, is_certain, dispatched_at, verdict,
      verdict_reason, verdict_at)
    select a.site_id, a.id, a.sale_id, a.handed_snapshot_id, a.kind, a.provider_key,
      coalesce(a.handed_via, 'script'), a.order_id, a.conversion_name, a.conversion_action,
      a.conversion_time, a.handed_value_cents, a.currency, a.identifiers_hash, a.click_kind,
      not exists (select from assumed o where o.handed_values_differ
        or o.handed_value_cents <> a.handed_value_cents),
      v_now, 'UNKNOWN', 'NEVER_ANSWERED', v_now
    from assumed a where a.handed_snapshot_id is not null
    order by a.created_at desc, a.id desc limit 1;   -- one: they have one order id and action
  return found;
end
$$;

-- follow_ledger: bring the queue in line with what a sale is worth now and what Google has of it.
-- Called, with the sale's row locked, after every change of the ledger, every success and every
-- rejection, so that what Google has plus what is queued always equals the ledger. Data Manager
-- takes a while: what it accepted first can overwrite what the Ads API was told since. After a
-- switch between them, a value that may have gone both ways is corrected a day later.
--   Takes    p_again: a kind that is queued although Google rejected this very value of it, or never
--            said what became of it; and p_not_before, how long that waits.
create function private.follow_ledger(
  p_sale_id uuid, p_again text default null, p_not_before timestamptz default null
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_told private.standing_dispatches;
  v_newest public.revenue_snapshots := private.newest_snapshot(p_sale_id);
  v_needed text;
  v_is_again boolean;
  v_is_resendable boolean;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id;
  if v_sale.delivery_block is not null then   -- an in-flight row returned after consent was withdrawn
    perform private.close_waiting(p_sale_id, '{CONVERSION,RESTATE,RETRACT}', v_sale.delivery_block, 'The visitor withdrew consent before Google was told.');
    perform private.forget_identifiers(array[p_sale_id]);
    if not private.assume_arrival(p_sale_id) then
      return;
    end if;
    -- As with a success that comes late: Google must be told when the sale changes.
    update public.sales s set delivery_block = null, updated_at = v_now
      where s.id = p_sale_id returning s.* into v_sale;
  end if;
  select d.* into v_told from private.standing_dispatches d
    where d.sale_id = p_sale_id and d.provider_key = 'google_ads';   -- the platform that rows are for
  if v_told.id is null and v_sale.status = 'CANCELED' and private.assume_arrival(p_sale_id) then
    select d.* into v_told from private.standing_dispatches d
      where d.sale_id = p_sale_id and d.provider_key = 'google_ads';
  end if;
  -- One that only may be there is sent again with its order id, if it still can be: by itself when
  -- nobody answered, else when a person asks for it.
  v_is_again := v_told.verdict is not distinct from 'UNKNOWN' and (v_told.kind = p_again
    or exists (select from public.offline_conversion_queue q where q.sale_id = p_sale_id
      and q.kind = v_told.kind and q.status in ('QUEUED', 'RETRY', 'PROCESSING')
      and q.created_at >= v_told.dispatched_at));
  v_is_resendable := v_told.id is null
    or (coalesce(v_sale.gclid, v_sale.wbraid, v_sale.gbraid) is not null
      and v_told.verdict is not distinct from 'UNKNOWN'
      and (v_told.verdict_reason is not distinct from 'NEVER_ANSWERED'
        or v_is_again and v_told.kind = 'CONVERSION'));
  v_needed := case
    when v_is_resendable and v_sale.status = 'CONFIRMED' then 'CONVERSION'
    when v_told.id is null or v_told.kind = 'RETRACT' then null
    when v_sale.status = 'CANCELED' then 'RETRACT'
    when v_told.value_cents <> v_sale.amount_cents or not v_told.is_certain
      or v_is_again and v_told.kind = 'RESTATE'
      -- One that was handed out since and never completed may have arrived all the same.
      or exists (select from public.offline_conversion_queue q where q.sale_id = p_sale_id and q.kind = 'RESTATE' and q.status <> 'COMPLETED'
        and q.created_at >= v_told.dispatched_at and (q.handed_value_cents <> v_sale.amount_cents or q.handed_values_differ)) then 'RESTATE' end;

  if v_needed is distinct from 'CONVERSION' then
    perform private.close_waiting(p_sale_id, '{CONVERSION}',
      case when v_sale.status = 'CANCELED' then 'SALE_CANCELLED'
        when v_told.verdict_reason = 'NEVER_ANSWERED' then 'NO_CONSENT' else 'SUPERSEDED' end,
      'The sale changed before Google was told.');
  end if;
  perform private.close_waiting(p_sale_id, array_remove('{RESTATE,RETRACT}', v_needed), 'SUPERSEDED',
    case when v_told.id is null then 'Google rejected the conversion: there is nothing to adjust.'
      else 'A later change of the sale made this one needless.' end);
  if v_needed is null then
    return;
  end if;
  if v_needed <> 'CONVERSION' and v_sale.occurred_at <= v_now - private.adjustments_end() then
    perform private.close_waiting(p_sale_id, array[v_needed], 'ADJUSTMENT_EXPIRED',
      private.adjustment_expired_words());
    return;
  end if;
  update public.offline_conversion_queue q
    set snapshot_id = v_newest.id, value_cents = v_newest.amount_cents, updated_at = v_now
    where q.sale_id = p_sale_id and q.kind = v_needed and q.status in ('QUEUED', 'RETRY') and q.snapshot_id <> v_newest.id;
  if v_needed = 'CONVERSION' then
    -- The row of a sale that was cancelled and sealed again goes on; it is the same conversion with the same order id.
    update public.offline_conversion_queue q
      set status = 'QUEUED', snapshot_id = v_newest.id, value_cents = v_newest.amount_cents, next_retry_at = null, attempt_base = q.attempt_count,
          provider_error_code = null, provider_error_category = null, last_error = null, updated_at = v_now,
          not_before = greatest(q.not_before, v_now + (select make_interval(mins => s.send_delay_minutes) from public.sites s where s.id = q.site_id))
      where q.id = (select x.id from public.offline_conversion_queue x
        where x.sale_id = p_sale_id and x.kind = 'CONVERSION' and x.status = 'FAILED'
          and x.provider_error_code = 'SALE_CANCELLED' order by x.created_at desc, x.id desc limit 1);
  end if;
  if v_needed = p_again
     -- The sale was cancelled when Google rejected it for now, and came back.
     or (v_needed = 'CONVERSION' and exists (select from public.provider_dispatches d
           where d.sale_id = p_sale_id and d.kind = 'CONVERSION' and d.verdict = 'REJECTED'
           having count(*) < 5 and (array_agg(d.is_retryable
             order by d.dispatched_at desc, d.id desc))[1])
         and not exists (select from public.offline_conversion_queue q where q.sale_id = p_sale_id
           and q.kind = 'CONVERSION' and q.status <> 'COMPLETED'))
     or not exists (select from public.offline_conversion_queue q where q.sale_id = p_sale_id and q.kind = v_needed
                 and (q.status in ('QUEUED', 'RETRY', 'PROCESSING') or v_needed = 'CONVERSION'
                   -- One that failed with this very value is for an operator to try again: by itself it would fail for ever.
                   or (q.status = 'FAILED' and q.snapshot_id = v_newest.id and q.provider_error_code <> 'SUPERSEDED')
                   -- So is one that Google rejected.
                   or (q.snapshot_id = v_newest.id and exists (
                     select from public.provider_dispatches d where d.sale_id = p_sale_id
                       and d.queue_id = q.id and d.verdict = 'REJECTED')))) then
    perform private.enqueue(v_sale, v_needed, case when v_needed = 'CONVERSION' then null
        when exists (select from public.provider_dispatches d
          where d.sale_id = p_sale_id and d.kind = 'CONVERSION' and d.click_kind = 'wbraid'
            and d.verdict is distinct from 'REJECTED') then 'WBRAID_ONLY'
        when private.is_elsewhere(v_sale.site_id, v_told.conversion_action)
          then 'OTHER_ACCOUNT' end,
      greatest(case when v_needed = p_again then p_not_before end, case when v_needed = 'RESTATE' then (
        select v_now + interval '1 day' from public.offline_conversion_queue q
        where q.id = v_told.queue_id and q.handed_vias_differ and q.handed_values_differ) end));
  end if;
end
$$;

-- get_pending_conversions_for_worker: what waits to be sent for a site. Sealed sales only; reads, changes nothing.
--   Returns  [{id, kind, orderId, valueCents, currency, conversionTime, attemptCount}], in the order in which it would be claimed.
--   Callers  service role only.
create function public.get_pending_conversions_for_worker(p_site_id uuid, p_limit int default 100) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'kind', t.kind, 'orderId', t.order_id, 'valueCents', t.value_cents, 'currency', t.currency,
           'conversionTime', t.conversion_time, 'attemptCount', t.attempt_count) order by t.next_retry_at nulls first, t.created_at, t.id), '[]')
  from (select q.* from public.offline_conversion_queue q join public.sales s on s.id = q.sale_id
        where q.site_id = p_site_id and q.provider_key = 'google_ads' and q.status in ('QUEUED', 'RETRY')
          and (s.seal_status = 'sealed' or q.kind = 'RETRACT')
          and q.not_before <= private.current_moment() and (q.next_retry_at is null or q.next_retry_at <= private.current_moment())
          and q.click_expires_at > private.current_moment()
        order by q.next_retry_at nulls first, q.created_at, q.id limit least(greatest(p_limit, 1), 1000)) t
$$;
grant execute on function public.get_pending_conversions_for_worker(uuid, int) to opsmantik_app, service_role;
