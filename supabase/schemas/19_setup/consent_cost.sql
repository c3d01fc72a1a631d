-- What "ask first" costs while the website still has the old snippet.

-- consent_cost: how many events of the last 24 hours came without analytics consent. Had the site
-- asked first, the gate would have dropped them.
--   Returns  {events}; counted up to 100,000. Reports of telephone systems need no consent.
--   Callers  owners.
create function public.consent_cost(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_since timestamptz := private.current_moment() - interval '1 day';
begin
  return jsonb_build_object('events', (
    select count(*) from (
      select from public.sessions s
        join private.events e on e.session_id = s.id and e.received_at > v_since
      -- A visit goes on for a day at most in practice; one that began earlier is read by its start.
      where s.site_id = v_site.id and s.started_at > v_since - interval '1 day'
        and s.last_seen_at > v_since - interval '1 day'
        and s.visitor_id not like 'system/%'
        and not coalesce('analytics' = any (
          (private.newest_choice(s.site_id, s.visitor_id)).scopes), false)
      limit 100000) e));
end
$$;
grant execute on function public.consent_cost(text) to authenticated;
