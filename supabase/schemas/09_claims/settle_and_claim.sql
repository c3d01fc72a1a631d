-- settle_and_claim_conversion_jobs: what a worker does most: its whole batch arrived, and it takes
-- the next one. One call, one commit.
--   Takes    p_ids, the batch, with p_indexes, each row's place in a Data Manager request; p_sent
--            {transport, requestId?, verdict?, firstPollSeconds?, customerId?}, the same for all;
--            p_batch, as settle_offline_conversion_jobs does, of a success. p_limit: how many rows
--            to claim next, 0 for none; p_after: `last` of the claim before.
--   Moves    PROCESSING -> COMPLETED of plain rows under p_token, as deliver_rows does; then, if
--            all of them moved, QUEUED/RETRY -> PROCESSING, as claim_offline_conversion_jobs_v2
--            does.
--   Safe     only while the circuit is closed without a failure, the connection is the batch's and
--            nothing is blocked; all that is read under the shared lock of the health row, and
--            otherwise nothing is done. Beside other answers and claims: they share it, too.
--   Writes   FINISHED of the batch and STARTED of the next one.
--   Refuses  55P03 when somebody holds a row for longer than 500 ms: nothing was done.
--   Returns  {completed, left, claim}. left: rows that are not plain; the caller settles the batch
--            by settle_offline_conversion_jobs. claim, or null: as
--            claim_offline_conversion_jobs_v2 gives it.
--   Callers  service role only.
create function public.settle_and_claim_conversion_jobs(
  p_site_id uuid, p_provider_key text, p_token uuid, p_ids uuid[], p_indexes int[], p_sent jsonb,
  p_batch jsonb, p_limit int default 0, p_max_attempts int default private.max_attempts(),
  p_after jsonb default null
) returns json
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_given int := cardinality(p_ids);
  v_is_quota boolean;
  v_is_new boolean;
  v_site record;
  v_moved int := 0;
  v_is_whole boolean := false;
  v_token uuid;
  v_claim record;
begin
  select coalesce(h.quota_until > v_now, false),
      coalesce(h.last_success_at < v_now - interval '1 minute', true)
    into v_is_quota, v_is_new
    from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and h.state = 'CLOSED' and h.failure_count = 0 and h.blocked_at is null
    for share;
  if found and p_token is not null then
    -- A statement of its own, after the lock: connecting, switching and pausing hold it, and
    -- the statement that waited for them still sees what was before.
    select s.timezone, c.transport, n.name, a.action,
        coalesce(s.paused_until > v_now, false) as is_paused,
        coalesce(t.served_at between v_now - interval '1 second' and v_now, false) as is_noted
      into v_site
      from public.sites s
        join public.provider_credentials c
          on c.site_id = s.id and c.provider_key = p_provider_key
            and c.version = (p_batch ->> 'credentialsVersion')::int
        cross join lateral (select coalesce(s.conversion_names ->> 'seal',
          private.default_conversion_name('seal')) as name) n
        left join public.provider_conversion_actions a
          on a.site_id = s.id and a.provider_key = p_provider_key and a.conversion_name = n.name
            and a.blocked_at is null
        left join private.delivery_turns t
          on t.site_id = s.id and t.provider_key = p_provider_key and t.pipeline = 'seals'
      where s.id = p_site_id and s.oci_sync_method = 'api' and s.archived_at is null;
    if found then
      v_moved := (private.deliver_rows(p_site_id, p_ids, p_indexes,
        (p_sent ->> 'transport', left(p_sent ->> 'requestId', 256), p_sent ->> 'verdict',
          (p_sent ->> 'firstPollSeconds')::int, left(p_sent ->> 'customerId', 20))::private.sent,
        p_token, true)).moved;
      v_is_whole := v_moved = v_given;
    end if;
  end if;
  if v_is_whole then
    perform private.finish_success(
      p_site_id, p_provider_key, p_token, p_batch, v_moved, v_is_new);
    if p_limit > 0 and not v_is_quota and not v_site.is_paused then
      v_token := gen_random_uuid();
      v_claim := private.claim_due(p_site_id, p_provider_key, least(p_limit, 1000), p_max_attempts,
        (v_token, v_site.transport, v_site.name, v_site.action, v_site.timezone)::private.handing,
        p_after);
      if not v_site.is_noted then
        perform private.note_turn(p_site_id, p_provider_key, 'seals');
      end if;
      return json_build_object('completed', v_moved, 'left', 0, 'claim', json_build_object(
        'token', v_token,
        'gate', 'CLOSED',
        'rows', v_claim.rows,
        'batch', json_build_object('credentialsVersion', p_batch -> 'credentialsVersion'),
        'last', v_claim.last));
    end if;
  end if;
  return json_build_object('completed', v_moved, 'left', v_given - v_moved, 'claim', null);
end
$$;
grant execute on function public.settle_and_claim_conversion_jobs(
    uuid, text, uuid, uuid[], int[], jsonb, jsonb, int, int, jsonb)
  to opsmantik_app, service_role;
