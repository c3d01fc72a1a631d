-- Signals for a site's script. They are claimed, answered and recovered as the queue's rows are,
-- with fewer states: a signal that was not sent waits again.

-- script_signals: ids of the signals that a site's script may send now, in order, at most p_limit
-- and no more than are left of the day.
create function private.script_signals(
  p_site_id uuid, p_limit int, p_max_attempts int
) returns setof uuid
language sql stable security definer set search_path = ''
as $$
  select t.id from (
    select g.id, g.next_retry_at, g.created_at, g.is_counted, row_number() over (
      partition by g.is_counted order by g.next_retry_at nulls first, g.created_at, g.id) as place
    from private.sendable_signals g
    where g.site_id = p_site_id and g.oci_sync_method = 'script'
      and g.attempt_count - g.attempt_base < p_max_attempts) t
  where t.is_counted or t.place <= (select private.signals_left_today(p_site_id))
  order by t.next_retry_at nulls first, t.created_at, t.id
  limit p_limit
$$;

-- signal_json: a signal as a script sends it. A signal that an API may have delivered keeps what
-- Google calls its action, so that it counts once.
create function private.signal_json(
  p_site public.sites, p_signal public.marketing_signals
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_signal.id,
    'orderId', p_signal.order_id,
    'gclid', c.gclid,
    'wbraid', c.wbraid,
    'gbraid', c.gbraid,
    'conversionName', coalesce(
      (select n.google_name from private.action_names n
        where n.site_id = p_signal.site_id and n.action = p_signal.conversion_action
          and p_signal.may_have_arrived),
      p_signal.conversion_name, private.conversion_name(p_site, p_signal.signal_type)),
    'conversionTime', p_signal.occurred_at,
    'value', p_signal.conversion_value,
    'currency', p_signal.currency)
  from public.calls c where c.id = p_signal.call_id
$$;

