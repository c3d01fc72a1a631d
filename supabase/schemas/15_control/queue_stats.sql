-- OCI Control's figures: the state of the queue now. The larger parts are plpgsql, which keeps
-- their plans.

-- connected_health: the health of each site that sends by API and is connected.
create view private.connected_health as
  select h.* from public.provider_health_state h
    join public.sites s on s.id = h.site_id and s.oci_sync_method = 'api'
    join public.provider_credentials c
      on c.site_id = h.site_id and c.provider_key = h.provider_key;

-- health_of: {circuit, blocked} of delivery by API on these sites; the worst of several.
-- Null where no site sends by API or none is connected; blocked also where none is.
create function private.health_of(p_sites uuid[], p_provider_key text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  select jsonb_build_object(
    'circuit', (
      select private.circuit_json(h.state, h.failure_count, h.next_probe_at)
      from private.connected_health h
      where h.site_id = any (p_sites)
        and h.provider_key = coalesce(p_provider_key, h.provider_key)
      order by array_position('{OPEN,HALF_OPEN,CLOSED}', h.state), h.failure_count desc,
        h.next_probe_at limit 1),
    'blocked', (
      select jsonb_build_object('code', h.blocked_code, 'since', h.blocked_at)
      from private.connected_health h
      where h.site_id = any (p_sites)
        and h.provider_key = coalesce(p_provider_key, h.provider_key)
        and h.blocked_at is not null
      order by h.blocked_at limit 1)));
end
$$;

-- rejected_causes: what Google rejected and does not have yet, by its reason: nothing of it waits
-- to be sent again, and it would still be sent.
--   Returns  [{code, count}], of the newest 1,000 rejections of each site.
create function private.rejected_causes(p_sites uuid[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('code', c.code, 'category', null, 'count', c.n)
    order by c.n desc, c.code), '[]')
  from (
    select coalesce(d.verdict_reason, 'UNKNOWN') as code, count(*) as n
    from unnest(p_sites) site (id)
      cross join lateral (
        select x.* from public.provider_dispatches x
        where x.site_id = site.id and x.verdict = 'REJECTED'
        order by x.dispatched_at desc limit 1000) d
      join public.sales s on s.id = d.sale_id
    where s.status = case d.kind when 'RETRACT' then 'CANCELED' else 'CONFIRMED' end
      and private.may_send(s, d.kind)
      and not exists (select from public.provider_dispatches o
        where o.sale_id = d.sale_id and o.provider_key = d.provider_key
          and case when o.verdict is distinct from 'REJECTED' and d.kind = 'CONVERSION' then true
            else o.kind = d.kind and (o.dispatched_at, o.id) > (d.dispatched_at, d.id) end)
      and not exists (select from public.offline_conversion_queue q
        where q.sale_id = d.sale_id and q.provider_key = d.provider_key and q.kind = d.kind
          and q.state = any (private.waiting_states()))
    group by 1) c
$$;

