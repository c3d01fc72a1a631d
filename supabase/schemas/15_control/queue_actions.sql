-- What operators do with rows of the queue: retry, reset, mark failed, undo. Always set-based: a
-- thousand rows are one statement, one line in the ledger of transitions each, one proof each, and
-- one record of who did it and why.

create table public.queue_actions (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  actor_kind text not null,
  actor_id uuid,
  action text not null,
  reason text,
  options jsonb not null default '{}',             -- errorCode, errorCategory, clearErrors as given
  filter jsonb,                                    -- what was selected by it, if not a list of rows
  undoes uuid references public.queue_actions (id),
  undone_by uuid,
  total int not null,
  done int not null default 0,
  affected int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint action_is_known
    check (action = any (private.operator_actions() || 'UNDO'::text)),
  constraint undo_names_its_action check ((action = 'UNDO') = (undoes is not null)),
  constraint action_counts_fit check (affected between 0 and done and done <= total),
  constraint action_reason_is_bounded check (char_length(reason) between 1 and 500)
);
create index actions_of_a_site on public.queue_actions (site_id, created_at desc, id desc);
alter table public.queue_actions enable row level security;

-- Each row of an action, before and after; for a skipped row the reason.
create table private.queue_action_rows (
  action_id uuid not null references public.queue_actions (id),
  place int not null,
  queue_id uuid not null,
  skipped text,
  before jsonb,
  after jsonb,
  version_after bigint,                            -- unchanged since: taking back is allowed
  proof_id uuid,
  primary key (action_id, place),
  constraint changed_rows_are_proven check ((skipped is null) = (proof_id is not null))
);
alter table private.queue_action_rows enable row level security;

-- undo_until: until when an action can be taken back; null when there is nothing to take back.
create function private.undo_until(p_action public.queue_actions) returns timestamptz
language sql immutable set search_path = ''
as $$
  select p_action.updated_at + private.undo_window()
  where p_action.action <> 'UNDO' and p_action.affected > 0 and p_action.undone_by is null
$$;

-- list_queue_actions: who did what with a site's rows, newest first, at most 50.
--   Callers  viewers.
create function public.list_queue_actions(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'actionId', a.id,
      'action', a.action,
      'by', private.actor_json(a.actor_kind, a.actor_id, a.created_at),
      'byYou', coalesce(a.actor_id = auth.uid(), false),
      'reason', a.reason,
      'filter', a.filter,
      'undoes', a.undoes,
      'undoneBy', a.undone_by,
      'total', a.total,
      'done', a.done,
      'affected', a.affected,
      'at', a.created_at,
      'undoUntil', (
        select u from private.undo_until(a) u where u > private.current_moment()))
    order by a.created_at desc, a.id desc), '[]')
  from (
    select x.* from public.queue_actions x
    where x.site_id = (private.require_site(p_public_id, 'viewer')).id
    order by x.created_at desc, x.id desc limit 50) a
$$;
grant execute on function public.list_queue_actions(text) to authenticated;
