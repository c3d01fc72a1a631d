-- What erasing does to the rows of a person.

-- erase_found: erases what find_person found. Called with visitors, stamps and calls locked.
--   In flight  as with a withdrawal of consent: what Google has stays there, what waits is closed,
--              and a row in flight is closed when its answer arrives.
--   Ingest     captured events are marked as stored and emptied: a worker that holds them stores
--              nothing. The tombstones keep out what arrives later.
create function private.erase_found(p_site public.sites, p private.person) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.mark_erased(p_site.id, 'visitor', p.visitors);
  perform private.mark_erased(p_site.id, 'stamp', p.stamps);
  perform private.mark_erased(p_site.id, 'click', p.clicks);
  perform private.erase_leads(p_site, p);
  delete from private.proof_notes n where n.proof_id in (select private.notes_of(p));
  update public.queue_actions a set reason = null
    where a.site_id = p_site.id and private.mentions(p, a.reason);
  update public.queue_actions a set filter = '{}'
    where a.site_id = p_site.id and private.names_person(p, a.filter::text);
  delete from public.queue_action_previews v
    where v.site_id = p_site.id and private.names_person(p, v.filter::text);
  perform private.erase_visits(p.visitors, private.sessions_of(p), p_site.id);
  delete from private.held_reports h where h.site_id = p_site.id
    and h.intent_stamp in (select private.held_of(p_site, p));
  perform private.empty_captured(array(select private.captured_of(p_site, p)));
  perform private.clean_errors(p);
end
$$;

-- erase_leads: calls and sales keep id, status, amount and time. Nothing more of them is sent.
create function private.erase_leads(p_site public.sites, p private.person) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        click_is_signed = false, phone = null, caller_hash = null, caller_key_id = null,
        contact_name = null, page_url = null,
        visitor_id = private.erased_name(coalesce(c.session_id, c.id)), updated_at = v_now
    where c.id = any (p.call_ids);
  perform from public.sales s where s.id = any (p.sale_ids) order by s.id for update;
  perform private.silence_calls(p.call_ids);
  perform private.silence_sales(array(
    select s.id from public.sales s where s.id = any (p.sale_ids)
      and not coalesce(s.call_id = any (p.call_ids), false)
      and not coalesce(s.sibling_call_id = any (p.call_ids), false)));
  -- The hash over what a till sent could be tested for a number.
  update public.sales s set note = null, external_hash = null, updated_at = v_now
    where s.id = any (p.sale_ids);
  update public.sales s set note = null, updated_at = v_now
    where s.site_id = p_site.id and s.note is not null and private.mentions(p, s.note);
end
$$;

-- erased_name: stands in for the visitor of a row that stays.
create function private.erased_name(p_id uuid) returns text
language sql immutable set search_path = ''
as $$ select 'erased-' || p_id $$;

-- erase_visits: deletes visits with their events, choices and clicks. A visit that led to a lead
-- stays as an empty row: one visit is one sale.
create function private.erase_visits(p_visitors text[], p_session_ids uuid[], p_site_id uuid)
returns void
language plpgsql security definer set search_path = ''
as $$
begin
  delete from private.events e where e.session_id = any (p_session_ids);
  delete from public.sessions s where s.id = any (p_session_ids)
    and not exists (select from public.calls c where c.session_id = s.id);
  perform private.empty_visits(p_session_ids);
  delete from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = any (p_visitors);
  delete from private.click_sightings c
    where c.site_id = p_site_id and c.visitor_id = any (p_visitors);
end
$$;

-- empty_visits: takes from visits all that tells who it was and where they came from.
create function private.empty_visits(p_session_ids uuid[]) returns void
language sql security definer set search_path = ''
as $$
  update public.sessions s
    set visitor_id = private.erased_name(s.id), landing_url = null, referrer = null,
        device = null, country = null, city = null, utm = '{}', gclid = null, wbraid = null,
        gbraid = null, clicked_at = null, marketing_consent = false
    where s.id = any (p_session_ids)
$$;

-- empty_captured: captured events end without being stored. They were billed when they were
-- captured, so the running figure counts them.
--   Moves    PENDING, PROCESSING, FAILED -> RECOVERED.
create function private.empty_captured(p_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  perform from public.ingest_fallback_buffer b where b.id = any (p_ids) order by b.id for update;
  insert into public.site_usage_monthly as u (site_id, year_month, event_count, updated_at)
    select b.site_id, private.billing_month(b.created_at), count(*), v_now
    from public.ingest_fallback_buffer b where b.id = any (p_ids) and not b.counted
    group by 1, 2 order by 1, 2
    on conflict (site_id, year_month) do update
      set event_count = u.event_count + excluded.event_count, updated_at = excluded.updated_at;
  update public.ingest_fallback_buffer b
    set status = 'RECOVERED', claim_token = null, claimed_at = null, counted = true,
        last_error = null, payload = '{}', updated_at = v_now
    where b.id = any (p_ids);
end
$$;

-- without_ids: a provider's message without the ids it repeats.
create function private.without_ids(p_text text, p_ids text[]) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_id text;
begin
  foreach v_id in array p_ids loop
    p_text := replace(p_text, v_id, '…');
  end loop;
  return p_text;
end
$$;

-- plain_ids: the ids of a person that can be told from other text: one that is shorter than 12
-- characters or not plain could be any part of it.
create function private.plain_ids(p private.person) returns text[]
language sql immutable set search_path = ''
as $$
  select array(
    select i from unnest(p.clicks || p.visitors || p.phone_hashes || p.email_hashes) i
    where i ~ '^[A-Za-z0-9_.-]{12,}$')
$$;

-- names_person: true if a text names the person: what an operator searched the queue for.
create function private.names_person(p private.person, p_text text) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(private.mentions(p, p_text)
    or p_text <> private.without_ids(p_text, private.plain_ids(p)), false)
$$;

-- clean_errors: takes click ids and hashes out of what a provider answered.
create function private.clean_errors(p private.person) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids text[] := private.plain_ids(p);
begin
  update public.offline_conversion_queue q
    set last_error = private.without_ids(q.last_error, v_ids),
        attempt_error = private.without_ids(q.attempt_error, v_ids)
    where q.sale_id = any (p.sale_ids)
      and concat(q.last_error, q.attempt_error)
        <> private.without_ids(concat(q.last_error, q.attempt_error), v_ids);
  update private.queue_action_rows r
    set before = private.without_ids(r.before::text, v_ids)::jsonb,
        after = private.without_ids(r.after::text, v_ids)::jsonb
    where r.queue_id in (
        select q.id from public.offline_conversion_queue q where q.sale_id = any (p.sale_ids))
      and concat(r.before, r.after) <> private.without_ids(concat(r.before, r.after), v_ids);
  update public.marketing_signals g set last_error = private.without_ids(g.last_error, v_ids)
    where g.call_id = any (p.call_ids)
      and g.last_error <> private.without_ids(g.last_error, v_ids);
end
$$;
