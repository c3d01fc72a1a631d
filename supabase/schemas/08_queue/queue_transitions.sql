-- The ledger of the queue: every move of a row, with who made it and why, and every change of a row
-- that waits. A worker's claim of plain rows and their delivery are the STARTED and the FINISHED
-- line of its batch; every other delivery moves many rows alike and writes one line for all of
-- them. Each row names its lines (claimed_in, delivered_in). queue_transitions shows one line per
-- row and move. What Google says later stands on the row.

create table private.queue_moves (
  id bigint generated always as identity,
  queue_id uuid not null,
  site_id uuid not null,
  from_status text,
  to_status text not null,
  reason text not null,
  actor_kind text not null,
  actor_id uuid,
  attempt_count int not null,
  provider_error_code text,
  created_at timestamptz not null,
  primary key (queue_id, id)
);
create index moves_of_a_site on private.queue_moves (site_id, created_at);
alter table private.queue_moves enable row level security;

create trigger moves_are_permanent before update or delete on private.queue_moves
  for each row execute function private.refuse_change();
create trigger moves_are_never_truncated before truncate on private.queue_moves
  for each statement execute function private.refuse_change();

create table private.queue_batch_moves (
  id bigint primary key,                           -- from the same numbers: ids tell the order
  site_id uuid not null,
  from_status text not null,
  to_status text not null,
  reason text not null,
  actor_kind text not null,
  actor_id uuid,
  created_at timestamptz not null
);
alter table private.queue_batch_moves enable row level security;

create trigger batch_moves_are_permanent before update or delete on private.queue_batch_moves
  for each row execute function private.refuse_change();
create trigger batch_moves_are_never_truncated before truncate on private.queue_batch_moves
  for each statement execute function private.refuse_change();

-- next_move_id: the next number of the ledger.
create function private.next_move_id() returns bigint
language sql volatile
as $$ select pg_catalog.nextval('private.queue_moves_id_seq') $$;

-- queue_transitions: one line per row and move. Only plain rows are claimed by the line of a batch:
-- it is their first claim, and the attempt is 1.
create view public.queue_transitions with (security_invoker = true) as
  select m.id, m.queue_id, m.site_id, m.from_status, m.to_status, m.reason, m.actor_kind,
    m.actor_id, m.attempt_count, m.provider_error_code, m.created_at
  from private.queue_moves m
  union all
  select b.started_in, q.id, q.site_id, q.claimed_from, 'PROCESSING', 'WORKER_CLAIM', 'system',
    null, 1, null, b.started_at
  from public.offline_conversion_queue q
    join private.finished_batches b on b.started_in = q.claimed_in
  union all   -- of a batch that is still open
  select l.started_in, q.id, q.site_id, q.claimed_from, 'PROCESSING', 'WORKER_CLAIM', 'system',
    null, 1, null, l.claimed_at
  from public.offline_conversion_queue q
    join private.queue_leases l on l.token = any (q.claims) and l.started_in = q.claimed_in
      and l.claimed_count is not null
  union all
  select b.finished_in, q.id, q.site_id, 'PROCESSING', 'COMPLETED', 'WORKER_SETTLE', 'system',
    null, q.attempt_count, null, b.finished_at
  from private.queue_delivered q
    join private.finished_batches b
      on b.started_in = q.claimed_in and b.finished_in = q.delivered_in
  union all
  select b.id, q.id, q.site_id, b.from_status, b.to_status, b.reason, b.actor_kind,
    b.actor_id, q.attempt_count, null, b.created_at
  from private.queue_delivered q join private.queue_batch_moves b on b.id = q.delivered_in;

-- act: who changes queue rows in this transaction from here on, and why. The ledger below reads
-- it.
create function private.act(p_actor private.actor, p_reason text) returns void
language plpgsql set search_path = ''
as $$
begin
  perform set_config('opsmantik.actor_kind', p_actor.kind, true),
    set_config('opsmantik.actor_id', coalesce(p_actor.id::text, ''), true),
    set_config('opsmantik.reason', p_reason, true);
end
$$;

-- record_queue_moves: trigger; one line per row that was made or changed.
create function private.record_queue_moves() returns trigger
language plpgsql security definer set search_path = '' set enable_nestloop = off
as $$
declare
  v_reason text := coalesce(nullif(current_setting('opsmantik.reason', true), ''), 'UNSTATED');
  v_kind text := coalesce(nullif(current_setting('opsmantik.actor_kind', true), ''), 'system');
  v_actor uuid := nullif(current_setting('opsmantik.actor_id', true), '')::uuid;
begin
  if tg_op = 'INSERT' then
    insert into private.queue_moves (queue_id, site_id, from_status, to_status, reason,
        actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, null, n.status, v_reason,
        v_kind, v_actor, n.attempt_count, n.provider_error_code, n.updated_at
      from after_rows n;
  else
    insert into private.queue_moves (queue_id, site_id, from_status, to_status, reason,
        actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, o.status, n.status, v_reason,
        v_kind, v_actor, n.attempt_count, n.provider_error_code,
        greatest(n.updated_at, n.claimed_at)   -- a claim leaves updated_at
      from after_rows n join before_rows o on o.id = n.id;
  end if;
  return null;
end
$$;
