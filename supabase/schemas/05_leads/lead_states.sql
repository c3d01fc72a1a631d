-- The states of a lead, for readers. Index and constraint definitions repeat them as literals;
-- a test compares the two.

-- open_lead_states: somebody still has to decide.
create function private.open_lead_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['intent', 'qualified', 'meeting'] $$;

-- ended_lead_states: came to nothing; Google gets nothing of such a lead.
create function private.ended_lead_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['junk', 'cancelled'] $$;
