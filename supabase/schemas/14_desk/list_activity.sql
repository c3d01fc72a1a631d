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
      when 'paused' then 'delivery'
      when 'resumed' then 'delivery'
      else 'site' end
    when p_proof.contract = any (private.owner_contracts()) then p_proof.contract
    when p_proof.contract = 'connection' then p_proof.to_state
    when p_proof.contract = 'delivery' then 'switched'
    when p_proof.contract = 'privacy' then p_proof.to_state
    when p_proof.contract = 'lead' then
      case p_proof.to_state when 'noted' then 'note' else 'contact' end
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

-- activity_key: what the log is sorted by besides the time: the actor's address or name of today,
-- so that a person's lines stay together, or what people call the move.
create function private.activity_key(p_proof public.transition_proofs, p_sort text) returns text
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sort like 'who%' then coalesce(lower(private.actor_as_of(
      p_proof.actor_kind, p_proof.actor_id, private.current_moment())), '')
    else private.activity_kind(p_proof) end
$$;

-- matching_proofs: the proofs that a filter of the log shows, in its order. Only operators search
-- notes.
-- The order is written into the query: the newest first are read from their index, page by page.
create function private.matching_proofs(p_site public.sites, p_filter jsonb, p_limit int)
returns setof public.transition_proofs
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sort text := coalesce(p_filter ->> 'sort', 'newest');
  v_is_up boolean := v_sort = 'oldest';
  v_is_keyed boolean := v_sort like 'who%' or v_sort like 'what%';
  v_is_operator boolean := public.has_site_role(p_site.id, 'operator');
  v_text text := nullif(btrim(left(p_filter ->> 'q', 80)), '');
  v_id uuid := nullif(split_part(p_filter ->> 'cursor', '_', 2), '')::uuid;
  v_after text;
begin
  if v_is_keyed and v_id is not null then
    select private.activity_key(p, v_sort) into v_after
      from public.transition_proofs p where p.id = v_id and p.site_id = p_site.id;
  end if;
  return query execute format($q$
    select p.* from public.transition_proofs p %1$s
    where p.site_id = $1
      and ($2 or p.contract <> all (private.owner_contracts()))
      and %2$s
      and ($5 is null or p.occurred_at >= $5)
      and ($6 is null or p.occurred_at < $6)
      and ($7 is null or p.actor_id = $7)
      and ($8 is null or private.activity_kind(p) = $8)
      and ($9 is null
        or $10 and exists (select from private.proof_notes n
          where n.proof_id = p.id
            and translate(lower(translate(n.note, 'Iİ', 'ii')), 'ı', 'i') like $9)
        or exists (select from public.sales s
          where s.id = (p.facts ->> 'saleId')::uuid
            and translate(lower(translate(concat_ws(E'\n', s.external_ref, s.order_id),
              'Iİ', 'ii')), 'ı', 'i') like $9))
    order by %3$s limit $11$q$,
    -- A name is looked up once for each actor, not for each line.
    case when v_sort like 'who%' then $q$
      join (
        select a.actor_kind, a.actor_id, coalesce(lower(private.actor_as_of(
          a.actor_kind, a.actor_id, private.current_moment())), '') as key
        from (select distinct x.actor_kind, x.actor_id
          from public.transition_proofs x where x.site_id = $1) a) k
        on k.actor_kind = p.actor_kind and k.actor_id is not distinct from p.actor_id$q$
      when v_is_keyed then $q$
      join lateral (select private.activity_kind(p) as key) k on true$q$ else '' end,
    case
      when v_id is null then 'true'
      when v_is_keyed then format(
        '(k.key %s $12 or (k.key = $12 and (p.occurred_at, p.id) < ($3, $4)))',
        case when v_sort like '%-z' then '<' else '>' end)
      else format('(p.occurred_at, p.id) %s ($3, $4)', case when v_is_up then '>' else '<' end) end,
    case when v_is_keyed
      then format('k.key %s, ', case when v_sort like '%-z' then 'desc' else 'asc' end)
      else '' end
      || case when v_is_up then 'p.occurred_at, p.id' else 'p.occurred_at desc, p.id desc' end)
    using p_site.id, public.has_site_role(p_site.id, 'owner'),
      nullif(split_part(p_filter ->> 'cursor', '_', 1), '')::timestamptz, v_id,
      private.start_of_day(p_site, coalesce(p_filter ->> 'from', p_filter ->> 'day')::date),
      private.start_of_day(p_site, coalesce(p_filter ->> 'to', p_filter ->> 'day')::date + 1),
      (p_filter ->> 'actor')::uuid, p_filter ->> 'kind', private.search_pattern(v_text),
      v_is_operator, p_limit, v_after;
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
    perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;

-- list_activity: the log, newest first unless sorted otherwise.
--   Takes    p_filter {actor?, kind?, q?, from?, to? or day? (of the site's calendar, both
--            included), sort? oldest | who | who-z | what | what-z, cursor?, limit?}. q finds a
--            note, a reference or an order id.
--   Returns  {entries, actors, next, total}: actors can be chosen in the filter; next is the cursor
--            of the next page, null at the end; total on the first page only, counted up to 10,000.
--            callId, saleId and rowId of an entry say what it was about.
--   Shows    an actor by id and by the address of that time. Lines of owner_contracts are for
--            owners.
--   Callers  viewers.
create function public.list_activity(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_limit int := least(greatest(coalesce((p_filter ->> 'limit')::int, 50), 1), 500);
  v_entries jsonb;
begin
  select coalesce(jsonb_agg(to_jsonb(t) - 'place' order by t.place), '[]')
    into v_entries
    from (
      select p.place, p.id, p.occurred_at as at, p.kind, p.contract,
        p.entity_id as "entityId", p.actor_kind as "actorKind", p.actor_id as "actorId",
        private.actor_as_of(p.actor_kind, p.actor_id, p.occurred_at) as "actorName",
        p.from_state as "from", p.to_state as "to",
        private.readable_note(p.site_id, n.note) as note, p.facts -> 'changed' as changes,
        p.facts ->> 'role' as role,
        (p.facts ->> 'amountCents')::bigint as "amountCents",
        (p.facts ->> 'amountBeforeCents')::bigint as "amountBeforeCents",
        p.facts ->> 'currency' as currency,
        s.external_ref as "externalRef", c.channel, c.called_at as "calledAt",
        c.id as "callId", s.id as "saleId",
        case p.contract when 'conversion' then p.entity_id end as "rowId"
      from (
        select m.*, private.activity_kind(m) as kind, row_number() over () as place
        from private.matching_proofs(v_site, p_filter, v_limit) m) p
        left join private.proof_notes n on n.proof_id = p.id
        left join public.sales s on s.id = (p.facts ->> 'saleId')::uuid
        left join public.calls c
          on c.id = case when p.contract in ('call', 'lead') then p.entity_id else s.call_id end
      ) t;
  return jsonb_build_object(
    'entries', v_entries,
    'total', case when p_filter ->> 'cursor' is null then (
      select count(*) from private.matching_proofs(v_site, p_filter - 'sort', 10000)) end,
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
