-- Two reports of one call, from the tracker and from a telephone system, become one row. The
-- telephone system's is signed. What it says replaces what the tracker says, which anybody can
-- send.

-- store_call: stores a report of a call. Two reports of one click make one call, in whichever order
-- they are stored.
--   Returns  1 when the call is new.
create function private.store_call(p_session public.sessions, p_at timestamptz, p_event jsonb)
returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_new public.calls;
  v_id uuid;
  v_is_signed boolean := p_event ->> 'reporter' is not distinct from 'system';
  v_held jsonb;   -- what a telephone system said before; signed
  v_signed jsonb;
begin
  delete from private.held_reports h
    where h.site_id = p_session.site_id and h.intent_stamp = p_event ->> 'intentStamp'
    returning h.report into v_held;
  v_held := coalesce(v_held, '{}');
  v_signed := case when v_is_signed and p_event ->> 'phone' is not null
      then v_held - '{callerHash,callerKeyId}'::text[] else v_held end
    || case when v_is_signed then jsonb_strip_nulls(p_event) else '{}' end;
  if v_is_signed and not p_session.marketing_consent
     and not private.refused_marketing(p_session.site_id, p_session.visitor_id) then
    perform private.hold_report(p_session.site_id, p_event ->> 'intentStamp', v_signed);
  end if;
  v_new.site_id := p_session.site_id;
  v_new.session_id := p_session.id;
  v_new.visitor_id := p_session.visitor_id;
  v_new.reported_by := coalesce(p_event ->> 'reporter', 'tracker');
  v_new.signed_at := case when v_is_signed then p_at end;
  v_new.intent_stamp := p_event ->> 'intentStamp';
  v_new.channel := p_event ->> 'channel';
  v_new.marketing_consent := p_session.marketing_consent;
  v_new.page_url := nullif(p_event ->> 'url', '');
  v_new.called_at := p_at;
  v_new.score_breakdown := private.score_breakdown(private.score_call(p_session, p_at));
  v_new.lead_score := private.score_of(v_new.score_breakdown);
  v_new.click_is_signed := p_session.marketing_consent and coalesce(
    v_signed ->> 'gclid', v_signed ->> 'wbraid', v_signed ->> 'gbraid') is not null;
  if p_session.marketing_consent then
    v_new.phone := coalesce(v_signed ->> 'phone', p_event ->> 'phone');
    -- The hash of the same number.
    v_new.caller_hash :=
      case when v_signed ? 'phone' then v_signed else p_event end ->> 'callerHash';
    v_new.caller_key_id :=
      case when v_signed ? 'phone' then v_signed else p_event end ->> 'callerKeyId';
    v_new.gclid := p_session.gclid;
    v_new.wbraid := p_session.wbraid;
    v_new.gbraid := p_session.gbraid;
    v_new.clicked_at := p_session.clicked_at;
    if v_new.click_is_signed then
      v_new.gclid := v_signed ->> 'gclid';
      v_new.wbraid := v_signed ->> 'wbraid';
      v_new.gbraid := v_signed ->> 'gbraid';
      v_new.clicked_at := private.see_click(v_new.site_id, p_at,
        v_signed || jsonb_build_object('visitor', p_session.visitor_id));
    elsif v_new.clicked_at is null and coalesce(
        p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') is not null then
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
    insert into public.calls
        (site_id, session_id, visitor_id, reported_by, intent_stamp, channel, phone, caller_hash,
        caller_key_id, gclid, wbraid, gbraid, clicked_at, marketing_consent, lead_score,
        score_breakdown, page_url, called_at, created_at, updated_at, signed_at, click_is_signed)
      values (v_new.site_id, v_new.session_id, v_new.visitor_id, v_new.reported_by,
        v_new.intent_stamp, v_new.channel, v_new.phone, v_new.caller_hash,
        v_new.caller_key_id, v_new.gclid, v_new.wbraid, v_new.gbraid, v_new.clicked_at,
        v_new.marketing_consent, v_new.lead_score, v_new.score_breakdown, v_new.page_url,
        v_new.called_at, private.current_moment(), private.current_moment(), v_new.signed_at,
        v_new.click_is_signed)
      on conflict (site_id, intent_stamp) do nothing
      returning id into v_id;
    if v_id is not null then
      perform private.emit_signal(v_id, 'INTENT_CAPTURED', p_at);
      return 1;
    end if;
  end loop;   -- somebody else stored it between our read and our insert
end
$$;

-- merge_call: adds another report to a call. The visit and its consent come from the tracker; the
-- caller's number, the time and any click id that the telephone system names come from there. What
-- a report does not know stays, and so does a number that an operator typed, unless the visitor
-- takes consent back. Called with the call locked.
create function private.merge_call(p_id uuid, p_new public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_old public.calls;
  v_call public.calls;
  v_is_visit boolean;      -- the tracker's first report of the call
  v_is_better boolean;     -- signed, while the call was not
  v_is_worse boolean;      -- not signed, while the call is
  v_takes_click boolean;
begin
  select c.* into v_old from public.calls c where c.id = p_id;
  v_is_visit := p_new.reported_by = 'tracker' and v_old.reported_by = 'system';
  v_is_better := p_new.signed_at is not null and v_old.signed_at is null;
  v_is_worse := p_new.signed_at is null and v_old.signed_at is not null;
  v_call := v_old;
  if v_is_visit then
    v_call.reported_by := 'tracker';
    v_call.session_id := p_new.session_id;
    v_call.visitor_id := p_new.visitor_id;
    v_call.channel := p_new.channel;
    v_call.page_url := coalesce(p_new.page_url, v_old.page_url);
    v_call.marketing_consent := p_new.marketing_consent;
  end if;
  v_call.called_at := case
    when v_is_better then p_new.called_at
    when v_is_worse then v_old.called_at
    else least(v_old.called_at, p_new.called_at) end;
  if v_is_visit or v_call.called_at <> v_old.called_at then
    v_call.score_breakdown := coalesce(
      (select private.score_breakdown(private.score_call(s, v_call.called_at))
        from public.sessions s where s.id = v_call.session_id), v_old.score_breakdown);
  end if;
  v_call.marketing_consent := v_call.marketing_consent
    and not private.refused_marketing(v_call.site_id, v_call.visitor_id);
  v_takes_click := p_new.clicked_at is not null and (v_old.clicked_at is null
    or not v_old.click_is_signed and (v_is_visit or p_new.click_is_signed));
  if v_takes_click then
    v_call.gclid := p_new.gclid;
    v_call.wbraid := p_new.wbraid;
    v_call.gbraid := p_new.gbraid;
    v_call.clicked_at := p_new.clicked_at;
    v_call.click_is_signed := p_new.click_is_signed;
  end if;
  v_call.phone := case when v_is_worse
    then coalesce(v_old.phone, p_new.phone) else coalesce(p_new.phone, v_old.phone) end;
  if v_call.phone is distinct from v_old.phone
     or v_old.caller_hash is null and p_new.caller_hash is not null then
    v_call.caller_hash := p_new.caller_hash;   -- of the same number
    v_call.caller_key_id := p_new.caller_key_id;
  end if;
  if not v_call.marketing_consent then
    v_call.phone := null;
    v_call.caller_hash := null;
    v_call.caller_key_id := null;
    v_call.gclid := null;
    v_call.wbraid := null;
    v_call.gbraid := null;
    v_call.clicked_at := null;
    v_call.click_is_signed := false;
  end if;
  if private.number_is_typed(v_old) and (v_call.marketing_consent or not v_old.marketing_consent)
  then
    v_call.phone := v_old.phone;
    v_call.caller_hash := v_old.caller_hash;
    v_call.caller_key_id := v_old.caller_key_id;
  end if;
  update public.calls c
    set reported_by = v_call.reported_by,
        session_id = v_call.session_id,
        visitor_id = v_call.visitor_id,
        channel = v_call.channel,
        page_url = v_call.page_url,
        score_breakdown = v_call.score_breakdown,
        lead_score = private.score_of(v_call.score_breakdown),
        marketing_consent = v_call.marketing_consent,
        phone = v_call.phone,
        caller_hash = v_call.caller_hash,
        caller_key_id = v_call.caller_key_id,
        gclid = v_call.gclid,
        wbraid = v_call.wbraid,
        gbraid = v_call.gbraid,
        clicked_at = v_call.clicked_at,
        click_is_signed = v_call.click_is_signed,
        called_at = v_call.called_at,
        signed_at = least(v_old.signed_at, p_new.signed_at),
        updated_at = private.current_moment()
    where c.id = p_id
    returning * into v_call;
  if v_is_visit
      and v_old.visitor_id = v_old.intent_stamp
      and v_old.session_id <> v_call.session_id then
    -- The old visit stood in until the tracker reported the real one.
    update private.events e set session_id = v_call.session_id
      where e.session_id = v_old.session_id;
    delete from public.sessions s where s.id = v_old.session_id
      and not exists (select from public.calls c where c.session_id = s.id);
  end if;
  if not v_call.marketing_consent and v_old.marketing_consent then
    perform private.silence_calls(array[p_id]);
  elsif v_call.clicked_at is not null and v_old.clicked_at is null then
    perform private.use_late_click(v_call);
  elsif v_takes_click and v_call.marketing_consent and (v_call.gclid, v_call.wbraid, v_call.gbraid)
      is distinct from (v_old.gclid, v_old.wbraid, v_old.gbraid) then
    perform private.use_better_click(v_call, v_old);
  end if;
end
$$;
