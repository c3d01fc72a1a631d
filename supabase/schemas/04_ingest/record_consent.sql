-- How a visitor's choice arrives, alone or with an event, and what it does to the event.

-- known_scopes: the scopes we know, sorted and each once, so that equal choices compare as equal.
create function private.known_scopes(p_scopes jsonb) returns text[]
language sql immutable set search_path = ''
as $$
  select coalesce(array_agg(distinct s order by s), '{}') from jsonb_array_elements_text(p_scopes) s
  where s in ('analytics', 'marketing')
$$;

-- happened_at: when an event happened: the time of receipt minus its age, which is at most a day.
create function private.happened_at(p_received_at timestamptz, p_age_ms jsonb) returns timestamptz
language sql immutable set search_path = ''
as $$
  select p_received_at
    - least(greatest(coalesce((p_age_ms #>> '{}')::numeric, 0), 0), 86400000)::float8
      * interval '1 millisecond'
$$;

-- record_consent: a visitor chose, or withdrew consent. It applies at once to everything of that
-- visitor that Google does not have yet. It is never billed.
--   Takes    p_choice {visitor, scopes, ageMs, page?, version?}; ageMs is how long ago it
--            happened, 0 to a day.
--   Safe     to repeat: the same choice is one row, and applying it again changes nothing.
--   Returns  {ok}.
--   Callers  service role only.
create function public.record_consent(p_site_id uuid, p_choice jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice public.consent_choices;
begin
  v_choice.site_id := p_site_id;
  v_choice.visitor_id := p_choice ->> 'visitor';
  v_choice.scopes := private.known_scopes(p_choice -> 'scopes');
  v_choice.chosen_at := private.happened_at(private.current_moment(), p_choice -> 'ageMs');
  v_choice.page_url := p_choice ->> 'page';
  v_choice.tracker_version := (p_choice ->> 'version')::int;
  perform private.lock_visitor(p_site_id, v_choice.visitor_id);
  perform private.note_choice(v_choice);
  return '{"ok": true}';
end
$$;
grant execute on function public.record_consent(uuid, jsonb) to opsmantik_app, service_role;

-- is_owed_refusal: whether a choice leaves marketing out for a visitor of whom something is stored.
-- It is never turned away. Anybody can invent visitors, and choose back and forth.
create function private.is_owed_refusal(p_site_id uuid, p_choice jsonb) returns boolean
language sql stable security definer set search_path = ''
as $$
  select not 'marketing' = any (private.known_scopes(p_choice -> 'scopes'))
    and (exists (
        select from public.sessions s
        where s.site_id = p_site_id and s.visitor_id = p_choice ->> 'visitor')
      or exists (
        select from public.calls c
        where c.site_id = p_site_id and c.visitor_id = p_choice ->> 'visitor'))
$$;

-- record_consents: the choices that the events of one request carry, in one statement, so that a
-- request that names a hundred visitors does not take a hundred.
--   Takes    p_choices [p_choice of record_consent], 1 to 100; p_owed_only for a caller who has
--            sent too many: only refusals of visitors of whom something is stored are written, and
--            each visitor's once.
--   Safe     as record_consent; visitors are locked in order, so two batches cannot deadlock.
--   Returns  {ok, left}: how many choices were not taken.
--   Callers  service role only.
create function public.record_consents(
  p_site_id uuid, p_choices jsonb, p_owed_only boolean default false
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice jsonb;
  v_left int := 0;
begin
  if jsonb_array_length(p_choices) not between 1 and 100 then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  for v_choice in
    select c from jsonb_array_elements(p_choices) c
    order by hashtextextended(p_site_id || '/' || (c ->> 'visitor'), 0)
  loop
    if p_owed_only and not private.is_owed_refusal(p_site_id, v_choice) then
      v_left := v_left + 1;
    elsif not (p_owed_only
        and private.refused_marketing(p_site_id, v_choice ->> 'visitor')) then
      perform public.record_consent(p_site_id, v_choice);
    end if;
  end loop;
  return jsonb_build_object('ok', true, 'left', v_left);
end
$$;
grant execute on function public.record_consents(uuid, jsonb, boolean)
  to opsmantik_app, service_role;

-- visitors_without_marketing: of the given visitors, those whose newest choice leaves marketing
-- out.
--   Takes    at most 1,000 visitor ids.
--   Returns  [visitor id].
--   Callers  service role only.
create function public.visitors_without_marketing(p_site_id uuid, p_visitors text[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(v), '[]') from unnest(p_visitors[1:1000]) v
  where private.refused_marketing(p_site_id, v)
$$;
grant execute on function public.visitors_without_marketing(uuid, text[])
  to opsmantik_app, service_role;

-- note_event_choice: stores the choice that an event carries. An event without scopes that allows
-- no marketing is a choice too.
create function private.note_event_choice(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice public.consent_choices;
begin
  v_choice.scopes := case
    when jsonb_typeof(p_event -> 'scopes') = 'array'
      then private.known_scopes(p_event -> 'scopes')
    when not (p_event ->> 'marketingConsent')::boolean then '{analytics}' end;
  if v_choice.scopes is not null then
    v_choice.site_id := p_site_id;
    v_choice.visitor_id := p_event ->> 'visitor';
    v_choice.chosen_at := p_at;
    v_choice.page_url := p_event ->> 'url';
    v_choice.tracker_version := (p_event ->> 'trackerVersion')::int;
    perform private.note_choice(v_choice);
  end if;
end
$$;

-- visitor_consents: whether we may send a visitor's conversions to Google: by the visitor's newest
-- choice, else by this event, else by the running visit, else by the site's default. Never of a
-- visitor who was erased.
create function private.visitor_consents(
  p_site_id uuid, p_event jsonb, p_session public.sessions
) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    'marketing' = any ((private.newest_choice(p_site_id, p_event ->> 'visitor')).scopes),
    (p_event ->> 'marketingConsent')::boolean,
    p_session.marketing_consent,
    (p_event ->> 'marketingDefault')::boolean)
    and not exists (select from private.erased_marks m where m.site_id = p_site_id
      and m.mark = private.mark_of(p_site_id, 'visitor', p_event ->> 'visitor'))
$$;

-- without_click_ids: an address without its ad click ids. The gate keeps them out of addresses
-- (lib/ingest/stored-address.ts); this is for addresses that were stored before.
create function private.without_click_ids(p_url text) returns text
language sql immutable set search_path = ''
as $$ select regexp_replace(p_url, '(clid|braid)(=|%3D)[^&#%]*', '\1\2', 'gi') $$;

-- without_marketing: an event as we may store it when its visitor refused marketing: without click
-- ids, in addresses too, and without a telephone number.
create function private.without_marketing(p_event jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select p_event || jsonb_build_object(
    'gclid', null,
    'wbraid', null,
    'gbraid', null,
    'phone', null,
    'url', private.without_click_ids(p_event ->> 'url'),
    'referrer', private.without_click_ids(p_event ->> 'referrer'),
    'label', case
      when p_event ->> 'action' not in ('phone_call', 'whatsapp', 'hover_intent')
        then p_event ->> 'label' end)
$$;

-- payload_to_keep: a captured payload as its visitor's newest choice allows.
create function private.payload_to_keep(p_site_id uuid, p_payload jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when private.refused_marketing(p_site_id, p_payload ->> 'visitor')
      then private.without_marketing(p_payload)
    else p_payload end
$$;
