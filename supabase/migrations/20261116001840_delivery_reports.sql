-- Reports: why a sale is not counted at Google, and what we sent against what Google says.

-- why_not_counted: the first broken link between the click and Google's verdict.
--   Returns  {saleId, link, code, at, facts}. A link and its codes, in the order of the chain:
--            CANCELLED (the code says what became of it at Google), CLICK (NO_CLICK_ID, NO_MATCH),
--            CONSENT, CLICK_AGE, ARCHIVED (the site; nothing waiting is sent), SEAL (a draft),
--            HELD (an earlier sale of the lead must be taken back first), WAITS (UNDO_WINDOW, CLICK_TOO_YOUNG, GOOGLE_ASKED), CONNECTION, BLOCKED,
--            ACTION (MISSING, NAME_DIFFERS, OTHER_ACCOUNT, or why Google refuses it), WAITS (QUOTA), CIRCUIT,
--            WAITS (VAULT_KEY_MISSING, VAULT_KEY_MISMATCH, CREDENTIALS_UNREADABLE),
--            RETRIES (what the last attempt met), WAITS (CONCURRENCY_LIMIT, SCRIPT_RUN, DUE),
--            IN_FLIGHT, FAILED, REJECTED,
--            VERDICT (not yet), UNKNOWN, NO_VERDICT (the transport, which gives none), DUPLICATE,
--            COUNTED.
--            `at` is when it happened, or when it goes on. facts.archivedAt, of an archived site:
--            nothing can be changed there until an owner restores it (canRestore: the caller may).
--   Refuses  404 for a sale of another site.
--   Callers  viewers.
create function public.why_not_counted(p_public_id text, p_sale_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_sale public.sales;
  v_sent public.provider_dispatches;
  v_row public.offline_conversion_queue;
  v_why jsonb;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id and s.site_id = v_site.id;
  if v_sale.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  -- The conversion that Google has; without one, the newest that it rejected.
  select d.* into v_sent from public.provider_dispatches d
    where d.sale_id = v_sale.id and d.provider_key = 'google_ads' and d.kind = 'CONVERSION'
    order by d.verdict is distinct from 'REJECTED' desc, d.dispatched_at desc, d.id desc limit 1;
  select q.* into v_row from public.offline_conversion_queue q
    where q.sale_id = v_sale.id and q.provider_key = 'google_ads' and q.kind = 'CONVERSION'
    order by q.created_at desc, q.id desc limit 1;
  v_why := case
    when v_sale.status = 'CANCELED' then private.why_cancelled(v_site, v_sale)
    when v_sent.verdict is distinct from 'REJECTED' and v_sent.id is not null
        and not (v_sent.verdict is not distinct from 'UNKNOWN'   -- it is sent again
          and v_row.status in ('QUEUED', 'RETRY', 'PROCESSING'))
      then private.why_sent(v_sent)
    when v_sale.delivery_block is not null
      then private.why_blocked(v_sale.delivery_block, v_sale.clicked_at)
    when v_sale.status = 'DRAFT' and v_site.archived_at is not null
      then private.link('ARCHIVED', null, v_site.archived_at)
    when v_sale.status = 'DRAFT' then private.link('SEAL', 'DRAFT', v_sale.created_at)
    when v_row.status in ('QUEUED', 'RETRY') then private.why_waiting(v_site, v_sale, v_row)
    when v_row.status = 'PROCESSING' then private.link('IN_FLIGHT',
      case when v_row.claimed_at < private.current_moment() - private.stuck_after()
        then 'STUCK' end,
      v_row.claimed_at)
    when v_row.status = 'FAILED' then private.why_failed(v_site, v_sale, v_row)
    when v_sent.id is not null
      then private.link('REJECTED', v_sent.verdict_reason, v_sent.verdict_at)
    else private.link('FAILED', 'UNKNOWN', v_sale.updated_at) end;
  return jsonb_build_object('saleId', v_sale.id) || v_why || jsonb_build_object('facts',
    jsonb_strip_nulls(jsonb_build_object('amountCents', v_sale.amount_cents,
      'currency', v_sale.currency, 'orderId', v_sale.order_id, 'rowId', v_row.id,
      'archivedAt', v_site.archived_at,
      'canRestore', case when v_site.archived_at is not null
        then public.has_site_role(v_site.id, 'owner') end,
      'isSealed', v_sale.status = 'CONFIRMED',
      'isOwner', public.has_site_role(v_site.id, 'owner'),
      'syncMethod', v_site.oci_sync_method, 'transport', v_sent.transport,
      'sentAt', v_sent.dispatched_at, 'requestId', v_sent.provider_request_id,
      'conversionName', coalesce(v_sent.conversion_name, v_row.conversion_name,
        private.conversion_name(v_site, 'seal')),
      'atGoogleCents', private.standing_json(v_sale.id) -> 'valueCents',
      'clickMinAgeHours', v_site.click_min_age_hours, 'error', v_row.attempt_error,
      'attemptCount', v_row.attempt_count)) || (v_why -> 'facts'));
end
$$;

create function private.link(
  p_link text, p_code text, p_at timestamptz, p_facts jsonb default '{}'
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object('link', p_link, 'code', p_code, 'at', p_at, 'facts', p_facts)
$$;

-- why_blocked: for a reason why a sale is never sent.
create function private.why_blocked(p_block text, p_clicked_at timestamptz) returns jsonb
language sql immutable set search_path = ''
as $$
  select case p_block
    when 'NO_CONSENT' then private.link('CONSENT', p_block, null)
    when 'CLICK_EXPIRED'
      then private.link('CLICK_AGE', p_block, p_clicked_at + interval '90 days')
    else private.link('CLICK', p_block, null) end
$$;

-- why_cancelled: what became at Google of a sale that was cancelled.
create function private.why_cancelled(p_site public.sites, p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.link('CANCELLED', case
      when d.id is null and exists (select from public.offline_conversion_queue q
        where q.sale_id = p_sale.id and q.status = 'PROCESSING') then 'IN_FLIGHT'
      when d.id is null then 'NEVER_SENT'
      when d.kind = 'RETRACT' then 'RETRACTED'
      when r.status in ('QUEUED', 'RETRY')
        and (p_site.oci_sync_method = 'script' or r.by_hand_reason is not null) then 'BY_HAND'
      when r.status in ('QUEUED', 'RETRY', 'PROCESSING') then 'RETRACTING'
      when r.id is null or r.provider_error_code = 'ADJUSTMENT_EXPIRED'
        then 'TOO_LATE'
      else 'RETRACT_FAILED' end,
    coalesce(case when d.kind = 'RETRACT' then d.dispatched_at end, p_sale.updated_at),
    jsonb_strip_nulls(jsonb_build_object('retractionId', r.id,
      'retractionCode', r.provider_error_code)))
  from (select 1) one
    left join private.standing_dispatches d
      on d.sale_id = p_sale.id and d.provider_key = 'google_ads'
    left join lateral (
      select q.* from public.offline_conversion_queue q
      where q.sale_id = p_sale.id and q.kind = 'RETRACT'
      order by q.created_at desc, q.id desc limit 1) r on true
$$;

-- why_sent: what Google says of a conversion that it did not reject.
create function private.why_sent(p_sent public.provider_dispatches) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sent.verdict = 'CONFIRMED' then private.link('COUNTED', null, p_sent.verdict_at)
    when p_sent.verdict = 'DUPLICATE' then private.link('DUPLICATE', null, p_sent.verdict_at)
    when p_sent.verdict = 'UNKNOWN'
      then private.link('UNKNOWN', p_sent.verdict_reason, p_sent.verdict_at)
    when p_sent.transport = 'data_manager' then private.link('VERDICT', 'NO_VERDICT_YET',
      private.next_verdict_check(p_sent))
    else private.link('NO_VERDICT', p_sent.transport, p_sent.dispatched_at) end
$$;

-- why_failed: for a row that failed. One that the credentials failed returns with the connection.
create function private.why_failed(
  p_site public.sites, p_sale public.sales, p_row public.offline_conversion_queue
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_row.provider_error_code in ('CLICK_EXPIRED', 'NO_CONSENT')
      then private.why_blocked(p_row.provider_error_code, p_sale.clicked_at)
    when p_row.provider_error_category = 'AUTH' and h.blocked_at is not null
      then private.link('BLOCKED', h.blocked_code, h.blocked_at)
    -- Tries used up say little; what the last of them met says more.
    else private.link('FAILED', coalesce(case when p_row.provider_error_code = 'MAX_ATTEMPTS'
      then p_row.attempt_error_code end, p_row.provider_error_code), p_row.updated_at) end
  from (select 1) one left join public.provider_health_state h
    on h.site_id = p_site.id and h.provider_key = p_row.provider_key
      and p_site.oci_sync_method = 'api'
$$;

-- why_waiting: for a row that waits to be sent.
create function private.why_waiting(
  p_site public.sites, p_sale public.sales, p_row public.offline_conversion_queue
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_held record;
begin
  select h.by_sale_id, h.by_row_id into v_held from private.held_sales h
    where h.sale_id = p_sale.id and h.provider_key = p_row.provider_key
    order by h.by_row_id desc limit 1;
  return case
    when p_site.archived_at is not null and p_row.click_expires_at > v_now
      then private.link('ARCHIVED', null, p_site.archived_at)
    when v_held.by_row_id is not null then private.link('HELD', 'RETRACTION', null,
      jsonb_build_object('heldBy',
        jsonb_build_object('saleId', v_held.by_sale_id, 'rowId', v_held.by_row_id)))
    when p_row.click_expires_at <= v_now
      then private.why_blocked('CLICK_EXPIRED', p_sale.clicked_at)
    when p_row.not_before > v_now then private.link('WAITS', case
      when p_sale.clicked_at + make_interval(hours => p_site.click_min_age_hours)
        >= p_row.not_before then 'CLICK_TOO_YOUNG'
      when exists (select from public.provider_dispatches d
        where d.sale_id = p_sale.id and d.verdict = 'REJECTED') then 'GOOGLE_ASKED'
      else 'UNDO_WINDOW' end, p_row.not_before)
    when p_site.oci_sync_method = 'script' then
      coalesce(private.why_again(p_row), private.link('WAITS', 'SCRIPT_RUN', p_row.not_before))
    else coalesce(private.why_no_way(p_site, p_row), private.why_again(p_row),
      private.link('WAITS', 'DUE', p_row.not_before)) end;
end
$$;

-- why_no_way: what keeps anything of an API site from being sent; null when nothing does.
create function private.why_no_way(
  p_site public.sites, p_row public.offline_conversion_queue
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when c.site_id is null then private.link('CONNECTION', 'NOT_CONNECTED', null)
    when h.blocked_at is not null then private.link('BLOCKED', h.blocked_code, h.blocked_at)
    when a.code is not null then private.link('ACTION', a.code, a.at)
    when h.quota_until > private.current_moment() then private.link('WAITS', 'QUOTA',
      greatest(h.quota_until, p_row.next_retry_at))
    when h.state <> 'CLOSED' then private.link('CIRCUIT', h.state, h.next_probe_at) end
  from private.action_obstacle(p_row) a
    left join public.provider_credentials c
      on c.site_id = p_site.id and c.provider_key = p_row.provider_key
    left join public.provider_health_state h
      on h.site_id = p_site.id and h.provider_key = p_row.provider_key
$$;

-- why_again: for a row that was tried, or let wait, and is tried again later; null for others.
create function private.why_again(p_row public.offline_conversion_queue) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_row.status <> 'RETRY' then null
    -- Nothing is sent until somebody fixes it, whatever the last attempt met.
    when p_row.provider_error_code in
        ('VAULT_KEY_MISSING', 'VAULT_KEY_MISMATCH', 'CREDENTIALS_UNREADABLE')
      then private.link('WAITS', p_row.provider_error_code, p_row.next_retry_at)
    when p_row.attempt_error is not null or p_row.attempt_error_code is not null
      then private.link('RETRIES', p_row.attempt_error_code, p_row.next_retry_at)
    when p_row.provider_error_code is not null
      then private.link('WAITS', p_row.provider_error_code, p_row.next_retry_at) end
$$;

-- delivery_days: what we sent, day by day of the site's time zone, against what Google says of it.
--   Takes    p_from and p_to, both included; without them the last 30 days. At most 92.
--   Reads    the dispatches of these days, by dispatches_of_a_site.
--   Returns  {siteId, timezone, from, to, days: [{day, currency, sent: {script, data_manager,
--            ads_api, by_hand}, confirmed, duplicate, rejected, unknown, waiting (Google is asked
--            again), noVerdict (the transport gives none), sentCents, confirmedCents (duplicates
--            included: Google has them), rejectedCents, restated, retracted,
--            adjustmentsRejected}]}, a line per day and currency with something sent. Counts and
--            values are of conversions; corrections and retractions stand beside them.
--   Refuses  400 VALIDATION_FAILED with the field for a span that is none, or too long.
--   Callers  viewers.
create function public.delivery_days(
  p_public_id text, p_from date default null, p_to date default null
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_to date := coalesce(p_to,
    (private.current_moment() at time zone v_site.timezone)::date);
  v_from date := coalesce(p_from, v_to - 29);
  v_days jsonb;
begin
  if v_from > v_to or v_to - v_from > 91 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "from"}');
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('day', t.day, 'currency', t.currency,
      'sent', jsonb_build_object('script', t.script, 'data_manager', t.data_manager,
        'ads_api', t.ads_api, 'by_hand', t.by_hand),
      'confirmed', t.confirmed, 'duplicate', t.duplicate, 'rejected', t.rejected,
      'unknown', t.unknown, 'waiting', t.waiting, 'noVerdict', t.no_verdict,
      'sentCents', t.sent_cents, 'confirmedCents', t.confirmed_cents,
      'rejectedCents', t.rejected_cents, 'restated', t.restated, 'retracted', t.retracted,
      'adjustmentsRejected', t.adjustments_rejected) order by t.day, t.currency), '[]')
    into v_days
    from (
      select (d.dispatched_at at time zone v_site.timezone)::date as day, d.currency,
        count(*) filter (where c.is_new and d.transport = 'script') as script,
        count(*) filter (where c.is_new and d.transport = 'data_manager') as data_manager,
        count(*) filter (where c.is_new and d.transport = 'ads_api') as ads_api,
        count(*) filter (where c.is_new and d.transport = 'by_hand') as by_hand,
        count(*) filter (where c.is_new and d.verdict = 'CONFIRMED') as confirmed,
        count(*) filter (where c.is_new and d.verdict = 'DUPLICATE') as duplicate,
        count(*) filter (where c.is_new and d.verdict = 'REJECTED') as rejected,
        count(*) filter (where c.is_new and d.verdict = 'UNKNOWN') as unknown,
        count(*) filter (where c.is_new and d.verdict is null
          and d.transport = 'data_manager') as waiting,
        count(*) filter (where c.is_new and d.verdict is null
          and d.transport <> 'data_manager') as no_verdict,
        coalesce(sum(d.value_cents) filter (where c.is_new), 0) as sent_cents,
        coalesce(sum(d.value_cents) filter (where c.is_new
          and d.verdict in ('CONFIRMED', 'DUPLICATE')), 0) as confirmed_cents,
        coalesce(sum(d.value_cents) filter (where c.is_new and d.verdict = 'REJECTED'), 0)
          as rejected_cents,
        count(*) filter (where d.kind = 'RESTATE') as restated,
        count(*) filter (where d.kind = 'RETRACT') as retracted,
        count(*) filter (where not c.is_new and d.verdict = 'REJECTED') as adjustments_rejected
      from public.provider_dispatches d
        cross join lateral (select d.kind = 'CONVERSION' as is_new) c
      where d.site_id = v_site.id
        and d.dispatched_at >= v_from::timestamp at time zone v_site.timezone
        and d.dispatched_at < (v_to + 1)::timestamp at time zone v_site.timezone
      group by 1, 2) t;
  return jsonb_build_object('siteId', p_public_id, 'timezone', v_site.timezone, 'from', v_from,
    'to', v_to, 'days', v_days);
end
$$;

grant execute on function public.why_not_counted(text, uuid),
  public.delivery_days(text, date, date) to authenticated;
