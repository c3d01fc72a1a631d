-- A person's right to be forgotten. Rows that the ledger, proofs and bills refer to stay with their
-- ids and amounts; everything that tells who it was goes.

-- erase_person: one step of erasing a person. Repeat it with the receipt's id until isDone.
--   Takes    p_person {kind, value, pageViews?}: pageViews is how many the app deleted in Redis.
--   A step   deletes up to 5,000 events, or erases up to 200 leads with all that belongs to them.
--   Safe     to repeat; beside ingest, claims, answers and seals: see erase_found.
--   Returns  {isDone, receiptId, visitors, receipt}: receipt with its salt when done.
--   Refuses  403 SIGN_IN_AGAIN.
--   Callers  owners.
create function public.erase_person(
  p_public_id text, p_person jsonb, p_receipt_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.erase_step(v_site, private.user_actor(), p_person, p_receipt_id);
end
$$;
grant execute on function public.erase_person(text, jsonb, uuid) to authenticated;

-- erase_step: the same for whoever runs the installation.
create function private.erase_step(
  p_site public.sites, p_actor private.actor, p_asked jsonb, p_receipt_id uuid
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_limit constant int := 200;
  v_seen private.person := private.find_person(p_site, p_asked, v_limit);
  v_person private.person;
  v_receipt public.erasure_receipts :=
    private.open_receipt(p_site.id, p_actor, p_asked ->> 'kind', p_receipt_id);
  v_counts jsonb;
begin
  -- A robot's visit can have any number of events. They go first: nothing else refers to them.
  with gone as (
    delete from private.events e using (
      select x.received_at, x.id from private.events x
      where x.session_id = any (private.sessions_of(v_seen)) limit 5000) t
    where e.received_at = t.received_at and e.id = t.id
    returning 1)
  select jsonb_build_object('events', count(*)) into v_counts from gone;
  if (v_counts ->> 'events')::int < 5000 then
    -- As store_events locks: visitors by their hash, then calls by their id. A telephone system's
    -- report is stored under its stamp.
    perform pg_catalog.pg_advisory_xact_lock(t.visitor) from (
      select distinct hashtextextended(p_site.id || '/' || v, 0) as visitor
      from unnest(v_seen.visitors || v_seen.stamps) v order by 1) t;
    perform private.lock_calls(v_seen.call_ids);
    v_person := private.find_person(p_site, p_asked, v_limit);
  end if;
  -- Somebody stored more of this person before we had the locks: the next step takes them all.
  if v_person.site_id is null or not (v_person.visitors <@ v_seen.visitors
      and v_person.stamps <@ v_seen.stamps and v_person.call_ids <@ v_seen.call_ids) then
    update public.erasure_receipts r set counts = private.add_counts(r.counts, v_counts)
      where r.id = v_receipt.id;
    return jsonb_build_object(
      'isDone', false, 'receiptId', v_receipt.id, 'visitors', to_jsonb(v_seen.visitors));
  end if;
  select private.add_counts(v_counts, jsonb_object_agg(k.kind, k.rows)) into v_counts
    from private.person_kinds(p_site, v_person) k;
  perform private.erase_found(p_site, v_person);
  update public.erasure_receipts r set counts = private.add_counts(r.counts, v_counts)
    where r.id = v_receipt.id returning * into v_receipt;
  if cardinality(v_person.call_ids) >= v_limit then
    return jsonb_build_object(
      'isDone', false, 'receiptId', v_receipt.id, 'visitors', to_jsonb(v_person.visitors));
  end if;
  return jsonb_build_object(
    'isDone', true, 'receiptId', v_receipt.id, 'visitors', to_jsonb(v_person.visitors),
    'receipt', private.finish_receipt(p_site, p_actor, p_asked, v_receipt));
end
$$;

-- finish_receipt: proves the erasure and closes its receipt.
create function private.finish_receipt(
  p_site public.sites, p_actor private.actor, p_asked jsonb, p_receipt public.erasure_receipts
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_salt text := encode(extensions.gen_random_bytes(16), 'hex');
  v_asked private.person := private.asked_person(p_site, p_asked);
  v_hash text := private.sha256_hex(v_salt || ':'
    || coalesce(v_asked.phone, v_asked.email, v_asked.clicks[1], v_asked.visitors[1]));
  v_counts jsonb := private.add_counts(p_receipt.counts, jsonb_build_object(
    'pageViews', least(greatest(coalesce((p_asked ->> 'pageViews')::int, 0), 0), 1000000)));
  v_receipt public.erasure_receipts;
begin
  update public.erasure_receipts r
    set counts = v_counts, identifier_hash = v_hash, finished_at = private.current_moment(),
        proof_id = private.prove(p_site.id, p_actor, jsonb_build_object(
          'contract', 'privacy',
          'contractVersion', 'privacy/1',
          'entityId', p_receipt.id,
          'to', 'erased',
          'facts', jsonb_build_object(
            'askedBy', p_receipt.asked_by, 'identifierHash', v_hash, 'counts', v_counts)))
    where r.id = p_receipt.id returning * into v_receipt;
  return private.receipt_json(v_receipt) || jsonb_build_object('salt', v_salt);
end
$$;
