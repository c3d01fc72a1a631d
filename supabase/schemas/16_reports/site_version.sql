-- The version of what a screen shows. A screen asks for it every few seconds and reads its list
-- again only when it differs.

-- newest_moments: when a site's newest changes to one table began, at most 100 of the last ten
-- minutes before the newest.
--   Takes    p_column, which has an index (site_id, p_column).
--   A transaction's moment is its beginning, so one that commits late stands behind newer ones: the
--   newest moment alone would hide it. Each step jumps to the next moment in the index, so a
--   transaction that changed 1,000 rows costs as much as one that changed one.
create function private.newest_moments(p_site_id uuid, p_table regclass, p_column name)
returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_moments text;
begin
  execute format($q$
    with recursive newest as (
      (select t.%2$I as at, t.%2$I - interval '10 minutes' as since, 1 as place
       from %1$s t where t.site_id = $1 and t.%2$I is not null order by t.%2$I desc limit 1)
      union all
      select (select t.%2$I from %1$s t
              where t.site_id = $1 and t.%2$I < n.at and t.%2$I >= n.since
              order by t.%2$I desc limit 1), n.since, n.place + 1
      from newest n where n.at is not null and n.place < 100)
    select string_agg(extract(epoch from n.at)::text, ' ' order by n.place) from newest n
  $q$, p_table, p_column) into v_moments using p_site_id;
  return v_moments;
end
$$;

-- delivery_state: what OCI Control shows of a site's delivery besides its rows.
create function private.delivery_state(p_site public.sites) returns text
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_array(p_site.oci_sync_method, p_site.archived_at,
    p_site.paused_until, p_site.pause_reason,
    (select jsonb_agg(jsonb_build_array(h.state, h.next_probe_at, h.blocked_code, h.quota_until)
       order by h.provider_key)
     from public.provider_health_state h where h.site_id = p_site.id),
    (select jsonb_agg(jsonb_build_array(c.provider_key, c.version) order by c.provider_key)
     from public.provider_credentials c where c.site_id = p_site.id),
    (select jsonb_agg(jsonb_build_array(a.conversion_name, a.blocked_code)
       order by a.conversion_name)
     from public.provider_conversion_actions a where a.site_id = p_site.id))::text
$$;

-- site_version: differs when anything that a screen shows has changed.
--   Safe     from changes that commit late: see newest_moments.
--   Takes    p_of: leads, queue, sales, activity, events or setup.
--   Returns  {version, at}: at is the present moment, by which a screen sets its clock. What only
--            time changes, such as a claim that gets stuck, does not move the version.
--   Refuses  NOT_FOUND; VALIDATION_FAILED for another p_of.
--   Callers  viewers.
create function public.site_version(p_public_id text, p_of text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_parts text[];
begin
  v_parts := case
    when p_of in ('leads', 'queue', 'sales') then array[
      private.newest_moments(v_site.id, 'public.sales', 'updated_at'),
      private.newest_moments(v_site.id, 'private.queue_moves', 'created_at'),
      private.newest_moments(v_site.id, 'private.queue_delivered', 'updated_at'),
      -- By themselves: one that commits late is behind a hundred deliveries.
      private.newest_moments(v_site.id, 'private.queue_delivered', 'verdict_at'),
      (select string_agg(l.token::text, ' ' order by l.token) from private.queue_leases l
        where l.site_id = v_site.id and l.row_ids <> '{}'),   -- what is in flight
      case p_of
        when 'leads' then private.newest_moments(v_site.id, 'public.calls', 'updated_at')
        when 'queue' then private.delivery_state(v_site) end]
    when p_of = 'activity' then
      array[private.newest_moments(v_site.id, 'public.transition_proofs', 'occurred_at')]
    when p_of = 'events' then
      array[private.newest_moments(v_site.id, 'public.ingest_idempotency', 'created_at')]
    when p_of = 'setup' then array[private.setup_state(v_site)]
  end;
  if v_parts is null then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'of'));
  end if;
  return jsonb_build_object(
    'version', md5(array_to_string(v_parts, '|', '-')), 'at', private.current_moment());
end
$$;

grant execute on function public.site_version(text, text) to authenticated;
