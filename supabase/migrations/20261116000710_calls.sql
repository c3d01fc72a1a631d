-- Calls: one person who reached out, from what the tracker and a telephone system say of it.

-- What a telephone system told of a call that could not take it yet: the call is not stored, or the tracker has
-- not yet said whether its visitor agrees. Taken over by the tracker's report, forgotten after an hour.
create table private.held_reports (
  site_id uuid not null,
  intent_stamp text not null,
  report jsonb not null,                           -- phone, gclid, wbraid, gbraid
  held_until timestamptz not null,
  primary key (site_id, intent_stamp)
);
create index held_reports_by_age on private.held_reports (held_until);
alter table private.held_reports enable row level security;

create function private.hold_report(p_site_id uuid, p_intent_stamp text, p_report jsonb) returns void
language sql security definer set search_path = ''
as $$
  insert into private.held_reports as h (site_id, intent_stamp, report, held_until)
    select p_site_id, p_intent_stamp, r.report, private.current_moment() + interval '1 hour'
    from (select jsonb_strip_nulls(jsonb_build_object('phone', p_report -> 'phone', 'gclid', p_report -> 'gclid',
      'wbraid', p_report -> 'wbraid', 'gbraid', p_report -> 'gbraid')) as report) r
    where r.report <> '{}'
    on conflict (site_id, intent_stamp)
      do update set report = h.report || excluded.report, held_until = excluded.held_until
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

-- score_call: what a call's visit scored when the person reached out: events that happened later say nothing
-- about it, and events that arrive later but happened before do.
create function private.score_call(p_session public.sessions, p_at timestamptz) returns public.sessions
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_scored public.sessions := p_session;
begin
  v_scored.had_conversion := true;
  select coalesce(bool_or(e.category = 'interaction'), false),
      coalesce(max(least(greatest(round(e.value), 0), 100)) filter (where e.action = 'scroll_depth'), 0)::int,
      coalesce(bool_or(e.action = 'hover_intent'), false)
    into v_scored.had_interaction, v_scored.scroll_depth, v_scored.had_hover_intent
    from private.events e
    where e.session_id = p_session.id and e.happened_at <= p_at
      and e.received_at >= p_session.started_at and e.received_at <= p_session.last_seen_at + interval '25 hours';
  return v_scored;
end
$$;

create function private.score_of(p_breakdown jsonb) returns int
language sql immutable set search_path = ''
as $$ select least(100, coalesce(sum(v::int), 0))::int from jsonb_each_text(p_breakdown) t (k, v) $$;

-- rescore_calls: an event was stored after a call that it happened before.
create function private.rescore_calls(p_session public.sessions, p_at timestamptz) returns void
language sql security definer set search_path = ''
as $$
  update public.calls c
    set score_breakdown = b.breakdown, lead_score = private.score_of(b.breakdown), updated_at = private.current_moment()
    from public.calls o
      cross join lateral (select private.score_breakdown(private.score_call(p_session, o.called_at)) as breakdown) b
    where o.session_id = p_session.id and o.called_at >= p_at and c.id = o.id and c.score_breakdown <> b.breakdown
$$;

-- store_call: one call per click. Two reports of one click make one call, in whichever order they are stored.
--   Returns  1 when the call is new.
create function private.store_call(p_session public.sessions, p_at timestamptz, p_event jsonb) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_new public.calls;
  v_id uuid;
  v_held jsonb;
