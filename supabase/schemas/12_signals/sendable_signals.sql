-- Which signals may be sent now, and how many a day.

-- awaits_person: true while nobody vouches for a lead: no signed report confirmed it, and no person
-- (or key) moved it, except for a move that was undone. Anybody who knows a site's public id can
-- report such a lead with any click id.
-- No search_path of its own, so that the planner inlines it: queries call it for many rows.
create function private.awaits_person(p_call public.calls) returns boolean
language sql immutable
as $$
  select p_call.signed_at is null and p_call.status = 'intent' and not p_call.is_moved
$$;

-- sendable_signals: the one rule that says which signals may be sent now. Script and workers read
-- it and add the attempts and the number that they may take. The site has signals switched on and
-- is not paused, the signal is due, somebody vouches for its lead, its click is old enough for
-- Google and not too old, and consent was given and not withdrawn.
--   oci_sync_method  who sends for the site: its script, or workers by API.
--   consent          GRANTED where the visitor chose marketing; null where nobody asked.
--   is_counted       handed out on the site's present day already: another try is not one more.
create view private.sendable_signals as
  select g.*, s.oci_sync_method, case when choice.is_given then 'GRANTED' end as consent,
    coalesce(g.last_claimed_at
      >= date_trunc('day', (select private.current_moment()), s.timezone), false) as is_counted
  from public.marketing_signals g
    join public.sites s on s.id = g.site_id
    join public.calls c on c.id = g.call_id
    left join lateral (
      select 'marketing' = any (x.scopes) as is_given from public.consent_choices x
      where x.site_id = c.site_id and x.visitor_id = c.visitor_id
      order by x.chosen_at desc, x.id desc limit 1) choice on true
  where g.dispatch_status = 'PENDING' and s.signals_enabled
    and coalesce(s.paused_until <= (select private.current_moment()), true)   -- as is_paused
    and (g.next_retry_at is null or g.next_retry_at <= (select private.current_moment()))
    and coalesce(c.gclid, c.wbraid, c.gbraid) is not null
    and c.marketing_consent and coalesce(choice.is_given, true)
    and c.status <> all (private.ended_lead_states())
    and not private.awaits_person(c)
    and c.clicked_at <= (select private.current_moment())
      - make_interval(hours => s.click_min_age_hours)
    and c.clicked_at > (select private.current_moment()) - private.click_life();

-- signals_handed_out_today: how many signals of a site were handed out on its present day, each
-- once, by script and API together.
create function private.signals_handed_out_today(p_site public.sites) returns int
language sql stable security definer set search_path = ''
as $$
  select count(*)::int from public.marketing_signals g
  where g.site_id = p_site.id and g.last_claimed_at
    >= date_trunc('day', private.current_moment(), p_site.timezone)
$$;

-- signals_left_today: how many more may be.
create function private.signals_left_today(p_site_id uuid) returns int
language sql stable security definer set search_path = ''
as $$
  select greatest(0, s.signals_daily_max - private.signals_handed_out_today(s))
  from public.sites s where s.id = p_site_id
$$;

-- hold_signals: lets one claim at a time count and take the signals of a site. False while another
-- one does: it takes them.
create function private.hold_signals(p_site_id uuid) returns boolean
language sql set search_path = ''
as $$
  select pg_catalog.pg_try_advisory_xact_lock(hashtextextended('signals/' || p_site_id, 0))
$$;
