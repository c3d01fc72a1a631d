-- Leads: what the captured events say. A session is one visit of one visitor, a call is one person who reached out.

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
  clicked_at timestamptz,                          -- when the click id was first seen; Google takes it for 90 days
  marketing_consent boolean not null,              -- false: kept for the operator, never delivered to Google
  had_conversion boolean not null default false,
  had_interaction boolean not null default false,
  scroll_depth int not null default 0,
  had_hover_intent boolean not null default false,
  from_google boolean not null default false,
  returning_ad_user boolean not null default false,
  lead_score int not null generated always as (least(100,
      case when had_conversion then 50 else 0 end + case when had_interaction then 10 else 0 end
    + case when scroll_depth >= 50 then 10 else 0 end + case when scroll_depth >= 90 then 20 else 0 end
    + case when had_hover_intent then 15 else 0 end + case when from_google then 5 else 0 end
    + case when returning_ad_user then 25 else 0 end)) stored,
  constraint visitor_id_is_bounded check (char_length(visitor_id) between 1 and 64),
  constraint scroll_depth_is_a_percentage check (scroll_depth between 0 and 100),
  constraint click_ids_are_bounded check (char_length(gclid) <= 512 and char_length(wbraid) <= 512 and char_length(gbraid) <= 512),
  constraint click_ids_have_a_time check ((gclid is null and wbraid is null and gbraid is null) or clicked_at is not null)
);
create index newest_session_of_a_visitor on public.sessions (site_id, visitor_id, last_seen_at desc);
create index sessions_of_a_site on public.sessions (site_id, started_at desc);

create table public.calls (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  session_id uuid references public.sessions (id),
  visitor_id text not null,                        -- whose consent counts
  reported_by text not null,                       -- 'system' until the tracker tells of it too: only the tracker knows the visit
  intent_stamp text not null,                      -- the click's id, the same whoever reports it: one click is one call
  channel text not null,
  phone text,                                      -- the caller's, where a telephone system reported it
  caller_hash text,                                -- SHA-256 of the caller's number in E.164: sales from elsewhere find their call by it
  status text not null default 'intent',
  seal_status text not null generated always as (case when status = 'sealed' then 'sealed' else 'unsealed' end) stored,
  version int not null default 1,
  last_proof_id uuid,                              -- the move that made it what it is; taking it back is judged by this
  status_at timestamptz,                           -- when that was
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  marketing_consent boolean not null,
  lead_score int not null,
  score_breakdown jsonb not null,
  page_url text,
  called_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint one_call_per_click unique (site_id, intent_stamp),
  constraint reporter_is_known check (reported_by in ('tracker', 'system')),
  constraint channel_is_known check (channel in ('phone', 'whatsapp', 'form')),
  constraint call_status_is_known check (status in ('intent', 'qualified', 'meeting', 'sealed', 'junk', 'cancelled')),
  constraint lead_score_is_0_to_100 check (lead_score between 0 and 100)
);
create index calls_of_a_site on public.calls (site_id, called_at desc, id desc);
create index calls_of_a_visitor on public.calls (site_id, visitor_id);
create index calls_of_a_caller on public.calls (site_id, caller_hash, called_at desc) where caller_hash is not null;
create index calls_of_a_gclid on public.calls (site_id, gclid) where gclid is not null;
create index calls_of_a_wbraid on public.calls (site_id, wbraid) where wbraid is not null;
create index calls_of_a_gbraid on public.calls (site_id, gbraid) where gbraid is not null;

-- Every event, in monthly partitions by receive time, where the API cannot see it. The default partition takes what has no
-- month of its own, so a late cron loses nothing.
create table private.events (
  id uuid not null,                                -- the captured row's id: storing twice is impossible
  site_id uuid not null,
  session_id uuid not null,
  received_at timestamptz not null,
  happened_at timestamptz not null,                -- received minus its age: an offline browser tells of it later
  category text not null,
  action text not null,
  label text,
  value numeric,
  url text,
  primary key (received_at, id)
) partition by range (received_at);
create index events_of_a_session on private.events (session_id, received_at);
create table private.events_default partition of private.events default;
alter table public.sessions enable row level security;
alter table public.calls enable row level security;
alter table private.events enable row level security;
alter table private.events_default enable row level security;