begin
  delete from private.held_reports h
    where h.site_id = p_session.site_id and h.intent_stamp = p_event ->> 'intentStamp'
    returning h.report into v_held;
  p_event := coalesce(v_held, '{}') || jsonb_strip_nulls(p_event);
  if p_event ->> 'reporter' = 'system' and not p_session.marketing_consent
     and not private.refused_marketing(p_session.site_id, p_session.visitor_id) then
    perform private.hold_report(p_session.site_id, p_event ->> 'intentStamp', p_event);
  end if;
  v_new.site_id := p_session.site_id;
  v_new.session_id := p_session.id;
  v_new.visitor_id := p_session.visitor_id;
  v_new.reported_by := coalesce(p_event ->> 'reporter', 'tracker');
  v_new.intent_stamp := p_event ->> 'intentStamp';
  v_new.channel := p_event ->> 'channel';
  v_new.marketing_consent := p_session.marketing_consent;
  v_new.page_url := nullif(p_event ->> 'url', '');
  v_new.called_at := p_at;
  v_new.score_breakdown := private.score_breakdown(private.score_call(p_session, p_at));
  v_new.lead_score := private.score_of(v_new.score_breakdown);
  if p_session.marketing_consent then
    v_new.phone := p_event ->> 'phone';
    v_new.caller_hash := (select private.phone_hash(private.e164(s, v_new.phone))
      from public.sites s where s.id = p_session.site_id);
    v_new.gclid := p_session.gclid;
    v_new.wbraid := p_session.wbraid;
    v_new.gbraid := p_session.gbraid;
    v_new.clicked_at := p_session.clicked_at;
    if v_new.clicked_at is null and coalesce(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') is not null then
      v_new.gclid := p_event ->> 'gclid';
      v_new.wbraid := p_event ->> 'wbraid';
      v_new.gbraid := p_event ->> 'gbraid';
      v_new.clicked_at := private.see_click(v_new.site_id, p_at,
        p_event || jsonb_build_object('visitor', p_session.visitor_id));
    end if;
  end if;
  loop
    select c.id into v_id from public.calls c
      where c.site_id = v_new.site_id and c.intent_stamp = v_new.intent_stamp for update;
    if v_id is not null then
      perform private.merge_call(v_id, v_new);
      return 0;
    end if;
    insert into public.calls (site_id, session_id, visitor_id, reported_by, intent_stamp, channel, phone, caller_hash,
        gclid, wbraid, gbraid, clicked_at, marketing_consent, lead_score, score_breakdown, page_url, called_at,
        created_at, updated_at)
      values (v_new.site_id, v_new.session_id, v_new.visitor_id, v_new.reported_by, v_new.intent_stamp, v_new.channel,
        v_new.phone, v_new.caller_hash, v_new.gclid, v_new.wbraid, v_new.gbraid, v_new.clicked_at,
        v_new.marketing_consent, v_new.lead_score, v_new.score_breakdown, v_new.page_url, v_new.called_at,
        private.current_moment(), private.current_moment())
      on conflict (site_id, intent_stamp) do nothing
      returning id into v_id;
    if v_id is not null then
      perform private.emit_signal(v_id, 'INTENT_CAPTURED', p_at);
      return 1;
    end if;
  end loop;   -- somebody else stored it between our look and our insert
end
$$;

-- merge_call: another report of a call. The visit, its click and its consent are the tracker's to tell, the
-- caller's number is the telephone system's; what a report does not know it leaves. Called with the call locked.
create function private.merge_call(p_id uuid, p_new public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_old public.calls;
  v_call public.calls;
  v_is_visit boolean;      -- the tracker tells of a call that only a telephone system had told of
  v_takes_click boolean;
begin
  select c.* into v_old from public.calls c where c.id = p_id;
  v_is_visit := p_new.reported_by = 'tracker' and v_old.reported_by = 'system';
  v_call := v_old;
  if v_is_visit then
    v_call.reported_by := 'tracker';
    v_call.session_id := p_new.session_id;
    v_call.visitor_id := p_new.visitor_id;
    v_call.channel := p_new.channel;
    v_call.page_url := coalesce(p_new.page_url, v_old.page_url);
    v_call.score_breakdown := p_new.score_breakdown;
    v_call.lead_score := p_new.lead_score;
    v_call.marketing_consent := p_new.marketing_consent;
  end if;
  v_call.marketing_consent := v_call.marketing_consent
    and not private.refused_marketing(v_call.site_id, v_call.visitor_id);
  v_takes_click := p_new.clicked_at is not null and (v_is_visit or v_old.clicked_at is null);
  update public.calls c
    set reported_by = v_call.reported_by, session_id = v_call.session_id, visitor_id = v_call.visitor_id,
        channel = v_call.channel, page_url = v_call.page_url, score_breakdown = v_call.score_breakdown,
        lead_score = v_call.lead_score, marketing_consent = v_call.marketing_consent,
        phone = case when v_call.marketing_consent then coalesce(p_new.phone, c.phone) end,
        caller_hash = case when v_call.marketing_consent then coalesce(p_new.caller_hash, c.caller_hash) end,
        gclid = case when not v_call.marketing_consent then null when v_takes_click then p_new.gclid else c.gclid end,
        wbraid = case when not v_call.marketing_consent then null when v_takes_click then p_new.wbraid else c.wbraid end,
        gbraid = case when not v_call.marketing_consent then null when v_takes_click then p_new.gbraid else c.gbraid end,
        clicked_at = case when not v_call.marketing_consent then null
                          when v_takes_click then p_new.clicked_at else c.clicked_at end,
        called_at = least(c.called_at, p_new.called_at), updated_at = private.current_moment()
    where c.id = p_id
    returning * into v_call;
  if v_is_visit and v_old.visitor_id = v_old.intent_stamp and v_old.session_id <> v_call.session_id then
    -- A visit that stood in until the tracker told of the real one.
    update private.events e set session_id = v_call.session_id where e.session_id = v_old.session_id;
    delete from public.sessions s where s.id = v_old.session_id
      and not exists (select from public.calls c where c.session_id = s.id);
  end if;
  if not v_call.marketing_consent and v_old.marketing_consent then
    perform private.silence_calls(array[p_id]);
  elsif v_call.clicked_at is not null and v_old.clicked_at is null then
    perform private.tell_after_all(v_call);
  end if;
end
$$;
