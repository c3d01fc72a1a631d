-- Proofs are put into blocks, and each block holds the root of the one before.

-- Committed proofs in order. Blocks are made after the moves, so no move waits for another.
create table public.proof_blocks (
  site_id uuid not null,
  number int not null,
  first_proof uuid not null,
  last_proof uuid not null,
  proof_ids uuid[] not null,
  previous_root text not null,
  root text not null,
  sealed_at timestamptz not null,
  primary key (site_id, number)
);
alter table public.proof_blocks enable row level security;

create trigger blocks_are_permanent before update or delete on public.proof_blocks
  for each row execute function private.refuse_change();
create trigger blocks_are_never_truncated before truncate on public.proof_blocks
  for each statement execute function private.refuse_change();

-- is_settled: whether a writer is older than every open transaction, in the snapshot of the
-- statement that asks. A writer "from the future" wrote before this database was restored
-- elsewhere; it committed long ago.
create function private.is_settled(p_writer xid8) returns boolean
language sql stable set search_path = ''
as $$
  select p_writer < pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
      or p_writer >= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())
$$;

-- seal_proof_blocks: put committed proofs into blocks, site by site, each block linked to the one
-- before.
--   Takes    only proofs of settled transactions, so a block never holds a proof that is newer
--            than one of a later block.
--   Safe     to run twice at once: the second does nothing.
--   Returns  {proofs, blocks, waiting}; at most 20 blocks of 1,000 a call.
--   Callers  service role only (cron, each minute).
create function public.seal_proof_blocks() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid;
  v_last public.proof_blocks;
  v_ids uuid[];
  v_hashes text;
  v_proofs int := 0;
  v_blocks int := 0;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('seal_proof_blocks')) then
    return jsonb_build_object('proofs', 0, 'blocks', 0, 'waiting', null);
  end if;
  while v_blocks < 20 loop
    select u.site_id into v_site_id from private.unsealed_proofs u
      where private.is_settled(u.written_by) order by u.proof_id limit 1;
    exit when not found;
    select array_agg(t.proof_id order by t.proof_id),
        string_agg(t.hash, '' order by t.proof_id)
      into v_ids, v_hashes
      from (
        select u.proof_id, p.hash
        from private.unsealed_proofs u
        join public.transition_proofs p on p.id = u.proof_id
        where u.site_id = v_site_id and private.is_settled(u.written_by)
        order by u.proof_id limit 1000) t;
    select b.* into v_last from public.proof_blocks b
      where b.site_id = v_site_id order by b.number desc limit 1;
    insert into public.proof_blocks
        (site_id, number, first_proof, last_proof, proof_ids, previous_root, root, sealed_at)
      select v_site_id, coalesce(v_last.number, 0) + 1,
        v_ids[1], v_ids[cardinality(v_ids)], v_ids, x.previous_root,
        private.sha256_hex(x.previous_root || v_hashes), private.current_moment()
      from (select coalesce(v_last.root, repeat('0', 64)) as previous_root) x;
    delete from private.unsealed_proofs u where u.proof_id = any (v_ids);
    v_blocks := v_blocks + 1;
    v_proofs := v_proofs + cardinality(v_ids);
  end loop;
  return jsonb_build_object(
    'proofs', v_proofs,
    'blocks', v_blocks,
    'waiting', (select count(*) from private.unsealed_proofs));
end
$$;
grant execute on function public.seal_proof_blocks() to opsmantik_app, service_role;
