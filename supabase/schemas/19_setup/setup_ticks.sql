-- The steps from a new site to its first delivered conversion. A step is ticked by what was seen,
-- and the tick stays: what it was seen by may be deleted later.

create table private.setup_ticks (
  site_id uuid not null references public.sites (id),
  step text not null,
  at timestamptz not null,
  facts jsonb not null default '{}',
  primary key (site_id, step),
  constraint setup_step_is_known check (step in ('snippet', 'clicks', 'consent', 'calls', 'values',
    'actions:script', 'actions:api', 'delivery:script', 'delivery:api', 'test:script', 'test:api',
    'delivered:script', 'delivered:api'))
);
alter table private.setup_ticks enable row level security;

-- setup_steps: the steps, in their order.
create function private.setup_steps() returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array['snippet', 'clicks', 'consent', 'calls', 'values', 'actions', 'delivery', 'test',
    'delivered']
$$;

-- tick_of: under which name a step is stored. The last four are different work on each way to
-- Google, so a site that changes its way does them again.
create function private.tick_of(p_site public.sites, p_step text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_step in ('actions', 'delivery', 'test', 'delivered')
    then p_step || ':' || p_site.oci_sync_method else p_step end
$$;

-- write_tick: ticks a step; the first time stays.
create function private.write_tick(
  p_site public.sites, p_step text, p_at timestamptz, p_facts jsonb default '{}'
) returns void
language sql security definer set search_path = ''
as $$
  insert into private.setup_ticks (site_id, step, at, facts)
    values (p_site.id, private.tick_of(p_site, p_step), p_at, p_facts)
    on conflict (site_id, step) do nothing
$$;

-- skip_calls: the site has no telephone system, or has one after all. It is the one step that not
-- every site needs.
--   Callers  owners.
create function public.skip_calls(p_public_id text, p_skipped boolean) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_skipped then
    perform private.write_tick(
      v_site, 'calls', private.current_moment(), '{"isSkipped": true}');
  else
    delete from private.setup_ticks t
      where t.site_id = v_site.id and t.step = 'calls' and t.facts ? 'isSkipped';
  end if;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.skip_calls(text, boolean) to authenticated;
