-- The rows about a person, kind by kind: what a preview counts, an export gives and an erase
-- reaches.

-- notes_of: the proofs whose note is about the person: notes on their leads, sales and conversions,
-- and notes elsewhere that name the number or the address that was asked for.
create function private.notes_of(p_person private.person) returns setof uuid
language sql stable security definer set search_path = ''
as $$
  select n.proof_id from private.proof_notes n
    join public.transition_proofs p on p.id = n.proof_id
  where p.entity_id = any (p_person.call_ids || p_person.sale_ids || array(
    select q.id from public.offline_conversion_queue q where q.sale_id = any (p_person.sale_ids)))
  union
  select n.proof_id from public.transition_proofs p
    join private.proof_notes n on n.proof_id = p.id
  where coalesce(p_person.phone, p_person.email) is not null
    and p.site_id = p_person.site_id and private.mentions(p_person, n.note)
    -- Who was invited, and why a day was credited, is the record of an act, not of a visitor.
    and p.contract <> all (private.owner_contracts() || array['credit'])
$$;

-- captured_of: the captured events of the person that are not stored.
create function private.captured_of(p_site public.sites, p_person private.person)
returns setof uuid
language sql stable security definer set search_path = ''
as $$
  select b.id from public.ingest_fallback_buffer b
  where b.site_id = p_site.id and b.status <> 'RECOVERED'
    and (b.payload ->> 'visitor' = any (p_person.visitors)
      or b.payload ->> 'intentStamp' = any (p_person.stamps)
      or array[b.payload ->> 'gclid', b.payload ->> 'wbraid', b.payload ->> 'gbraid']
        && p_person.asked_clicks
      or (b.payload ->> 'phone' is not null and private.phone_hash(
        private.e164(p_site, b.payload ->> 'phone')) = any (p_person.phone_hashes)))
$$;

-- held_of: the stamps of reports of the person that wait for their call.
create function private.held_of(p_site public.sites, p_person private.person) returns setof text
language sql stable security definer set search_path = ''
as $$
  select h.intent_stamp from private.held_reports h
  where h.site_id = p_site.id
    and (h.intent_stamp = any (p_person.stamps || p_person.visitors)
      or array[h.report ->> 'gclid', h.report ->> 'wbraid', h.report ->> 'gbraid']
        && p_person.asked_clicks
      or private.phone_hash(private.e164(p_site, h.report ->> 'phone'))
        = any (p_person.phone_hashes)
      or (private.e164(p_site, h.report ->> 'phone') is null
        and private.end_alike(private.loose_number(p_site, h.report ->> 'phone'),
          private.loose_number(p_site, p_person.phone))))
$$;

-- person_kinds: how many rows of each kind are about the person, and from when to when.
create function private.person_kinds(p_site public.sites, p_person private.person)
returns table (kind text, rows bigint, first_at timestamptz, last_at timestamptz)
language sql stable security definer set search_path = ''
as $$
  select 'leads', count(*), min(c.called_at), max(c.called_at)
    from public.calls c where c.id = any (p_person.call_ids)
  union all
  select 'sales', count(*), min(s.occurred_at), max(s.occurred_at)
    from public.sales s where s.id = any (p_person.sale_ids)
  union all
  select 'visits', count(*), min(s.started_at), max(s.last_seen_at) from public.sessions s
    where s.site_id = p_site.id and s.visitor_id = any (p_person.visitors)
  union all
  select 'events', count(*), min(e.happened_at), max(e.happened_at)
    from private.events e where e.session_id = any (private.sessions_of(p_person))
  union all
  select 'choices', count(*), min(c.chosen_at), max(c.last_said_at)
    from public.consent_choices c
    where c.site_id = p_site.id and c.visitor_id = any (p_person.visitors)
  union all
  select 'notes', count(*), min(t.at), max(t.at) from (
    select p.occurred_at as at from public.transition_proofs p
    where p.id in (select private.notes_of(p_person))
    union all
    select s.updated_at from public.sales s
    where s.site_id = p_site.id and s.note is not null
      and (s.id = any (p_person.sale_ids) or private.mentions(p_person, s.note))) t
  union all
  select 'captured', count(*), min(b.created_at), max(b.created_at)
    from public.ingest_fallback_buffer b
    where b.id in (select private.captured_of(p_site, p_person))
  union all
  select 'held', count(*), min(h.held_until - interval '1 hour'),
      max(h.held_until - interval '1 hour')
    from private.held_reports h
    where h.site_id = p_site.id
      and h.intent_stamp in (select private.held_of(p_site, p_person))
  union all
  select 'identifiers', count(*), min(i.handed_at), max(i.handed_at)
    from public.dispatch_identifiers i
    join public.offline_conversion_queue q on q.id = i.queue_id
    where q.sale_id = any (p_person.sale_ids)
$$;

-- sessions_of: the visits of the person.
create function private.sessions_of(p_person private.person) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select s.id from public.sessions s
    where s.site_id = p_person.site_id and s.visitor_id = any (p_person.visitors))
$$;

-- preview_erasure: what erasing a person would reach. Nothing is changed.
--   Takes    p_person {kind: phone | email | click | visitor, value}.
--   Returns  {kinds: [{kind, rows, firstAt, lastAt}], visitors, phoneHashes, atGoogle, inFlight}:
--            visitors for the app, which asks Redis, phoneHashes for the app, which has the vault
--            keys; atGoogle: sales that Google has and keeps.
--   Refuses  403 SIGN_IN_AGAIN: a number is soon guessed from its hash.
--   Callers  owners.
create function public.preview_erasure(p_public_id text, p_person jsonb) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.preview_person(v_site, p_person);
end
$$;
grant execute on function public.preview_erasure(text, jsonb) to authenticated;

-- preview_person: the same for whoever runs the installation.
create function private.preview_person(p_site public.sites, p_asked jsonb) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_person private.person := private.find_person(p_site, p_asked, 5000);
begin
  return jsonb_build_object(
    'kinds', (
      select jsonb_agg(jsonb_build_object(
        'kind', k.kind, 'rows', k.rows, 'firstAt', k.first_at, 'lastAt', k.last_at))
      from private.person_kinds(p_site, v_person) k),
    'visitors', to_jsonb(v_person.visitors),
    'phoneHashes', to_jsonb(v_person.phone_hashes),
    'atGoogle', (
      select count(distinct d.sale_id) from private.standing_dispatches d
      where d.sale_id = any (v_person.sale_ids)),
    'inFlight', (
      select count(*) from public.offline_conversion_queue q
      where q.sale_id = any (v_person.sale_ids) and q.status = 'PROCESSING'));
end
$$;
