-- A session is one visit of one visitor.

create table public.sessions (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  visitor_id text not null,
  started_at timestamptz not null,
  last_seen_at timestamptz not null,
  event_count int not null default 0,
  landing_url text,
  referrer text,
  device text,
  country text,
  city text,
  utm jsonb not null default '{}',
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,               -- when the click id was first seen; Google takes it 90 days
  marketing_consent boolean not null,   -- false: kept for the operator, never sent to Google
  had_conversion boolean not null default false,
  had_interaction boolean not null default false,
  scroll_depth int not null default 0,
  had_hover_intent boolean not null default false,
  from_google boolean not null default false,
  returning_ad_user boolean not null default false,
  lead_score int not null generated always as (least(100,
    case when had_conversion then 50 else 0 end
    + case when had_interaction then 10 else 0 end
    + case when scroll_depth >= 50 then 10 else 0 end
    + case when scroll_depth >= 90 then 20 else 0 end
    + case when had_hover_intent then 15 else 0 end
    + case when from_google then 5 else 0 end
    + case when returning_ad_user then 25 else 0 end)) stored,
  constraint visitor_id_is_bounded check (char_length(visitor_id) between 1 and 64),
  constraint scroll_depth_is_a_percentage check (scroll_depth between 0 and 100),
  constraint click_ids_are_bounded check (
    char_length(gclid) <= 512 and char_length(wbraid) <= 512 and char_length(gbraid) <= 512),
  constraint click_ids_have_a_time check (
    (gclid is null and wbraid is null and gbraid is null) or clicked_at is not null)
);
create index newest_session_of_a_visitor
  on public.sessions (site_id, visitor_id, last_seen_at desc);
create index sessions_of_a_site on public.sessions (site_id, started_at desc);
alter table public.sessions enable row level security;

-- visit_gap: the silence after which a visitor's next event begins a new visit.
create function private.visit_gap() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '30 minutes' $$;

-- touch_session: adds an event to the visitor's running session, or to a new one. What is known
-- of a session only grows, except for the ad click: without marketing consent it has none, and a
-- newer click replaces an older one. Landing page and origin are those of the event that happened
-- first, whichever was stored first.
create function private.touch_session(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns public.sessions
language plpgsql security definer set search_path = ''
as $$
declare
  v_session public.sessions;
  v_visitor text := p_event ->> 'visitor';
  v_consent boolean;
  v_clicked_at timestamptz;
  v_is_same_click boolean := false;
  v_takes_click boolean;
  v_is_first boolean;
begin
  perform private.note_event_choice(p_site_id, p_at, p_event);
  -- Both ends: an event that is replayed days later belongs to the visit it happened in.
  select s.* into v_session from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = v_visitor
      and s.last_seen_at > p_at - private.visit_gap()
      and s.started_at < p_at + private.visit_gap()
    order by s.last_seen_at desc limit 1;
  v_consent := private.visitor_consents(p_site_id, p_event, v_session);
  if not v_consent then
    p_event := private.without_marketing(p_event);
  end if;
  if v_session.id is null then
    insert into public.sessions
        (site_id, visitor_id, started_at, last_seen_at, marketing_consent, returning_ad_user)
      values (p_site_id, v_visitor, p_at, p_at, v_consent,
        private.came_by_ad_before(p_site_id, v_visitor, p_at))
      returning * into v_session;
  end if;
  -- Without consent the session loses its click: p_event has none by now.
  v_takes_click := not v_consent;
  if v_consent
      and coalesce(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') is not null then
    v_is_same_click := (v_session.gclid, v_session.wbraid, v_session.gbraid)
      is not distinct from (p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid');
    if not v_is_same_click or p_at < v_session.clicked_at then
      v_clicked_at := private.see_click(p_site_id, p_at, p_event);
      v_takes_click := not v_is_same_click
        and v_clicked_at > p_at - private.click_life()
        and v_clicked_at >= coalesce(v_session.clicked_at, v_clicked_at);
    end if;
  end if;
  -- A telephone system knows no page: whatever the tracker says of the visit came before it.
  v_is_first := p_event ->> 'url' <> ''
    and (p_at < v_session.started_at or v_session.landing_url is null);
  update public.sessions s
    set started_at = least(s.started_at, p_at),
        last_seen_at = greatest(s.last_seen_at, p_at),
        event_count = s.event_count + 1,
        landing_url = case when v_is_first then p_event ->> 'url' else s.landing_url end,
        referrer = case when v_is_first then p_event ->> 'referrer' else s.referrer end,
        device = case when v_is_first then p_event ->> 'device' else s.device end,
        country = case when v_is_first then p_event ->> 'country' else s.country end,
        city = case when v_is_first then p_event ->> 'city' else s.city end,
        utm = case when v_is_first then coalesce(p_event -> 'utm', '{}') else s.utm end,
        gclid = case when v_takes_click then p_event ->> 'gclid' else s.gclid end,
        wbraid = case when v_takes_click then p_event ->> 'wbraid' else s.wbraid end,
        gbraid = case when v_takes_click then p_event ->> 'gbraid' else s.gbraid end,
        clicked_at = case
          when v_takes_click then v_clicked_at
          when v_is_same_click then least(s.clicked_at, v_clicked_at)
          else s.clicked_at end,
        marketing_consent = v_consent,
        had_conversion = s.had_conversion or p_event ->> 'category' = 'conversion',
        had_interaction = s.had_interaction or p_event ->> 'category' = 'interaction',
        scroll_depth = greatest(s.scroll_depth, (p_event ->> 'scrollDepth')::int),
        had_hover_intent = s.had_hover_intent or p_event ->> 'action' = 'hover_intent',
        from_google = s.from_google or (p_event ->> 'fromGoogle')::boolean
    where s.id = v_session.id
    returning * into v_session;
  return v_session;
end
$$;

-- came_by_ad_before: whether an ad brought an earlier visit. The order and `offset 0` are for the
-- planner: without them it reads all sessions of the site by their time, for each event.
create function private.came_by_ad_before(
  p_site_id uuid, p_visitor_id text, p_at timestamptz
) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(bool_or(e.clicked_at is not null and e.started_at < p_at), false)
  from (
    select s.clicked_at, s.started_at from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = p_visitor_id
    order by s.last_seen_at desc offset 0) e
$$;
