-- Administrative acts leave a line in the activity log: a proof, written by a trigger in the
-- transaction of the act. A function that forgets to tell cannot exist.

-- owner_contracts: what only owners read in the activity log: these lines name keys, people and
-- prices, which only owners see elsewhere.
create function private.owner_contracts() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['key', 'member', 'invitation', 'secret', 'plan', 'site', 'actions'] $$;

-- note_act: writes the line of an act. The actor is whoever is signed in; otherwise the system.
--   Takes    p_act {contract, entityId, from, to, facts, note}. note names what it was about: a
--            key's name, an address.
create function private.note_act(p_site_id uuid, p_act jsonb) returns void
language sql security definer set search_path = ''
as $$
  select private.prove(p_site_id, private.connecting_actor(),
    p_act || jsonb_build_object('contractVersion', (p_act ->> 'contract') || '/1'))
$$;

-- site_entity: a site in its own proofs. Proofs are shown, and sites.id never leaves, so it is the
-- public id, which is 32 hex digits.
create function private.site_entity(p_site_id uuid) returns uuid
language sql stable security definer set search_path = ''
as $$ select s.public_id::uuid from public.sites s where s.id = p_site_id $$;

-- changed_fields: which fields two versions of a row differ in, as {field: [before, after]}. An
-- object is compared key by key: {"names.seal": ["A", "B"]}. Null before and after is no change.
create function private.changed_fields(p_before jsonb, p_after jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  with fields as (
    select side, case when jsonb_typeof(e.value) = 'object' then e.key || '.' || i.key
        else e.key end as field,
      case when jsonb_typeof(e.value) = 'object' then i.value else e.value end as value
    from (values ('before', p_before), ('after', p_after)) v (side, row)
      cross join jsonb_each(v.row) e
      left join lateral jsonb_each(
        case when jsonb_typeof(e.value) = 'object' then e.value else '{}' end) i on true)
  select coalesce(jsonb_object_agg(d.field, jsonb_build_array(d.before, d.after)), '{}')
  from (
    select f.field, min(f.value::text) filter (where f.side = 'before')::jsonb as before,
      min(f.value::text) filter (where f.side = 'after')::jsonb as after
    from fields f where f.field is not null and f.value <> 'null' group by f.field) d
  where d.before is distinct from d.after
$$;

-- is_new_site: true while the site is being created. Its first owner and first secret belong to
-- that act, and it has its own line.
create function private.is_new_site(p_site_id uuid, p_at timestamptz) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.sites s
    where s.id = p_site_id and s.created_at = p_at and s.created_by = auth.uid())
$$;
