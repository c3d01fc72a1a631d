-- The cron of retention, and what owners see of it.

-- run_retention: one step of the installation's retention.
--   Takes    p_periods {eventsMonths, personalMonths, failedDays, revokedKeysDays}, each within
--            what is sane: an empty setting must not delete everything.
--   A step   drops old partitions, then takes sites one after the other, up to 500 rows of each
--            kind, for at most two seconds.
--   Safe     to repeat, and beside another run: one of them takes the lock, the other does nothing.
--   Returns  {isDone, removed: {kind: rows}}.
--   Callers  service role only (daily cron).
create function public.run_retention(p_periods jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_started timestamptz := clock_timestamp();
  v_events timestamptz := v_now - make_interval(months => (p_periods ->> 'eventsMonths')::int);
  v_events_gone jsonb;
  v_site record;
  v_step jsonb;
  v_removed jsonb := '{}';
  v_done boolean := true;
begin
  if (p_periods ->> 'eventsMonths')::int not between 3 and 120
      or (p_periods ->> 'personalMonths')::int not between 4 and 120
      or (p_periods ->> 'failedDays')::int not between 7 and 3650
      or (p_periods ->> 'revokedKeysDays')::int not between 30 and 3650
      or num_nulls(p_periods ->> 'eventsMonths', p_periods ->> 'personalMonths',
        p_periods ->> 'failedDays', p_periods ->> 'revokedKeysDays') > 0 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "periods"}');
  end if;
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('run_retention')) then
    return '{"isDone": true, "removed": {}}';
  end if;
  v_events_gone := private.drop_old_events(v_events);
  if jsonb_array_length(v_events_gone -> 'dropped') > 0 then
    -- Ends here: the drop keeps everybody from the events until this commits.
    return jsonb_build_object('isDone', false, 'removed', jsonb_build_object(
      'partitions', jsonb_array_length(v_events_gone -> 'dropped'),
      'events', (v_events_gone ->> 'deleted')::int));
  end if;
  v_done := (v_events_gone ->> 'deleted')::int < 5000;
  v_removed := jsonb_build_object(
    'partitions', jsonb_array_length(v_events_gone -> 'dropped'),
    'events', (v_events_gone ->> 'deleted')::int,
    'keys', private.forget_old_keys(
      v_now - make_interval(days => (p_periods ->> 'revokedKeysDays')::int)));
  for v_site in
    select s.id, v_now - make_interval(months => private.personal_months_of(
      s.id, (p_periods ->> 'personalMonths')::int)) as personal
    from public.sites s
    order by (
      select min(t.cleared_until) from private.retention_progress t where t.site_id = s.id
    ) nulls first, s.id
  loop
    if clock_timestamp() > v_started + interval '2 seconds' then
      v_done := false;
      exit;
    end if;
    v_step := jsonb_build_object(
      'visits', private.forget_visits(v_site.id, v_events, 500),
      'leads', private.forget_old_calls(v_site.id, v_site.personal, 500),
      'sales', private.forget_old_sales(v_site.id, v_site.personal, 500),
      'notes', private.forget_old_notes(v_site.id, v_site.personal, 500),
      'captured', private.forget_failed(
        v_site.id, v_now - make_interval(days => (p_periods ->> 'failedDays')::int), 500));
    v_removed := private.add_counts(v_removed, v_step);
    v_done := v_done and not exists (
      select from jsonb_each_text(v_step) e where e.value::int >= 500);
  end loop;
  return jsonb_build_object('isDone', v_done, 'removed', v_removed);
end
$$;
grant execute on function public.run_retention(jsonb) to opsmantik_app, service_role;

-- forget_failed: ends captured events that could not be stored and that nobody replayed.
create function private.forget_failed(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[] := array(
    select b.id from public.ingest_fallback_buffer b
    where b.site_id = p_site_id and b.status = 'FAILED' and b.created_at < p_before
    order by b.created_at limit p_limit for update skip locked);
begin
  perform private.empty_captured(v_ids);
  perform private.note_removed(p_site_id, 'captured', p_before, cardinality(v_ids));
  return cardinality(v_ids);
end
$$;

-- forget_old_keys: deletes keys that were revoked long ago. Proofs keep their id.
create function private.forget_old_keys(p_before timestamptz) returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_removed bigint;
begin
  delete from public.site_api_keys k where k.revoked_at < p_before;
  get diagnostics v_removed = row_count;
  perform private.note_removed(private.whole_installation(), 'keys', p_before, v_removed);
  return v_removed;
end
$$;

-- site_retention: what a site keeps how long, and what was removed last.
--   Returns  {personalMonths, removed: [{kind, until, rows, at}]}; personalMonths is null where
--            the owner chose nothing, rows is null for what is removed for all sites at once.
--   Callers  owners.
create function public.site_retention(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return jsonb_build_object(
    'personalMonths', (
      select r.personal_months from private.site_retention r where r.site_id = v_site.id),
    -- What other crons delete, by the rules that they follow.
    'keptDays', jsonb_build_object(
      'customerHashes', extract(day from private.click_life()),
      'handedOut', extract(day from private.identifiers_kept()),
      'origins', extract(day from private.billed_rows_kept())),
    'removed', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'kind', t.kind,
        'until', t.cleared_until,
        'at', t.removed_at,
        'rows', case when t.site_id = v_site.id then t.removed end)
        order by t.removed_at desc, t.kind), '[]')
      from private.retention_progress t
      where t.site_id in (v_site.id, private.whole_installation())
        and t.removed_at is not null and t.kind <> 'keys'));
end
$$;
grant execute on function public.site_retention(text) to authenticated;

-- set_site_retention: an owner keeps leads and notes for fewer months than the installation does;
-- null takes the installation's period. What the next night deletes never comes back, so a session
-- that was copied must not be enough.
--   Refuses  403 SIGN_IN_AGAIN without a recent sign-in; 400 VALIDATION_FAILED.
--   Callers  owners.
create function public.set_site_retention(p_public_id text, p_personal_months int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  if p_personal_months not between 4 and 120 then
    perform private.refuse_setting('personalMonths');
  end if;
  if p_personal_months is null then
    delete from private.site_retention r where r.site_id = v_site.id;
  else
    insert into private.site_retention as r (site_id, personal_months, changed_at)
      values (v_site.id, p_personal_months, private.current_moment())
      on conflict (site_id) do update
        set personal_months = excluded.personal_months, changed_at = excluded.changed_at;
  end if;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_site_retention(text, int) to authenticated;
