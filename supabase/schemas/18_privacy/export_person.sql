-- A person's right to know: everything that is stored of them, as it is stored.

-- export_person: what is stored of a person. Events come in pages of 1,000. Each page leaves a line
-- in the activity log: a line for the first alone could be avoided by asking for the second.
--   Takes    p_person as preview_erasure; p_after: the cursor of the page before, null for the
--            first.
--   Returns  {person, events, next}: person on the first page only; next is null on the last.
--   Refuses  403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.export_person(p_public_id text, p_person jsonb, p_after text default null)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.export_page(v_site, private.user_actor(), p_person, p_after);
end
$$;
grant execute on function public.export_person(text, jsonb, text) to authenticated;

-- export_page: the same for whoever runs the installation.
create function private.export_page(
  p_site public.sites, p_actor private.actor, p_asked jsonb, p_after text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_page constant int := 1000;
  v_person private.person := private.find_person(p_site, p_asked, 5000);
  v_at timestamptz := nullif(split_part(p_after, '_', 1), '')::timestamptz;
  v_id uuid := nullif(split_part(p_after, '_', 2), '')::uuid;
  v_events jsonb;
begin
  select coalesce(jsonb_agg(to_jsonb(t) - '{site_id}'::text[] order by t.received_at, t.id), '[]')
    into v_events from (
      select e.* from private.events e
      where e.session_id = any (private.sessions_of(v_person))
        and (v_at is null or (e.received_at, e.id) > (v_at, v_id))
      order by e.received_at, e.id limit v_page) t;
  perform private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'privacy',
    'contractVersion', 'privacy/1',
    'entityId', private.uuid_v7(),
    'to', 'exported',
    'facts', jsonb_build_object('askedBy', p_asked ->> 'kind')));
  return jsonb_build_object(
    'person', case when p_after is null then private.person_json(p_site, v_person) end,
    'events', v_events,
    'next', case when jsonb_array_length(v_events) = v_page
      then (v_events -> -1 ->> 'received_at') || '_' || (v_events -> -1 ->> 'id') end);
end
$$;

-- person_json: everything of a person but the events.
create function private.person_json(p_site public.sites, p private.person) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'site', jsonb_build_object('siteId', p_site.public_id, 'name', p_site.name),
    'exportedAt', private.current_moment(),
    'visitorIds', to_jsonb(p.visitors),
    'leads', private.rows_json(array(
      select to_jsonb(c) from public.calls c where c.id = any (p.call_ids) order by c.called_at)),
    'sales', private.rows_json(array(
      select to_jsonb(s) || jsonb_build_object(
        'ledger', private.rows_json(array(
          select to_jsonb(r) - '{actor_kind,actor_id}'::text[] from public.revenue_snapshots r
          where r.sale_id = s.id order by r.sequence)),
        'sent_to_google', private.rows_json(array(
          select to_jsonb(d) from public.provider_dispatches d
          where d.sale_id = s.id order by d.dispatched_at)))
      from public.sales s where s.id = any (p.sale_ids) order by s.occurred_at)),
    'notes', private.rows_json(array(
      select jsonb_build_object('at', t.occurred_at, 'about', t.contract, 'note', n.note)
      from private.proof_notes n join public.transition_proofs t on t.id = n.proof_id
      where n.proof_id in (select private.notes_of(p)) order by t.occurred_at)),
    'signals', private.rows_json(array(
      select to_jsonb(g) - '{claim_token,last_claim}'::text[] from public.marketing_signals g
      where g.call_id = any (p.call_ids) order by g.occurred_at)),
    'identifiersHandedOut', private.rows_json(array(
      select to_jsonb(i) - 'salt' from public.dispatch_identifiers i
        join public.offline_conversion_queue q on q.id = i.queue_id
      where q.sale_id = any (p.sale_ids) and q.attempt_count > 0 order by i.handed_at)),
    'visits', private.rows_json(array(
      select to_jsonb(s) from public.sessions s
      where s.site_id = p_site.id and s.visitor_id = any (p.visitors) order by s.started_at)),
    'choices', private.rows_json(array(
      select to_jsonb(c) - 'id' from public.consent_choices c
      where c.site_id = p_site.id and c.visitor_id = any (p.visitors) order by c.chosen_at)),
    'clicksFirstSeen', private.rows_json(array(
      select to_jsonb(c) from private.click_sightings c
      where c.site_id = p_site.id and c.visitor_id = any (p.visitors)
      order by c.first_seen_at)),
    'captured', private.rows_json(array(
      select jsonb_build_object('receivedAt', b.created_at, 'payload', b.payload)
      from public.ingest_fallback_buffer b
      where b.id in (select private.captured_of(p_site, p)) order by b.created_at)),
    'heldReports', private.rows_json(array(
      select to_jsonb(h) from private.held_reports h
      where h.site_id = p_site.id and h.intent_stamp in (select private.held_of(p_site, p)))))
$$;

-- rows_json: rows as a list, without the internal id of the site.
create function private.rows_json(p_rows jsonb[]) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_agg(r - 'site_id' order by place), '[]')
  from unnest(p_rows) with ordinality t (r, place)
$$;
