-- The activity log: every proven move of a site and every administrative act, in everyday terms,
-- with who made it and what was before.

-- activity_kind: what people call a move.
create function private.activity_kind(p_proof public.transition_proofs) returns text
language sql immutable set search_path = ''
as $$
  select case
    when p_proof.facts ? 'undo' then 'undone'
    when p_proof.contract = 'site' then case p_proof.facts ->> 'act'
      when 'consent' then 'consent'
      when 'settings' then 'settings'
      when 'delivery' then 'delivery'
      else 'site' end
    when p_proof.contract = any (private.owner_contracts()) then p_proof.contract
    when p_proof.contract = 'connection' then p_proof.to_state
    when p_proof.contract = 'delivery' then 'switched'
    when p_proof.contract = 'privacy' then 'erased'
    when p_proof.contract = 'sale' and p_proof.from_state is null then 'recorded'
    when p_proof.contract = 'sale' and p_proof.from_state = p_proof.to_state then 'corrected'
    when p_proof.to_state in ('sealed', 'CONFIRMED') then 'sealed'
    when p_proof.to_state in ('cancelled', 'CANCELED') then 'cancelled'
    when p_proof.to_state = 'junk' then 'junk'
    when p_proof.contract = 'call' then 'stage'
    when p_proof.contract = 'conversion' and p_proof.to_state = 'FAILED' then 'stopped'
    when p_proof.contract = 'conversion' then 'requeued'
    else 'other' end
$$;

-- list_activity: the log, newest first.
--   Takes    p_filter {actor?, kind?, day? (in the site's time zone), cursor?, limit?}.
--   Returns  {entries, actors, next}: actors can be chosen in the filter; next is the cursor of the
--            next page, null at the end.
--   Shows    an actor by id and by the address of that time. Lines of owner_contracts are for
--            owners.
--   Callers  viewers.
create function public.list_activity(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_limit int := least(greatest(coalesce((p_filter ->> 'limit')::int, 50), 1), 500);
  v_at timestamptz := nullif(split_part(p_filter ->> 'cursor', '_', 1), '')::timestamptz;
  v_id uuid := nullif(split_part(p_filter ->> 'cursor', '_', 2), '')::uuid;
  v_day timestamptz := private.start_of_day(v_site, (p_filter ->> 'day')::date);
  v_is_owner boolean := public.has_site_role(v_site.id, 'owner');
  v_entries jsonb;
begin
  select coalesce(jsonb_agg(to_jsonb(t) order by t.at desc, t.id desc), '[]')
    into v_entries
    from (
      select p.id, p.occurred_at as at, private.activity_kind(p) as kind, p.contract,
        p.entity_id as "entityId", p.actor_kind as "actorKind", p.actor_id as "actorId",
        private.actor_as_of(p.actor_kind, p.actor_id, p.occurred_at) as "actorName",
        p.from_state as "from", p.to_state as "to",
        private.readable_note(p.site_id, n.note) as note, p.facts -> 'changed' as changes,
        p.facts ->> 'role' as role,
        (p.facts ->> 'amountCents')::bigint as "amountCents",
        (p.facts ->> 'amountBeforeCents')::bigint as "amountBeforeCents",
        p.facts ->> 'currency' as currency,
        s.external_ref as "externalRef", c.channel, c.called_at as "calledAt"
      from public.transition_proofs p
        left join private.proof_notes n on n.proof_id = p.id
        left join public.sales s on s.id = (p.facts ->> 'saleId')::uuid
        left join public.calls c
          on c.id = case p.contract when 'call' then p.entity_id else s.call_id end
      where p.site_id = v_site.id
        and (v_is_owner or p.contract <> all (private.owner_contracts()))
        and (v_at is null or (p.occurred_at, p.id) < (v_at, v_id))
        and (v_day is null
          or (p.occurred_at >= v_day and p.occurred_at < v_day + interval '1 day'))
        and (p_filter ->> 'actor' is null or p.actor_id = (p_filter ->> 'actor')::uuid)
        and (p_filter ->> 'kind' is null or private.activity_kind(p) = p_filter ->> 'kind')
      order by p.occurred_at desc, p.id desc limit v_limit) t;
  return jsonb_build_object(
    'entries', v_entries,
    'actors', (
      select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'name', a.name)
        order by a.name, a.id), '[]')
      from (
        select m.user_id as id, u.email as name
        from public.site_members m join auth.users u on u.id = m.user_id
        where m.site_id = v_site.id
        union all
        select k.id, k.name from public.site_api_keys k
        where k.site_id = v_site.id and k.revoked_at is null) a),
    'next', case when jsonb_array_length(v_entries) = v_limit
      then (v_entries -> -1 ->> 'at') || '_' || (v_entries -> -1 ->> 'id') end);
end
$$;
grant execute on function public.list_activity(text, jsonb) to authenticated;
