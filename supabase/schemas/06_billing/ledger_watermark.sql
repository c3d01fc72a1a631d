-- Everything created before settled_until has committed or never will.
create table private.ledger_watermark (
  is_the_only_row boolean primary key default true check (is_the_only_row),
  settled_until timestamptz not null default '-infinity',
  -- Once every transaction before `horizon` has ended, settled_until becomes noted_at minus a
  -- minute.
  noted_at timestamptz,
  horizon xid8
);
alter table private.ledger_watermark enable row level security;

insert into private.ledger_watermark default values;

-- settled_until: moves the watermark as far as running transactions allow, and returns it. A
-- transaction that began more than a minute before this one has inserted its rows before this one
-- got its id, so its own id is lower. Once no transaction with a lower id runs, everything up to
-- that minute is settled.
--   Safe     from two crons at once: the second takes the watermark as it is.
create function private.settled_until() returns timestamptz
language plpgsql security definer set search_path = ''
as $$
declare
  v_mark private.ledger_watermark;
begin
  select w.* into v_mark from private.ledger_watermark w for update skip locked;
  if not found then
    return (select w.settled_until from private.ledger_watermark w);
  end if;
  -- A horizon "from the future" was noted before this database was restored elsewhere.
  if v_mark.horizon is null
      or v_mark.horizon <= pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
      or v_mark.horizon > pg_catalog.pg_current_xact_id() then
    v_mark.settled_until := greatest(v_mark.settled_until, v_mark.noted_at - interval '1 minute');
    v_mark.noted_at := private.current_moment();
    v_mark.horizon := pg_catalog.pg_current_xact_id();
    if v_mark.horizon = pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) then
      v_mark.settled_until := greatest(v_mark.settled_until, v_mark.noted_at - interval '1 minute');
    end if;
    update private.ledger_watermark w set settled_until = v_mark.settled_until,
      noted_at = v_mark.noted_at, horizon = v_mark.horizon;
  end if;
  return v_mark.settled_until;
end
$$;
