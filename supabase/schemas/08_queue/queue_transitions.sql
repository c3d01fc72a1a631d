-- The ledger of the queue: every change of a row, with who made it and why.

create table public.queue_transitions (
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
create index transitions_of_a_site on public.queue_transitions (site_id, created_at);
alter table public.queue_transitions enable row level security;

create trigger transitions_are_permanent before update or delete on public.queue_transitions
  for each row execute function private.refuse_change();
create trigger transitions_are_never_truncated before truncate on public.queue_transitions
  for each statement execute function private.refuse_change();

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

-- record_queue_transitions: trigger; one line per row that was made or changed.
create function private.record_queue_transitions() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_reason text := coalesce(nullif(current_setting('opsmantik.reason', true), ''), 'UNSTATED');
  v_kind text := coalesce(nullif(current_setting('opsmantik.actor_kind', true), ''), 'system');
  v_actor uuid := nullif(current_setting('opsmantik.actor_id', true), '')::uuid;
begin
  if tg_op = 'INSERT' then
    insert into public.queue_transitions (queue_id, site_id, from_status, to_status, reason,
        actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, null, n.status, v_reason,
        v_kind, v_actor, n.attempt_count, n.provider_error_code, n.updated_at
      from after_rows n;
  else
    insert into public.queue_transitions (queue_id, site_id, from_status, to_status, reason,
        actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, o.status, n.status, v_reason,
        v_kind, v_actor, n.attempt_count, n.provider_error_code, n.updated_at
      from after_rows n join before_rows o on o.id = n.id;
  end if;
  return null;
end
$$;