-- queue_totals_json: the figures of some sites that the kept counts give, of all and by provider.
create function private.queue_totals_json(p_sites uuid[]) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with lines as materialized (select t.* from private.queue_totals(p_sites) t),
  states as (select unnest(private.queue_states()) as status),
  figures as (   -- a null key: of all providers
    select k.provider_key, jsonb_build_object(
      'totals', (
        select jsonb_object_agg(s.status, coalesce((
          select sum(l.row_count) from lines l where l.status = s.status
            and l.provider_key = coalesce(k.provider_key, l.provider_key)), 0))
        from states s),
      'valueWaitingCents', (
        select coalesce(jsonb_object_agg(w.currency, w.v), '{}') from (
          select l.currency, sum(l.value_cents) as v from lines l
          where l.status = any (private.waiting_states())
            and l.provider_key = coalesce(k.provider_key, l.provider_key)
          group by 1) w))
      || private.health_of(p_sites, k.provider_key) as facts
    from (select distinct l.provider_key from lines l union all select null) k),
  ended as (
    select sum(l.row_count) filter (where l.status = 'FAILED') as failed,
      sum(l.row_count) as all_ended
    from lines l
    where l.status = 'COMPLETED' or (l.status = 'FAILED' and l.category <> 'DETERMINISTIC_SKIP')),
  causes as (
    select l.code, l.category, sum(l.row_count) as n from lines l
    where l.status = 'FAILED' group by 1, 2)
  select (select f.facts from figures f where f.provider_key is null) || jsonb_build_object(
    'notSent', (
      select coalesce(sum(c.n), 0) from causes c where c.category = 'DETERMINISTIC_SKIP'),
    'failedRatio', (
      select round(coalesce(e.failed, 0)::numeric / e.all_ended, 4)
      from ended e where e.all_ended > 0),
    'perProvider', (
      select coalesce(jsonb_agg(jsonb_build_object('provider', f.provider_key) || f.facts
        order by f.provider_key), '[]')
      from figures f where f.provider_key is not null),
    'mainCause', (
      select jsonb_build_object('code', c.code, 'category', c.category, 'count', c.n)
      from causes c where c.category <> 'DETERMINISTIC_SKIP' order by c.n desc, c.code limit 1),
    'failedCauses', (
      select coalesce(jsonb_agg(
        jsonb_build_object('code', c.code, 'category', c.category, 'count', c.n)
        order by c.n desc, c.code), '[]')
      from (
        select x.* from causes x where x.n > 0 order by x.n desc, x.code limit 100) c)));
end
$$;

-- connections_json: the state of some sites' connections, and the last run of script or worker.
create function private.connections_json(p_sites uuid[]) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with api as materialized (   -- the sites that send by API, with how their last turns went
    select s.id, exists (select from public.provider_credentials c where c.site_id = s.id)
        as is_connected, t.served_at,
      case when h.last_failure_at > coalesce(h.last_success_at, '-infinity')
        then coalesce(h.last_failure_code, 'TRANSIENT_ERROR') end as failure_code
    from public.sites s
      left join public.provider_health_state h
        on h.site_id = s.id and h.provider_key = 'google_ads'
      left join private.delivery_turns t
        on t.site_id = s.id and t.provider_key = 'google_ads' and t.pipeline = 'seals'
    where s.id = any (p_sites) and s.oci_sync_method = 'api')
  select jsonb_build_object(
    'quotaUntil', (
      select max(h.quota_until) from api a join public.provider_health_state h
        on h.site_id = a.id and h.quota_until > private.current_moment()),
    'pause', (
      select private.pause_json(s) from public.sites s
      where cardinality(p_sites) = 1 and s.id = p_sites[1]),
    'connected', (select bool_and(a.is_connected) from api a),
    'blockedActions', (
      select coalesce(jsonb_agg(jsonb_build_object(
          'conversionName', x.conversion_name, 'code', x.blocked_code, 'since', x.blocked_at)
        order by x.blocked_at, x.conversion_name), '[]')
      from api a join public.provider_conversion_actions x
        on x.site_id = a.id and x.blocked_at is not null),
    'missingActions', (
      select coalesce(jsonb_agg(m.name order by m.place, m.name), '[]') from (
        select n.name, min(n.place) as place
        from api a join public.sites s on s.id = a.id and a.is_connected
          cross join lateral jsonb_array_elements_text(private.missing_actions(s))
            with ordinality n (name, place)
        group by n.name) m),
    'lastRun', (
      select jsonb_build_object(
        'at', r.at,
        'ok', r.error_code is null,
        'kind', r.kind,
        'errorCode', r.error_code)
      from (
        (select x.at, x.error_code, x.kind
         from unnest(p_sites) site (id) cross join lateral (
           select y.* from public.script_runs y where y.site_id = site.id
           order by y.at desc, y.id desc limit 1) x
         where site.id not in (select a.id from api a))
        union all
        select a.served_at, a.failure_code, 'worker' from api a where a.served_at is not null) r
      order by r.at desc limit 1)));
