-- Numbers that several rules share. Each is stated once; an index or a constraint repeats the
-- literal.

-- click_life: how long after a click Google takes its conversions.
create function private.click_life() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;

-- max_attempts: how often a row is claimed before it fails for good, unless the caller says
-- otherwise (OCI_MAX_ATTEMPTS).
create function private.max_attempts() returns int
language sql immutable parallel safe set search_path = ''
as $$ select 5 $$;
-- A default of an argument is evaluated with the caller's rights.
grant execute on function private.max_attempts() to opsmantik_app, service_role;

-- adjustments_end: how long after a conversion Google takes a correction or a retraction of it.
create function private.adjustments_end() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '54 days' $$;

-- undo_window: how long an operator can take back a change.
create function private.undo_window() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '10 minutes' $$;

-- max_free_waits: how often a wait that Google asked for, or a call without an answer, gives a row
-- its attempt back.
create function private.max_free_waits() returns int
language sql immutable parallel safe set search_path = ''
as $$ select 20 $$;

-- claim_doubt: how long a script's report without a claim may be about an earlier claim: a lease
-- (15 minutes) and the longest run of a script (30 minutes).
create function private.claim_doubt() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '45 minutes' $$;

-- event_arrival_window: how long after the last event of a visit another one may be received. An
-- event is at most a day old when it arrives; the hour is a margin.
create function private.event_arrival_window() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '25 hours' $$;
