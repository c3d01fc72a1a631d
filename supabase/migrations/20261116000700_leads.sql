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
  constraint channel_is_known check (channel in ('phone', 'whatsapp', 'form')),
  constraint call_status_is_known check (status in ('intent', 'qualified', 'meeting', 'sealed', 'junk', 'cancelled')),
  constraint lead_score_is_0_to_100 check (lead_score between 0 and 100)
);
create index calls_of_a_site on public.calls (site_id, called_at desc, id desc);
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

-- touch_session: the visitor's running session, or a new one after 30 minutes of silence. What is known of it only grows, but for
-- the ad click: without marketing consent there is none, and a newer one takes the place of an older.
create function private.touch_session(p_site_id uuid, p_at timestamptz, p_event jsonb) returns public.sessions
language plpgsql security definer set search_path = ''
as $$
declare
  v_session public.sessions;
  v_visitor text := p_event ->> 'visitor';
  v_consent boolean;
  v_clicked_at timestamptz := (p_event ->> 'clickedAt')::timestamptz;
  v_has_clicked boolean;
  v_is_same_click boolean;
  v_is_newer_click boolean;
begin
  -- Both ends: an event that is replayed days later belongs to the visit it happened in.
  select s.* into v_session from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = v_visitor
      and s.last_seen_at > p_at - interval '30 minutes' and s.started_at < p_at + interval '30 minutes'
    order by s.last_seen_at desc limit 1;
  v_consent := coalesce((p_event ->> 'marketingConsent')::boolean, v_session.marketing_consent, (p_event ->> 'marketingDefault')::boolean);
  if v_session.marketing_consent and not v_consent then
    perform private.withdraw_consent(v_session.id);
  end if;
  if v_session.id is null then
    -- Earlier visits: did an ad bring one, and did this click? Then it was first seen there. The order is for the planner: a plan made
    -- while the table is small and kept by a busy connection would else read all of the site's sessions for each event.
    select bool_or(e.clicked_at is not null),
        case when v_clicked_at is not null then least(v_clicked_at, min(e.clicked_at) filter (where e.is_same_click)) end
      into v_has_clicked, v_clicked_at
      from (
        select s.clicked_at, (s.gclid, s.wbraid, s.gbraid)
          is not distinct from (p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') as is_same_click
        from public.sessions s where s.site_id = p_site_id and s.visitor_id = v_visitor order by s.last_seen_at desc) e;
    insert into public.sessions (site_id, visitor_id, started_at, last_seen_at, landing_url, referrer, device, country, city, utm,
        marketing_consent, from_google, returning_ad_user)
      values (p_site_id, v_visitor, p_at, p_at, p_event ->> 'url', p_event ->> 'referrer', p_event ->> 'device',
        p_event ->> 'country', p_event ->> 'city', coalesce(p_event -> 'utm', '{}'), v_consent, (p_event ->> 'fromGoogle')::boolean,
        coalesce(v_has_clicked, false))
      returning * into v_session;
  end if;
  if not v_consent or v_clicked_at < p_at - interval '90 days' then
    v_clicked_at := null;
  end if;
  v_is_same_click := v_clicked_at is not null and v_session.clicked_at is not null and (v_session.gclid, v_session.wbraid, v_session.gbraid)
    is not distinct from (p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid');
  v_is_newer_click := v_clicked_at is not null and not v_is_same_click and v_clicked_at >= coalesce(v_session.clicked_at, v_clicked_at);
  update public.sessions s
    set started_at = least(s.started_at, p_at), last_seen_at = greatest(s.last_seen_at, p_at), event_count = s.event_count + 1,
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

-- score_breakdown: why a session scores what it scores, for the operator.
create function private.score_breakdown(p_session public.sessions) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'conversion', case when p_session.had_conversion then 50 end, 'interaction', case when p_session.had_interaction then 10 end,
    'scroll50', case when p_session.scroll_depth >= 50 then 10 end, 'scroll90', case when p_session.scroll_depth >= 90 then 20 end,
    'hoverIntent', case when p_session.had_hover_intent then 15 end, 'google', case when p_session.from_google then 5 end,
    'returningAdUser', case when p_session.returning_ad_user then 25 end))
