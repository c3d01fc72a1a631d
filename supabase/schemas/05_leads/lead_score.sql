-- How promising a lead is, from what its visitor did.

-- score_breakdown: why a session scores what it scores, for the operator.
create function private.score_breakdown(p_session public.sessions) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'conversion', case when p_session.had_conversion then 50 end,
    'interaction', case when p_session.had_interaction then 10 end,
    'scroll50', case when p_session.scroll_depth >= 50 then 10 end,
    'scroll90', case when p_session.scroll_depth >= 90 then 20 end,
    'hoverIntent', case when p_session.had_hover_intent then 15 end,
    'google', case when p_session.from_google then 5 end,
    'returningAdUser', case when p_session.returning_ad_user then 25 end))
$$;

-- score_of: the points of a breakdown, at most 100.
create function private.score_of(p_breakdown jsonb) returns int
language sql immutable set search_path = ''
as $$
  select least(100, coalesce(sum(v::int), 0))::int from jsonb_each_text(p_breakdown) t (k, v)
$$;

-- score_call: a visit as it scored when the person reached out. Events count if they happened
-- before that, whenever they arrive.
create function private.score_call(p_session public.sessions, p_at timestamptz)
returns public.sessions
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_scored public.sessions := p_session;
begin
  v_scored.had_conversion := true;
  select coalesce(bool_or(e.category = 'interaction'), false),
      coalesce(max(least(greatest(round(e.value), 0), 100))
        filter (where e.action = 'scroll_depth'), 0)::int,
      coalesce(bool_or(e.action = 'hover_intent'), false)
    into v_scored.had_interaction, v_scored.scroll_depth, v_scored.had_hover_intent
    from private.events e
    where e.session_id = p_session.id
      and e.happened_at <= p_at
      and e.received_at >= p_session.started_at
      and e.received_at <= p_session.last_seen_at + private.event_arrival_window();
  return v_scored;
end
$$;

-- rescore_calls: scores calls again when an event is stored late that happened before them.
create function private.rescore_calls(p_session public.sessions, p_at timestamptz) returns void
language sql security definer set search_path = ''
as $$
  update public.calls c
    set score_breakdown = b.breakdown,
        lead_score = private.score_of(b.breakdown),
        updated_at = private.current_moment()
    from public.calls o
      cross join lateral (
        select private.score_breakdown(private.score_call(p_session, o.called_at)) as breakdown) b
    where o.session_id = p_session.id
      and o.called_at >= p_at
      and c.id = o.id
      and c.score_breakdown <> b.breakdown
$$;
