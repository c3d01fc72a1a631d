-- Leads, sales and notes after their time: the rows stay, since sales and proofs refer to them.
-- Each function clears up to p_limit rows from where the last step stopped, and returns how many.

-- cleared_until: where the next step of a kind begins.
create function private.cleared_until(p_site_id uuid, p_kind text) returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select t.cleared_until from private.retention_progress t
    where t.site_id = p_site_id and t.kind = p_kind), '-infinity')
$$;

-- forget_old_calls: calls lose number, clicks, page, visitor and notes, however new.
-- Their visits are emptied.
create function private.forget_old_calls(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[];
  v_until timestamptz;
  v_visitors text[];
  v_sessions uuid[];
begin
  select array_agg(t.id), max(t.called_at) into v_ids, v_until from (
    select c.id, c.called_at from public.calls c
    where c.site_id = p_site_id and c.called_at < p_before
      and c.called_at >= private.cleared_until(p_site_id, 'leads')
      and c.visitor_id not like 'erased-%'
    order by c.called_at, c.id limit p_limit) t;
  select array_agg(c.visitor_id), array_agg(c.session_id) into v_visitors, v_sessions
    from public.calls c where c.id = any (v_ids);
  perform private.lock_calls(v_ids);
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        click_is_signed = false, phone = null, caller_hash = null, caller_key_id = null,
        contact_name = null, page_url = null,
        visitor_id = private.erased_name(coalesce(c.session_id, c.id)),
        updated_at = private.current_moment()
    where c.id = any (v_ids);
  delete from private.proof_notes n using public.transition_proofs p
    where p.id = n.proof_id and p.entity_id = any (v_ids) and p.contract in ('call', 'lead');
  -- A visit with a lead that is not cleared yet waits for it.
  perform private.empty_visits(array(
    select s.id from public.sessions s where s.id = any (v_sessions)
      and not exists (select from public.calls c
        where c.session_id = s.id and c.visitor_id not like 'erased-%')));
  delete from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and not exists (
      select from public.sessions s where s.site_id = p_site_id and s.visitor_id = c.visitor_id);
  delete from private.click_sightings c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and not exists (
      select from public.sessions s where s.site_id = p_site_id and s.visitor_id = c.visitor_id);
  perform private.note_removed(
    p_site_id, 'leads', coalesce(v_until, p_before), coalesce(cardinality(v_ids), 0));
  return coalesce(cardinality(v_ids), 0);
end
$$;

-- forget_old_sales: sales lose note, hashes and clicks. They are far too old to be sent.
create function private.forget_old_sales(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[];
  v_until timestamptz;
begin
  select array_agg(t.id), max(t.occurred_at) into v_ids, v_until from (
    select s.id, s.occurred_at from public.sales s
    where s.site_id = p_site_id and s.occurred_at < p_before
      and s.occurred_at >= private.cleared_until(p_site_id, 'sales')
      and num_nonnulls(s.note, s.customer_hash, s.email_hash, s.external_hash, s.caller_hash,
        s.gclid, s.wbraid, s.gbraid) > 0
    order by s.occurred_at, s.id limit p_limit for update) t;
  update public.sales s
    set note = null, customer_hash = null, email_hash = null, external_hash = null,
        caller_hash = null, caller_key_id = null, gclid = null, wbraid = null, gbraid = null,
        clicked_at = null, updated_at = private.current_moment()
    where s.id = any (v_ids);
  perform private.note_removed(
    p_site_id, 'sales', coalesce(v_until, p_before), coalesce(cardinality(v_ids), 0));
  return coalesce(cardinality(v_ids), 0);
end
$$;

-- forget_old_notes: deletes what people wrote beside moves.
create function private.forget_old_notes(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[];
  v_until timestamptz;
begin
  select array_agg(t.id), max(t.occurred_at) into v_ids, v_until from (
    select p.id, p.occurred_at from public.transition_proofs p
      join private.proof_notes n on n.proof_id = p.id
    where p.site_id = p_site_id and p.occurred_at < p_before
      and p.occurred_at >= private.cleared_until(p_site_id, 'notes')
    order by p.occurred_at, p.id limit p_limit) t;
  delete from private.proof_notes n where n.proof_id = any (v_ids);
  perform private.note_removed(
    p_site_id, 'notes', coalesce(v_until, p_before), coalesce(cardinality(v_ids), 0));
  return coalesce(cardinality(v_ids), 0);
end
$$;
