-- The states of a queue row, for readers. Index and constraint definitions repeat them as literals;
-- a test compares the two. A row in flight has the status PROCESSING; its state is a waiting one,
-- so "state = any (waiting_states())" is what is open, and what waits has no claim_token besides.

-- queue_states: all of them, as the queue's constraint allows.
create function private.queue_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY', 'PROCESSING', 'COMPLETED', 'FAILED'] $$;

-- waiting_states: to be sent, not claimed.
create function private.waiting_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY'] $$;

-- open_states: not ended: waiting or claimed.
create function private.open_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY', 'PROCESSING'] $$;

-- resting_states: everything but claimed.
create function private.resting_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY', 'COMPLETED', 'FAILED'] $$;