-- Our first sight of each click of a visitor. A browser's clock may be wrong by months; this is by ours.
create table private.click_sightings (
  site_id uuid not null,
  visitor_id text not null,
  click_hash bytea not null,
  first_seen_at timestamptz not null,
  primary key (site_id, visitor_id, click_hash)
);
create index visitors_of_a_click on private.click_sightings (site_id, click_hash);
alter table private.click_sightings enable row level security;

-- ensure_event_partitions: this month and the next two, made ahead.
--   Safe     to repeat. A month whose events already lie in the default partition is left there.
--   Callers  service role only (daily cron).
create function public.ensure_event_partitions() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_month timestamp := date_trunc('month', private.current_moment() at time zone 'UTC');
  v_name text;
  v_made text[] := '{}';
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
  for v_offset in 0..2 loop
    v_name := 'events_' || to_char(v_month + make_interval(months => v_offset), 'YYYY_MM');
    continue when to_regclass('private.' || v_name) is not null;
    begin
      execute format('create table private.%I partition of private.events for values from (%L) to (%L)', v_name,
        (v_month + make_interval(months => v_offset)) at time zone 'UTC', (v_month + make_interval(months => v_offset + 1)) at time zone 'UTC');
      execute format('alter table private.%I enable row level security', v_name);
      v_made := v_made || v_name;
    exception when check_violation then
      null;   -- the default partition has events of this month; they stay readable there
    end;
  end loop;
  return jsonb_build_object('made', to_jsonb(v_made));
end
$$;

-- click_hashes: one hash for each click id that is given.
create function private.click_hashes(p_gclid text, p_wbraid text, p_gbraid text) returns setof bytea
language sql immutable set search_path = ''
as $$
  select sha256(convert_to(t.kind || '/' || t.id, 'UTF8'))
  from (values ('gclid', p_gclid), ('wbraid', p_wbraid), ('gbraid', p_gbraid)) t (kind, id) where t.id is not null
$$;

