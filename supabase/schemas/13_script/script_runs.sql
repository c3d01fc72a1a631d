-- One row per call of a script, so that an owner sees whether theirs runs. Failures that repeat
-- within an hour share a row.
create table public.script_runs (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  kind text not null,
  counts jsonb not null default '{}',
  script_version text,
  error_code text,
  times int not null default 1,
  first_at timestamptz not null,
  at timestamptz not null,
  constraint run_kind_is_known check (kind in ('verify', 'export', 'preview', 'ack', 'ack-failed')),
  constraint script_version_is_bounded check (char_length(script_version) <= 20),
  constraint run_error_is_bounded check (char_length(error_code) <= 64)
);
create index script_runs_of_a_site on public.script_runs (site_id, at desc);
create index script_runs_by_age on public.script_runs (at);
alter table public.script_runs enable row level security;

-- record_script_run: records one call of a script that has a key of the site.
--   Takes    p_run {kind, counts?, version?, errorCode?}.
--   Returns  {ok}: false for an unknown site.
--   Callers  service role only.
create function public.record_script_run(p_public_id text, p_run jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid;
  v_version text := left(p_run ->> 'version', 20);
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    return '{"ok": false}';
  end if;
  if p_run ? 'errorCode' then
    update public.script_runs r set times = r.times + 1, at = v_now
      where r.id = (
        select x.id from public.script_runs x
        where x.site_id = v_site_id and x.at > v_now - interval '1 hour'
          and x.kind = p_run ->> 'kind'
          and x.error_code = left(p_run ->> 'errorCode', 64)
          and x.script_version is not distinct from v_version
        order by x.at desc limit 1);
    if found then
      return '{"ok": true}';
    end if;
  end if;
  insert into public.script_runs (site_id, kind, counts, script_version, error_code, first_at, at)
    values (v_site_id, p_run ->> 'kind', coalesce(p_run -> 'counts', '{}'), v_version,
      left(p_run ->> 'errorCode', 64), v_now, v_now);
  return '{"ok": true}';
end
$$;
grant execute on function public.record_script_run(text, jsonb) to opsmantik_app, service_role;

-- record_wrong_keys: records how often a script was refused for a key that is not the site's.
-- Anybody who knows a public id can cause it, so a site has one such row an hour, whatever was
-- sent. Ids that no site has are left out.
--   Takes    p_tries {public id: how often}, at most 1,000.
--   Returns  {noted}: how many sites.
--   Callers  service role only.
create function public.record_wrong_keys(p_tries jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site record;
  v_noted int := 0;
begin
  for v_site in
    select s.id, least(t.times::int, 100000) as times
    from jsonb_each_text(p_tries) t (public_id, times)
      join public.sites s on s.public_id = t.public_id
    order by s.id limit 1000
  loop
    perform pg_catalog.pg_advisory_xact_lock(hashtextextended('wrong-keys/' || v_site.id, 0));
    update public.script_runs r
      set times = least(r.times::bigint + v_site.times, 2147483647)::int, at = v_now
      where r.id = (
        select x.id from public.script_runs x
        where x.site_id = v_site.id and x.at > v_now - interval '1 hour' and x.kind = 'verify'
          and x.error_code = 'INVALID_CREDENTIALS'
        order by x.at desc limit 1);
    if not found then
      insert into public.script_runs (site_id, kind, error_code, times, first_at, at)
        values (v_site.id, 'verify', 'INVALID_CREDENTIALS', v_site.times, v_now, v_now);
    end if;
    v_noted := v_noted + 1;
  end loop;
  return jsonb_build_object('noted', v_noted);
end
$$;
grant execute on function public.record_wrong_keys(jsonb) to opsmantik_app, service_role;

-- purge_script_runs: deletes runs after 30 days.
--   Returns  {purged}; at most 5,000 a call.
--   Callers  service role only (cron).
create function public.purge_script_runs() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.script_runs r where r.id in (
    select x.id from public.script_runs x
    where x.at < private.current_moment() - interval '30 days'
    order by x.at limit 5000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_script_runs() to opsmantik_app, service_role;

-- script_run_json: one run as the owner sees it.
create function private.script_run_json(p_run public.script_runs) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'kind', p_run.kind,
    'counts', p_run.counts,
    'version', p_run.script_version,
    'errorCode', p_run.error_code,
    'times', p_run.times,
    'at', p_run.at)
$$;

-- script_status: how a site's script is doing.
--   Returns  {syncMethod, now, hasKey, waiting, runs}: waiting is counted up to 1,000; runs are the
--            last 50, newest first.
--   Callers  owners.
create function public.script_status(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
begin
  return jsonb_build_object(
    'syncMethod', v_site.oci_sync_method,
    'now', v_now,
    'hasKey', exists (select from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null and 'script' = any (k.scopes)),
    'waiting', (select count(*) from (
      select from public.offline_conversion_queue q
      where q.site_id = v_site.id and q.provider_key = 'google_ads'
        and q.state = any (private.waiting_states()) and q.claim_token is null
        and q.kind = 'CONVERSION'
        and q.not_before <= v_now and coalesce(q.next_retry_at, '-infinity') <= v_now
      limit 1000) w),
    'runs', (
      select coalesce(
        jsonb_agg(private.script_run_json(r) order by r.at desc, r.id desc), '[]')
      from (
        select x.* from public.script_runs x
        where x.site_id = v_site.id
        order by x.at desc, x.id desc limit 50) r));
end
$$;
grant execute on function public.script_status(text) to authenticated;