$$;

-- calling_code: the country whose numbers a site's people write without a code.
create function private.calling_code(p_site public.sites) returns text
language sql immutable set search_path = ''
as $$
  select case p_site.currency
    when 'TRY' then '90' when 'GBP' then '44' when 'USD' then '1' when 'CHF' then '41' when 'PLN' then '48' when 'RON' then '40' when 'BGN' then '359'
    when 'UAH' then '380' when 'AZN' then '994' when 'GEL' then '995' when 'AED' then '971' when 'SAR' then '966' when 'KWD' then '965' when 'JPY' then '81'
    else case p_site.timezone
      when 'Europe/Berlin' then '49' when 'Europe/Paris' then '33' when 'Europe/Madrid' then '34' when 'Europe/Rome' then '39' when 'Europe/Vienna' then '43'
      when 'Europe/Amsterdam' then '31' when 'Europe/Brussels' then '32' when 'Europe/Athens' then '30' when 'Europe/Lisbon' then '351'
      when 'Europe/Dublin' then '353' when 'Europe/Istanbul' then '90' when 'Europe/London' then '44' end end
$$;

-- e164: a telephone number as people and machines write it, in the one spelling that can be compared: +905321234567. Null for what is none.
create function private.e164(p_site public.sites, p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when n.number ~ '^\+[1-9][0-9]{6,14}$' then n.number
    when n.number ~ '^00[1-9][0-9]{6,14}$' then '+' || substr(n.number, 3)
    when n.number ~ '^0[1-9][0-9]{5,12}$' and n.code is not null then '+' || n.code || substr(n.number, 2)
    when n.number like n.code || '%' and n.number ~ '^[1-9][0-9]{10,14}$' then '+' || n.number
    when n.code in ('90', '1') and n.number ~ '^[2-9][0-9]{9}$' then '+' || n.code || n.number end
  from (select regexp_replace(replace(left(p_phone, 64), '(0)', ''), '[^0-9+]', '', 'g') as number, private.calling_code(p_site) as code) n
$$;

create function private.phone_hash(p_e164 text) returns text
language sql immutable set search_path = ''
as $$ select encode(sha256(convert_to(p_e164, 'UTF8')), 'hex') $$;

-- store_call: one call per click. A second report of the same click adds what the first did not know, such as who called.
create function private.store_call(p_session public.sessions, p_at timestamptz, p_event jsonb) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_made boolean;
  v_id uuid;
  v_phone text := case when p_session.marketing_consent then p_event ->> 'phone' end;
begin
  insert into public.calls as c (site_id, session_id, intent_stamp, channel, phone, caller_hash, gclid, wbraid, gbraid, clicked_at, marketing_consent,
      lead_score, score_breakdown, page_url, called_at, created_at, updated_at)
    values (p_session.site_id, p_session.id, p_event ->> 'intentStamp', p_event ->> 'channel', v_phone,
      (select private.phone_hash(private.e164(s, v_phone)) from public.sites s where s.id = p_session.site_id), p_session.gclid,
      p_session.wbraid, p_session.gbraid, p_session.clicked_at, p_session.marketing_consent, p_session.lead_score,
      private.score_breakdown(p_session), p_event ->> 'url', p_at, private.current_moment(), private.current_moment())
    on conflict (site_id, intent_stamp) do update
      set phone = coalesce(excluded.phone, c.phone),
          caller_hash = coalesce(excluded.caller_hash, c.caller_hash), gclid = coalesce(c.gclid, excluded.gclid), wbraid = coalesce(c.wbraid, excluded.wbraid),
          gbraid = coalesce(c.gbraid, excluded.gbraid), clicked_at = coalesce(c.clicked_at, excluded.clicked_at), updated_at = excluded.updated_at
    returning c.id, (xmax = 0) into v_id, v_made;
  if v_made then
    perform private.emit_signal(v_id, 'INTENT_CAPTURED', p_at);
  end if;
  return v_made::int;
end
$$;

grant execute on function public.ensure_event_partitions() to opsmantik_app, service_role;

-- The first months, before any cron has run.
select public.ensure_event_partitions();
