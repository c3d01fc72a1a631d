-- What remains of an erasure: when, by whom, how many rows, and a salted hash of what was asked
-- for. The salt is given out once and not stored: whoever has it can prove that this receipt is
-- about a certain person; nobody can find the person from it.

create table public.erasure_receipts (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  asked_by text not null,        -- phone, email, click or visitor
  identifier_hash text,
  actor_kind text not null,
  actor_id uuid,
  counts jsonb not null default '{}',
  proof_id uuid,
  started_at timestamptz not null,
  finished_at timestamptz,       -- null: interrupted; asking again continues
  constraint asked_by_is_known check (asked_by in ('phone', 'email', 'click', 'visitor')),
  constraint identifier_hash_is_sha_256 check (identifier_hash ~ '^[0-9a-f]{64}$'),
  constraint erasure_actor_is_known check (actor_kind in ('user', 'system')),
  constraint finished_erasures_are_proven check (
    (finished_at is null) = (proof_id is null) and (proof_id is null) = (identifier_hash is null))
);
create index receipts_of_a_site on public.erasure_receipts (site_id, started_at desc);
alter table public.erasure_receipts enable row level security;

create trigger receipts_are_never_deleted before delete on public.erasure_receipts
  for each row execute function private.refuse_change();
create trigger finished_receipts_never_change before update on public.erasure_receipts
  for each row when (old.finished_at is not null) execute function private.refuse_change();
create trigger receipts_are_never_truncated before truncate on public.erasure_receipts
  for each statement execute function private.refuse_change();

-- open_receipt: the receipt that the steps of one erasure add to.
create function private.open_receipt(
  p_site_id uuid, p_actor private.actor, p_asked_by text, p_id uuid
) returns public.erasure_receipts
language plpgsql security definer set search_path = ''
as $$
declare
  v_receipt public.erasure_receipts;
begin
  if p_id is null then
    insert into public.erasure_receipts (site_id, asked_by, actor_kind, actor_id, started_at)
      values (p_site_id, p_asked_by, p_actor.kind, p_actor.id, private.current_moment())
      returning * into v_receipt;
    return v_receipt;
  end if;
  select r.* into v_receipt from public.erasure_receipts r
    where r.id = p_id and r.site_id = p_site_id and r.asked_by = p_asked_by
      and r.finished_at is null
      and (r.actor_kind, r.actor_id) is not distinct from (p_actor.kind, p_actor.id)
    for update;
  if v_receipt.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return v_receipt;
end
$$;

-- add_counts: adds up two objects of counts, key by key.
create function private.add_counts(p_one jsonb, p_other jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_object_agg(t.kind, t.rows), '{}') from (
    select e.key as kind, sum(e.value::bigint) as rows
    from (select * from jsonb_each_text(p_one) union all select * from jsonb_each_text(p_other)) e
    group by e.key) t
$$;

-- receipt_json: a receipt as people see it.
create function private.receipt_json(p_receipt public.erasure_receipts) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_receipt.id,
    'askedBy', p_receipt.asked_by,
    'identifierHash', p_receipt.identifier_hash,
    'actor', private.actor_json(
      p_receipt.actor_kind, p_receipt.actor_id, p_receipt.started_at),
    'counts', p_receipt.counts,
    'proofId', p_receipt.proof_id,
    'startedAt', p_receipt.started_at,
    'finishedAt', p_receipt.finished_at)
$$;

-- list_erasures: the last 50 receipts of a site, newest first.
--   Callers  owners.
create function public.list_erasures(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return (
    select coalesce(jsonb_agg(private.receipt_json(t) order by t.started_at desc, t.id), '[]')
    from (
      select * from public.erasure_receipts r
      where r.site_id = v_site.id order by r.started_at desc limit 50) t);
end
$$;
grant execute on function public.list_erasures(text) to authenticated;
