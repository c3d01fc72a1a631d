-- One row for each new event of several, by its key and by its eid.

-- claim_keys: the positions of the events that are new; each has its row now.
--   Safe     from two calls with the same keys: they are inserted in order. Events with the same
--            eids and other keys can meet in crossed order: see claim_keys_in_turn.
create function private.claim_keys(
  p_site_id uuid, p_events jsonb, p_at timestamptz, p_expires timestamptz
) returns int[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_new int[];
begin
  with input as materialized (
    select t.position::int as position,
      decode(t.event ->> 'k', 'hex') as key,
      t.event ->> 'e' as eid,
      t.event ->> 'n' as name,
      coalesce((t.event ->> 'r')::smallint, 1) as reporter
    from jsonb_array_elements(p_events) with ordinality t(event, position)
  ), claimed as (
    insert into public.ingest_idempotency
        (site_id, idempotency_key, eid, event_name, reported_by, created_at, expires_at)
    select p_site_id, i.key, i.eid, i.name, i.reporter, p_at, p_expires from input i
    order by i.key, i.position
    on conflict do nothing
    returning idempotency_key, eid
  )
  select coalesce(array_agg(a.position order by a.position), '{}') into v_new from (
    select min(i.position) as position
    from claimed c join input i on i.key = c.idempotency_key and i.eid is not distinct from c.eid
    group by i.key) a;
  return v_new;
end
$$;

-- claim_keys_in_turn: claim_keys without deadlocks. Anybody can send the same eids in many batches
-- with other labels. Eight such batches at once were a chain of deadlocks: each held a connection
-- for up to six seconds, and seven failed. So whoever waits for 50 ms, far less than Postgres
-- takes to look for a deadlock, lets go of its rows and then waits for its turn on the site.
create function private.claim_keys_in_turn(
  p_site_id uuid, p_events jsonb, p_at timestamptz, p_expires timestamptz
) returns int[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_timeout text := current_setting('lock_timeout');
  v_new int[];
begin
  begin
    perform set_config('lock_timeout', '50ms', true);
    v_new := private.claim_keys(p_site_id, p_events, p_at, p_expires);
    perform set_config('lock_timeout', v_timeout, true);
    return v_new;
  exception when lock_not_available then
    null;   -- the rows and the timeout are as before
  end;
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('admission/' || p_site_id, 0));
  return private.claim_keys(p_site_id, p_events, p_at, p_expires);
end
$$;
