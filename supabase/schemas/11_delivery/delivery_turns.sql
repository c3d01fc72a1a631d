-- When each (site, provider) was last served, per pipeline. Fair share serves first who waited
-- longest. Apart from the health row, whose holders claims must not wait for.
create table private.delivery_turns (
  site_id uuid not null,
  provider_key text not null,
  pipeline text not null,
  served_at timestamptz not null,
  primary key (site_id, provider_key, pipeline)
) with (fillfactor = 50);
alter table private.delivery_turns enable row level security;

-- note_turn: this (site, provider) is being served.
--   Safe     beside other claims of it: one that is noting the same moment is not waited for, and
--            within a second it is noted once.
create function private.note_turn(p_site_id uuid, p_provider_key text, p_pipeline text)
returns void
language plpgsql security definer set search_path = ''
as $$
begin
  if exists (select from private.delivery_turns t
      where t.site_id = p_site_id and t.provider_key = p_provider_key and t.pipeline = p_pipeline
        and t.served_at between private.current_moment() - interval '1 second'
          and private.current_moment()) then
    return;
  end if;
  update private.delivery_turns t set served_at = private.current_moment()
    where t.ctid = (
      select x.ctid from private.delivery_turns x
      where x.site_id = p_site_id and x.provider_key = p_provider_key
        and x.pipeline = p_pipeline
      for update skip locked);
  -- Two first turns at once: an insert would wait for the other one, so one of them is enough.
  if not found and pg_try_advisory_xact_lock(
      hashtext('delivery_turns'), hashtext(concat(p_site_id, p_provider_key, p_pipeline))) then
    insert into private.delivery_turns (site_id, provider_key, pipeline, served_at)
      values (p_site_id, p_provider_key, p_pipeline, private.current_moment())
      on conflict do nothing;
  end if;
end
$$;