-- see_click: when we first saw a click of this visitor, by the time at which events happened.
create function private.see_click(p_site_id uuid, p_at timestamptz, p_event jsonb) returns timestamptz
language sql security definer set search_path = ''
as $$
  with seen as (
    insert into private.click_sightings as c (site_id, visitor_id, click_hash, first_seen_at)
      select p_site_id, p_event ->> 'visitor', h, p_at
      from private.click_hashes(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') h
      on conflict (site_id, visitor_id, click_hash)
        do update set first_seen_at = least(c.first_seen_at, excluded.first_seen_at)
      returning c.first_seen_at)
  select min(s.first_seen_at) from seen s
$$;

-- visitor_consents: whether Google may be told of a visitor: what the visitor last said, else what this event
-- says for its site, else what the running visit says, else the site's default.
create function private.visitor_consents(p_site_id uuid, p_event jsonb, p_session public.sessions) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce('marketing' = any ((private.newest_choice(p_site_id, p_event ->> 'visitor')).scopes),
    (p_event ->> 'marketingConsent')::boolean, p_session.marketing_consent,
    (p_event ->> 'marketingDefault')::boolean)
$$;

-- note_event_choice: an event carries the scopes that held when it happened. One that allows no marketing is a
-- choice also where the scopes themselves were not kept.
create function private.note_event_choice(p_site_id uuid, p_at timestamptz, p_event jsonb) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice public.consent_choices;
begin
  v_choice.scopes := case when jsonb_typeof(p_event -> 'scopes') = 'array' then private.known_scopes(p_event -> 'scopes')
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

-- touch_session: the visitor's running session, or a new one after 30 minutes of silence. What is known of it
-- only grows, but for the ad click: without marketing consent there is none, and a newer one takes the place
-- of an older. Landing page and origin are those of the event that happened first, whichever was stored first.
create function private.touch_session(p_site_id uuid, p_at timestamptz, p_event jsonb) returns public.sessions
language plpgsql security definer set search_path = ''
as $$
declare
  v_session public.sessions;
  v_visitor text := p_event ->> 'visitor';
  v_consent boolean;
  v_clicked_at timestamptz;
  v_is_same_click boolean := false;
  v_is_newer_click boolean := false;
  v_is_first boolean;
begin
  perform private.note_event_choice(p_site_id, p_at, p_event);
  -- Both ends: an event that is replayed days later belongs to the visit it happened in.
  select s.* into v_session from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = v_visitor
      and s.last_seen_at > p_at - interval '30 minutes' and s.started_at < p_at + interval '30 minutes'
    order by s.last_seen_at desc limit 1;
  v_consent := private.visitor_consents(p_site_id, p_event, v_session);
  if not v_consent then
    p_event := private.without_marketing(p_event);
  end if;
  if v_session.id is null then
    insert into public.sessions
        (site_id, visitor_id, started_at, last_seen_at, marketing_consent, returning_ad_user)
      values (p_site_id, v_visitor, p_at, p_at, v_consent, private.came_by_ad_before(p_site_id, v_visitor, p_at))
      returning * into v_session;
  end if;
  if v_consent and coalesce(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') is not null then
    v_is_same_click := (v_session.gclid, v_session.wbraid, v_session.gbraid)
      is not distinct from (p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid');
    if not v_is_same_click or p_at < v_session.clicked_at then
      v_clicked_at := private.see_click(p_site_id, p_at, p_event);
      v_is_newer_click := not v_is_same_click and v_clicked_at > p_at - interval '90 days'
        and v_clicked_at >= coalesce(v_session.clicked_at, v_clicked_at);
    end if;
  end if;
  -- A telephone system knows no page: whatever the tracker says of the visit came before it.
  v_is_first := p_event ->> 'url' <> '' and (p_at < v_session.started_at or v_session.landing_url is null);
  update public.sessions s
    set started_at = least(s.started_at, p_at), last_seen_at = greatest(s.last_seen_at, p_at),
        event_count = s.event_count + 1,
        landing_url = case when v_is_first then p_event ->> 'url' else s.landing_url end,
        referrer = case when v_is_first then p_event ->> 'referrer' else s.referrer end,
        device = case when v_is_first then p_event ->> 'device' else s.device end,
        country = case when v_is_first then p_event ->> 'country' else s.country end,
        city = case when v_is_first then p_event ->> 'city' else s.city end,
        utm = case when v_is_first then coalesce(p_event -> 'utm', '{}') else s.utm end,
        gclid = case when not v_consent then null when v_is_newer_click then p_event ->> 'gclid' else s.gclid end,
        wbraid = case when not v_consent then null when v_is_newer_click then p_event ->> 'wbraid' else s.wbraid end,
        gbraid = case when not v_consent then null when v_is_newer_click then p_event ->> 'gbraid' else s.gbraid end,
        clicked_at = case when not v_consent then null when v_is_newer_click then v_clicked_at
                          when v_is_same_click then least(s.clicked_at, v_clicked_at) else s.clicked_at end,
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

-- came_by_ad_before: whether an ad brought an earlier visit. The order and the fence are for the planner: it would
-- else read the site's sessions by their time, all of them for each event.
create function private.came_by_ad_before(p_site_id uuid, p_visitor_id text, p_at timestamptz) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(bool_or(e.clicked_at is not null and e.started_at < p_at), false)
  from (select s.clicked_at, s.started_at from public.sessions s
        where s.site_id = p_site_id and s.visitor_id = p_visitor_id order by s.last_seen_at desc offset 0) e
$$;

grant execute on function public.ensure_event_partitions() to opsmantik_app, service_role;

-- The first months, before any cron has run.
select public.ensure_event_partitions();
