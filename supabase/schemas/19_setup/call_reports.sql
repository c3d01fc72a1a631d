-- What a telephone system sent lately and what became of it, so that whoever sets one up sees why a
-- signature is wrong. Nothing of the call itself is kept. Anybody who knows a public id can cause a
-- refused line: equal ones of a minute share a line, and a site keeps its last 20.

create table private.call_reports (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  result text not null,
  times int not null default 1,
  at timestamptz not null,
  constraint call_result_is_known check (result in (
    'signed', 'no_time', 'old_time', 'no_signature', 'no_secret', 'wrong_signature'))
);
create index call_reports_of_a_site on private.call_reports (site_id, at desc, id desc);
alter table private.call_reports enable row level security;

-- note_call_report: notes one request of a telephone system. A signed one ticks its step at once:
-- others can push its line out. A public id that no site has is left out.
--   Callers  service role only.
create function public.note_call_report(p_public_id text, p_result text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site public.sites;
begin
  select s.* into v_site from public.sites s
    where s.public_id = p_public_id and s.archived_at is null;
  if v_site.id is null then
    return '{"ok": false}';
  end if;
  if p_result = 'signed' then
    perform private.write_tick(v_site, 'calls', v_now);
  end if;
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('calls/' || v_site.id, 0));
  update private.call_reports r set times = least(r.times, 999999) + 1, at = v_now
    where r.id = (
      select x.id from private.call_reports x
      where x.site_id = v_site.id
      order by x.at desc, x.id desc limit 1)
      and r.result = p_result and r.at > v_now - interval '1 minute';
  if not found then
    insert into private.call_reports (site_id, result, at) values (v_site.id, p_result, v_now);
    delete from private.call_reports r where r.id in (
      select x.id from private.call_reports x
      where x.site_id = v_site.id order by x.at desc, x.id desc offset 20);
  end if;
  return '{"ok": true}';
end
$$;
grant execute on function public.note_call_report(text, text) to opsmantik_app, service_role;

-- call_reports_json: the last ten lines, newest first.
create function private.call_reports_json(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('result', r.result, 'times', r.times, 'at', r.at)
    order by r.at desc, r.id desc), '[]')
  from (
    select x.* from private.call_reports x
    where x.site_id = p_site_id order by x.at desc, x.id desc limit 10) r
$$;