end
$$;

-- queue_stats: the figures of a site, or of all sites of the reader.
--   Takes    p_public_id, or null for all sites that the reader is a member of.
--   Returns  {siteId, scope, totals, stuckProcessing, lastUpdatedAt, valueWaitingCents,
--            notSent (of totals.FAILED: skipped on purpose), failedRatio, oldestWaitingAt,
--            nextDueAt, perProvider, circuit, blocked,
--            quotaUntil (Google's limit is used up until then), pause {until, reason} of one
--            site, connected (null where a script
--            sends), blockedActions, missingActions, lastRun (of the script, or of the worker),
--            mainCause, failedCauses, waitingByHand,
--            refusedAccess (rows that a worker left FAILED(AUTH): new access sends them),
--            rejectedCauses (what Google rejected and does not have yet, by reason; of the newest
--            1,000 rejections of a site)}. nextDueAt is by state, {QUEUED, RETRY}; see
--            next_due.
--            Counts come from queue_totals and are exact; nothing here reads more rows than are in
--            flight.
--   Callers  viewers.
create function public.queue_stats(p_public_id text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_stuck_before timestamptz := private.current_moment() - private.stuck_after();
  v_sites uuid[] := case
    when p_public_id is not null then array[(private.require_site(p_public_id, 'viewer')).id]
    else array(
      select m.site_id from public.site_members m join public.sites s on s.id = m.site_id
      where m.user_id = auth.uid() and s.archived_at is null) end;
begin
  return jsonb_build_object(
      'siteId', p_public_id,
      'scope', case when p_public_id is null then 'multi' else 'site' end,
      'rejectedCauses', private.rejected_causes(v_sites))
    || private.queue_totals_json(v_sites)
    || private.connections_json(v_sites)
    || (
    select jsonb_build_object(
      'stuckProcessing', coalesce(sum(x.stuck), 0),
      'waitingByHand', coalesce(sum(x.by_hand), 0),
      'lastUpdatedAt', max(x.updated_at),
      'oldestWaitingAt', min(x.oldest),
      'refusedAccess', coalesce(sum(x.refused), 0),
      'nextDueAt', jsonb_build_object('QUEUED', min(x.queued_due), 'RETRY', min(x.retry_due)))
    from unnest(v_sites) site (id), lateral (select
      (select count(*) from private.queue_in_flight q
       where q.site_id = site.id and q.leased_at < v_stuck_before) as stuck,
      (select count(*)
       from public.offline_conversion_queue q join public.sites s on s.id = q.site_id
       where q.site_id = site.id and q.state = any (private.waiting_states())
         and private.waits_for_person(
         q.kind, q.status, q.by_hand_reason, s.oci_sync_method)) as by_hand,
      cardinality(private.refused_rows(site.id, 'google_ads')) as refused,
      greatest(
        (select t.created_at from private.queue_moves t
         where t.site_id = site.id order by t.created_at desc limit 1),
        (select d.updated_at from private.queue_delivered d
         where d.site_id = site.id order by d.updated_at desc limit 1),
        (select max(l.claimed_at) from private.queue_leases l
         where l.site_id = site.id and l.row_ids <> '{}')) as updated_at,
      least(
        (select q.created_at from public.offline_conversion_queue q
         where q.site_id = site.id and q.state = 'QUEUED' and q.claim_token is null
         order by q.created_at limit 1),
        (select q.created_at from public.offline_conversion_queue q
         where q.site_id = site.id and q.state = 'RETRY' and q.claim_token is null
         order by q.created_at limit 1))
        as oldest,
      private.next_due(site.id, 'QUEUED') as queued_due,
      private.next_due(site.id, 'RETRY') as retry_due) x);
end
$$;
grant execute on function public.queue_stats(text) to authenticated;
