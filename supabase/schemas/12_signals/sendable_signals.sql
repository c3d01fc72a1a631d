-- sendable_signals: the one rule that says which signals may be sent now. Script and workers read
-- it and add the attempts that the caller allows. The site has signals switched on, the signal is
-- due, its click is old enough for Google and not too old, and consent was given and not withdrawn.
--   oci_sync_method  who sends for the site: its script, or workers by API.
--   consent          GRANTED where the visitor chose marketing; null where nobody asked.
create view private.sendable_signals as
  select g.*, s.oci_sync_method, case when choice.is_given then 'GRANTED' end as consent
  from public.marketing_signals g
    join public.sites s on s.id = g.site_id
    join public.calls c on c.id = g.call_id
    left join lateral (
      select 'marketing' = any (x.scopes) as is_given from public.consent_choices x
      where x.site_id = c.site_id and x.visitor_id = c.visitor_id
      order by x.chosen_at desc, x.id desc limit 1) choice on true
  where g.dispatch_status = 'PENDING' and s.signals_enabled
    and (g.next_retry_at is null or g.next_retry_at <= (select private.current_moment()))
    and coalesce(c.gclid, c.wbraid, c.gbraid) is not null
    and c.marketing_consent and coalesce(choice.is_given, true)
    and c.status <> all (private.ended_lead_states())
    and c.clicked_at <= (select private.current_moment())
      - make_interval(hours => s.click_min_age_hours)
    and c.clicked_at > (select private.current_moment()) - private.click_life();