-- claim_marketing_signals: lease up to p_limit signals to a site's script.
--   Moves    PENDING -> PROCESSING, one attempt each.
--   Safe     from two scripts at once: one of them gets the signals, the other none.
--   Returns  {token, rows}. A signal that was claimed before keeps its name.
--   Callers  service role only.
create function public.claim_marketing_signals(
  p_site_id uuid, p_limit int, p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site public.sites;
  v_token uuid := gen_random_uuid();
  v_is_mine boolean := private.hold_signals(p_site_id);
  v_ids uuid[];
  v_rows jsonb;
begin
  select s.* into v_site from public.sites s where s.id = p_site_id for share;
  select array_agg(t.id) into v_ids from (
    select g.id from public.marketing_signals g
    where v_is_mine and g.dispatch_status = 'PENDING' and g.id in (
      select x.id from private.script_signals(
        v_site.id, least(greatest(p_limit, 0), 1000), p_max_attempts) x (id))
    for update skip locked) t;
  with claimed as (
    update public.marketing_signals g
      set dispatch_status = 'PROCESSING', claim_token = v_token, claimed_at = v_now,
          attempt_count = g.attempt_count + 1, next_retry_at = null, updated_at = v_now,
          conversion_name =
            coalesce(g.conversion_name, private.conversion_name(v_site, g.signal_type)),
          conversion_action = case when g.may_have_arrived then g.conversion_action end,
          last_claim = v_token, last_claimed_at = v_now, claimed_before_at = g.last_claimed_at
      where g.id = any (v_ids) returning g as signal)
  select coalesce(
      jsonb_agg(private.signal_json(v_site, c.signal) order by (c.signal).occurred_at), '[]')
    into v_rows from claimed c;
  return jsonb_build_object('token', v_token, 'rows', v_rows);
end
$$;
grant execute on function public.claim_marketing_signals(uuid, int, int)
  to opsmantik_app, service_role;

-- ack_marketing_signals: records that the script sent these to Google.
--   Moves    any but SENT -> SENT, of signals that were ever claimed.
--   Safe     to repeat, with the same answer.
--   Returns  {updated, refused}.
--   Callers  service role only.
create function public.ack_marketing_signals(p_site_id uuid, p_ids uuid[]) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.marketing_signals g
    set dispatch_status = 'SENT', google_sent_at = v_now, transport = 'script',
        claim_token = null, claimed_at = null, next_retry_at = null, last_error = null,
        provider_error_code = null, provider_error_category = null, updated_at = v_now
    where g.id in (
      select x.id from public.marketing_signals x
      where x.id = any (p_ids) and x.site_id = p_site_id and x.dispatch_status <> 'SENT'
        and x.attempt_count > 0
      order by x.id for update);
  return (
    select jsonb_build_object(
      'updated', count(g.id),
      'refused', coalesce(jsonb_agg(i.id order by i.id) filter (where g.id is null), '[]'))
    from (select distinct u.id from unnest(p_ids) u (id)) i
      left join public.marketing_signals g
        on g.id = i.id and g.site_id = p_site_id and g.dispatch_status = 'SENT');
end
$$;
grant execute on function public.ack_marketing_signals(uuid, uuid[]) to opsmantik_app, service_role;

-- fail_marketing_signals: records that the script could not send these.
--   Moves    PROCESSING -> PENDING with a time for the next try (TRANSIENT, attempts left), else
--            -> FAILED.
--   Takes    p_claims {id: claim}, for the ids that came with one.
--   Safe     to repeat, with the same answer.
--   Refuses  by signal: STALE_CLAIM and CLAIMED_TWICE, as fail_offline_conversions.
--   Returns  {updated: signals that were claimed and are known not to have arrived, refused,
--            reasons: {id: why}}.
--   Callers  service role only.
create function public.fail_marketing_signals(
  p_site_id uuid, p_ids uuid[], p_category text, p_message text,
  p_max_attempts int default private.max_attempts(), p_claims jsonb default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ids uuid[];
  v_reasons jsonb;
begin
  select coalesce(array_agg(j.id) filter (where j.reason is null), '{}'),
      coalesce(jsonb_object_agg(j.id, j.reason) filter (where j.reason is not null), '{}')
    into v_ids, v_reasons
    from (select g.id, case
        when p_claims ->> g.id::text <> coalesce(g.last_claim::text, '') then 'STALE_CLAIM'
        when p_claims ? g.id::text or g.dispatch_status <> 'PROCESSING' then null
        when g.claimed_before_at > v_now - private.claim_doubt() then 'CLAIMED_TWICE' end as reason
      from public.marketing_signals g where g.id = any (p_ids) and g.site_id = p_site_id
      order by g.id for update) j;
  update public.marketing_signals g
    set dispatch_status = case when l.is_again then 'PENDING' else 'FAILED' end,
        claim_token = null, claimed_at = null, updated_at = v_now,
        next_retry_at = case when l.is_again
          then v_now + private.retry_delay(g.attempt_count - g.attempt_base) end,
        last_error = left(p_message, 1024),
        provider_error_code = null, provider_error_category = null
    from (
      select x.id, p_category in ('TRANSIENT', 'RATE_LIMIT')
        and x.attempt_count - x.attempt_base < p_max_attempts as is_again
      from public.marketing_signals x
      where x.id = any (v_ids) and x.dispatch_status = 'PROCESSING') l
    where g.id = l.id;
  return jsonb_build_object(
    'updated', (
      select count(*) from public.marketing_signals g
      where g.id = any (v_ids) and g.dispatch_status in ('PENDING', 'FAILED')
        and g.attempt_count > 0),
    'refused', (
      select coalesce(jsonb_agg(distinct i), '[]') from unnest(p_ids) i where i <> all (v_ids)),
    'reasons', v_reasons);
end
$$;
grant execute on function public.fail_marketing_signals(uuid, uuid[], text, text, int, jsonb)
  to opsmantik_app, service_role;

-- recover_marketing_signals: requeues signals whose claim nobody answered for. Ends the signals
-- whose call came to nothing, whose visitor withdrew consent while they were in flight, whose click
-- is too old, or whose attempts are used up.
--   Returns  {recovered, ended}; at most 2,000 of each a call.
--   Callers  service role only (cron, every 10 minutes).
create function public.recover_marketing_signals(
  p_min_age_minutes int default 15, p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_recovered int;
  v_ended int;
begin
  with stuck as materialized (
    select g.id, c.status = any (private.ended_lead_states()) as is_junk
    from public.marketing_signals g join public.calls c on c.id = g.call_id
    where g.dispatch_status = 'PROCESSING'
      and g.claimed_at <= v_now - make_interval(mins => greatest(p_min_age_minutes, 1))
    order by g.claimed_at limit 2000 for update of g skip locked)
  update public.marketing_signals g
    set dispatch_status = case when t.is_junk then 'FAILED' else 'PENDING' end,
        claim_token = null, claimed_at = null, updated_at = v_now,
        last_error = case when t.is_junk then 'CALL_IS_JUNK' else g.last_error end,
        may_have_arrived = true
    from stuck t where g.id = t.id;
  get diagnostics v_recovered = row_count;
  with ended as materialized (
    select g.id, case
        when not c.marketing_consent then 'NO_CONSENT'
        when g.attempt_count - g.attempt_base >= p_max_attempts then 'MAX_ATTEMPTS_EXCEEDED'
        else 'CLICK_EXPIRED' end as why
    from public.marketing_signals g join public.calls c on c.id = g.call_id
    where g.dispatch_status = 'PENDING'
      and (g.attempt_count - g.attempt_base >= p_max_attempts or not c.marketing_consent
        or c.clicked_at <= v_now - private.click_life())
    limit 2000 for update of g skip locked)
  update public.marketing_signals g
    set dispatch_status = 'FAILED', next_retry_at = null, last_error = e.why, updated_at = v_now
    from ended e where g.id = e.id;
  get diagnostics v_ended = row_count;
  return jsonb_build_object('recovered', v_recovered, 'ended', v_ended);
end
$$;
grant execute on function public.recover_marketing_signals(int, int)
  to opsmantik_app, service_role;
