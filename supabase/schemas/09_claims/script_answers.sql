-- ack_offline_conversions: the site's script handed these to Google.
--   Moves    any but COMPLETED -> COMPLETED, of rows that were ever claimed.
--   Safe     to repeat: the answer is the same, since it says what holds, not what moved. Accepted
--            after a switch to the API as well.
--   Returns  {updated, refused: ids of another site, unknown, or never handed out}.
--   Callers  service role only.
create function public.ack_offline_conversions(
  p_site_id uuid, p_ids uuid[], p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_ids uuid[] := private.of_this_site(p_site_id, p_ids);
begin
  perform private.lock_sales_of(v_ids);
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_ACK');
  perform private.complete_rows(p_site_id,
    (select coalesce(jsonb_agg(jsonb_build_object('id', i)), '[]') from unnest(v_ids) i), 'script');
  perform private.end_leases_of(v_ids);
  return (
    select jsonb_build_object(
      'updated', count(q.id),
      'refused', coalesce(jsonb_agg(i.id order by i.id) filter (where q.id is null), '[]'))
    from (select distinct u.id from unnest(p_ids) u (id)) i
      left join public.offline_conversion_queue q
        on q.id = i.id and q.site_id = p_site_id and q.state = 'COMPLETED');
end
$$;
grant execute on function public.ack_offline_conversions(uuid, uuid[], uuid)
  to opsmantik_app, service_role;

-- reserved_codes: error codes that say what the system itself did or decided. From anybody else
-- they would make a row look superseded, cancelled or refused by its visitor, and hide it from
-- whoever should look at it.
create function private.reserved_codes() returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array['SALE_CANCELLED', 'SUPERSEDED', 'NEVER_ARRIVED', 'NEVER_ANSWERED', 'MAX_ATTEMPTS',
    'NO_CONSENT', 'NO_CLICK_ID', 'CLICK_EXPIRED', 'ADJUSTMENT_EXPIRED', 'MANUAL_FAIL',
    'CIRCUIT_OPEN', 'CONCURRENCY_LIMIT', 'REFUSED_WITH_OTHERS', 'CREDENTIALS_CHANGED',
    'CREDENTIALS_UNREADABLE', 'VAULT_KEY_MISSING', 'VAULT_KEY_MISMATCH']
$$;

-- code_of_script: an error code as a script may send it: of signs that are seen, and not one of
-- ours. Anything else is VALIDATION_FAILED.
create function private.code_of_script(p_code text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_code !~ '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$'
      or upper(p_code) = any (private.reserved_codes())
    then 'VALIDATION_FAILED' else p_code end
$$;

-- fail_offline_conversions: the site's script could not hand these over.
--   Moves    PROCESSING -> FAILED. TRANSIENT and RATE_LIMIT come back by themselves while attempts
--            are left; VALIDATION and AUTH do not.
--   Takes    p_claims {id: claim}, for the ids that came with one.
--   Safe     against a late report: a row that is no longer PROCESSING stays as it is. Safe to
--            repeat: the answer says what holds.
--   Refuses  by row: STALE_CLAIM when the given claim is not the row's newest; CLAIMED_TWICE when
--            none is given and two claims within private.claim_doubt() could be meant: recovery
--            brings the row back.
--   Returns  {updated: rows that were handed out and are known not to have arrived, refused,
--            reasons: {id: why}}.
--   Callers  service role only.
create function public.fail_offline_conversions(
  p_site_id uuid, p_ids uuid[], p_code text, p_category text, p_message text,
  p_max_attempts int default private.max_attempts(), p_key_id uuid default null,
  p_claims jsonb default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
  set enable_seqscan = off   -- dead leases stay in their table while a snapshot is held
as $$
declare
  v_ids uuid[] := private.of_this_site(p_site_id, p_ids);
  v_reasons jsonb;
begin
  -- Locks the rows too: the claim must not change before it is ended.
  perform private.lock_with_sales(v_ids);
  select coalesce(array_agg(j.id) filter (where j.reason is null), '{}'),
      coalesce(jsonb_object_agg(j.id, j.reason) filter (where j.reason is not null), '{}')
    into v_ids, v_reasons
    from (select q.id, case
        when p_claims ->> q.id::text <> coalesce(q.claims[1]::text, '') then 'STALE_CLAIM'
        when p_claims ? q.id::text or q.status <> 'PROCESSING' then null
        -- An operator's undo moves a row back under the claim it had: only claims count attempts.
        when (select count(distinct t.attempt_count) > 1 from public.queue_transitions t
              where t.queue_id = q.id and t.to_status = 'PROCESSING'
                and t.created_at > private.current_moment() - private.claim_doubt())
          then 'CLAIMED_TWICE' end as reason
      from public.offline_conversion_queue q where q.id = any (v_ids)) j;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_ACK_FAILED');
  perform private.end_claims(null, (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', i,
      'outcome', 'FAILED',
      'code', private.code_of_script(p_code),
      'category', p_category,
      'message', p_message)), '[]')
    from unnest(v_ids) i), p_max_attempts);
  perform private.end_leases_of(v_ids);
  return jsonb_build_object(
    'updated', (
      select count(*) from public.offline_conversion_queue q
      where q.id = any (v_ids) and q.status in ('FAILED', 'RETRY') and q.attempt_count > 0),
    'refused', (
      select coalesce(jsonb_agg(distinct i), '[]') from unnest(p_ids) i where i <> all (v_ids)),
    'reasons', v_reasons);
end
$$;
grant execute on function public.fail_offline_conversions(
    uuid, uuid[], text, text, text, int, uuid, jsonb)
  to opsmantik_app, service_role;

-- fail_unexportable_rows: fails conversions that can never be sent as they are, so that an operator
-- sees them and no claim wastes an attempt on them.
--   Takes    p_rows [{id, code, message}]
--   Moves    QUEUED/RETRY -> FAILED VALIDATION.
--   Safe     against a late answer: it holds no sale, so it must not wait for a row; a locked
--            one is left for the next export.
--   Returns  {failed}.
--   Callers  service role only.
create function public.fail_unexportable_rows(
  p_site_id uuid, p_rows jsonb, p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_failed int;
begin
  perform private.act(('api_key', p_key_id)::private.actor, 'UNEXPORTABLE');
  with given as materialized (
    select r.id, r.code, r.message
    from jsonb_to_recordset(p_rows) r (id uuid, code text, message text)),
  free as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id in (select g.id from given g) and q.site_id = p_site_id
      and q.state = any (private.waiting_states()) and q.claim_token is null
    for update skip locked)
  update public.offline_conversion_queue q
    set state = 'FAILED', status = 'FAILED', next_retry_at = null,
        provider_error_code = left(g.code, 64),
        provider_error_category = 'VALIDATION', last_error = left(g.message, 1024),
        updated_at = private.current_moment()
    from free f join given g on g.id = f.id where q.id = f.id;
  get diagnostics v_failed = row_count;
  return jsonb_build_object('failed', v_failed);
end
$$;
grant execute on function public.fail_unexportable_rows(uuid, jsonb, uuid)
  to opsmantik_app, service_role;
