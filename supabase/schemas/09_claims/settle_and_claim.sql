-- settle_and_claim_conversion_jobs: what a worker does most: its whole batch arrived, and it takes
-- the next one. One call, one commit.
--   Takes    p_ids, the batch, with p_indexes, each row's place in a Data Manager request; both
--            null: the rows of the claim, in the order in which they were handed out. p_sent
--            {transport, requestId?, verdict?, firstPollSeconds?, customerId?}, the same for all;
--            p_batch, as settle_offline_conversion_jobs does, of a success. p_limit: how many rows
--            to claim next, 0 for none; p_after: `last` of the claim before.
--   Moves    PROCESSING -> COMPLETED of plain rows under p_token, as deliver_plain does; then, if
--            all of them moved, QUEUED/RETRY -> PROCESSING, as claim_offline_conversion_jobs_v2
--            does.
--   Safe     only while the circuit is closed without a failure, the connection is the batch's,
--            nothing is blocked and p_ids are the whole batch; all that is read under the shared
--            lock of the provider, and otherwise nothing is done. Beside other answers and claims:
--            they share it, too.
--   Writes   FINISHED of the batch and STARTED of the next one.
--   Refuses  55P03 when somebody holds a row for longer than 500 ms: nothing was done.
--   Returns  {completed, left, claim}. left: at least how many rows were not settled; if any, the
--            caller settles the batch by settle_offline_conversion_jobs. claim, or null: as
--            claim_offline_conversion_jobs_v2 gives it.
--   Callers  service role only.
create function public.settle_and_claim_conversion_jobs(
  p_site_id uuid, p_provider_key text, p_token uuid, p_sent jsonb, p_batch jsonb,
  p_limit int default 0, p_max_attempts int default private.max_attempts(),
  p_after jsonb default null, p_ids uuid[] default null, p_indexes int[] default null
) returns json
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
  set enable_seqscan = off   -- dead leases stay in their table while a snapshot is held
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ids uuid[];
  v_given int;
  v_at record;
  v_done record;
  v_moved int := 0;
  v_is_whole boolean := false;
  v_token uuid;
  v_claim record;
begin
  perform pg_advisory_xact_lock_shared(private.provider_lock(p_site_id, p_provider_key));
  -- A statement of its own, after the lock: connecting, switching and pausing hold it alone.
  select s.timezone, c.transport, n.name, a.action, l.row_ids, l.claimed_count,
      coalesce(h.quota_until > v_now, false) as is_quota,
      coalesce(h.last_success_at < v_now - interval '1 minute', true) as is_new,
      coalesce(s.paused_until > v_now, false) as is_paused,
      coalesce(t.served_at between v_now - interval '1 second' and v_now, false) as is_noted
    into v_at
    from public.provider_health_state h
      join public.sites s on s.id = h.site_id
      join public.provider_credentials c
        on c.site_id = h.site_id and c.provider_key = p_provider_key
          and c.version = (p_batch ->> 'credentialsVersion')::int
      join private.queue_leases l on l.token = p_token and l.site_id = h.site_id
      cross join lateral (select coalesce(s.conversion_names ->> 'seal',
        private.default_conversion_name('seal')) as name) n
      left join public.provider_conversion_actions a
        on a.site_id = h.site_id and a.provider_key = p_provider_key
          and a.conversion_name = n.name and a.blocked_at is null
      left join private.delivery_turns t
        on t.site_id = h.site_id and t.provider_key = p_provider_key and t.pipeline = 'seals'
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and h.state = 'CLOSED' and h.failure_count = 0 and h.blocked_at is null
      and s.oci_sync_method = 'api' and s.archived_at is null;
  v_ids := coalesce(p_ids, v_at.row_ids, '{}');
  v_given := cardinality(v_ids);
  if v_at.claimed_count = v_given then
    v_done := private.deliver_plain(p_site_id, p_provider_key, p_token, v_ids, p_indexes,
      (p_sent ->> 'transport', left(p_sent ->> 'requestId', 256), p_sent ->> 'verdict',
        (p_sent ->> 'firstPollSeconds')::int, left(p_sent ->> 'customerId', 20))::private.sent,
      p_batch);
    v_moved := v_done.moved;
    v_is_whole := v_moved = v_given;
  end if;
  if v_is_whole then
    if v_at.is_new and v_done.is_finished then
      -- At most once a minute, by one of them.
      update public.provider_health_state h set last_success_at = v_now, updated_at = v_now
        where h.ctid = (
          select x.ctid from public.provider_health_state x
          where x.site_id = p_site_id and x.provider_key = p_provider_key
          for no key update skip locked);
    end if;
    if p_limit > 0 and not v_at.is_quota and not v_at.is_paused then
      v_token := gen_random_uuid();
      v_claim := private.claim_due(p_site_id, p_provider_key, least(p_limit, 1000), p_max_attempts,
        (v_token, v_at.transport, v_at.name, v_at.action, v_at.timezone)::private.handing,
        p_after);
      if not v_at.is_noted then
        perform private.note_turn(p_site_id, p_provider_key, 'seals');
      end if;
      return json_build_object('completed', v_moved, 'left', 0, 'claim', json_build_object(
        'token', v_token,
        'gate', 'CLOSED',
        'rows', v_claim.rows,
        'plain', v_claim.plain,
        'batch', json_build_object('credentialsVersion', p_batch -> 'credentialsVersion'),
        'last', v_claim.last));
    end if;
  end if;
  return json_build_object('completed', v_moved,
    'left', case when v_is_whole then 0 else greatest(v_given - v_moved, 1) end,
    'claim', null);
end
$$;
grant execute on function public.settle_and_claim_conversion_jobs(
    uuid, text, uuid, jsonb, jsonb, int, int, jsonb, uuid[], int[])
  to opsmantik_app, service_role;
