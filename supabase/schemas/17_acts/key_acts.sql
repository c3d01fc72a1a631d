-- Lines about what lets machines in: API keys, the call-event secret, credentials for Google.

-- note_key_act: a key was made, lost scopes or was revoked. Its use leaves no line.
create function private.note_key_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if tg_op = 'UPDATE' and new.scopes = old.scopes
     and new.revoked_at is not distinct from old.revoked_at then
    return null;
  end if;
  perform private.note_act(new.site_id, jsonb_build_object(
    'contract', 'key',
    'entityId', new.id,
    'from', case when tg_op = 'UPDATE' then 'made' end,
    'to', case
      when tg_op = 'INSERT' then 'made'
      when new.revoked_at is distinct from old.revoked_at then 'revoked'
      else 'narrowed' end,
    'facts', jsonb_build_object('prefix', new.prefix, 'scopes', new.scopes,
      'scopesBefore', case when tg_op = 'UPDATE' and new.scopes <> old.scopes
        then to_jsonb(old.scopes) end),
    'note', new.name));
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update on public.site_api_keys
  for each row execute function private.note_key_act();

-- note_secret_act: the call-event secret was made or replaced. Encrypting the same secret anew
-- leaves no line.
create function private.note_secret_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if tg_op = 'INSERT' and private.is_new_site(new.site_id, new.rotated_at)
     or tg_op = 'UPDATE' and new.rotated_at = old.rotated_at then
    return null;
  end if;
  perform private.note_act(new.site_id, jsonb_build_object(
    'contract', 'secret',
    'entityId', private.site_entity(new.site_id),
    'from', case when tg_op = 'UPDATE' then 'made' end,
    'to', case when tg_op = 'UPDATE' then 'replaced' else 'made' end));
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update of rotated_at on private.site_secrets
  for each row execute function private.note_secret_act();

-- note_connection_act: credentials were stored, replaced or deleted. A test of them, another vault
-- key and another version leave no line.
create function private.note_connection_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_credentials public.provider_credentials := case tg_op when 'DELETE' then old else new end;
begin
  if tg_op = 'UPDATE' and new.connected_at = old.connected_at
     and (new.sealed = old.sealed or new.key_id <> old.key_id) then
    return null;
  end if;
  perform private.prove_connection(v_credentials.site_id, v_credentials.provider_key,
    jsonb_build_object(
      'contract', 'connection',
      'from', case tg_op when 'INSERT' then 'disconnected' else 'connected' end,
      'to', case tg_op when 'DELETE' then 'disconnected' else 'connected' end,
      'facts', jsonb_build_object('provider', v_credentials.provider_key,
        'version', case when tg_op <> 'DELETE' then v_credentials.version end,
        'transport', case when tg_op <> 'DELETE' then v_credentials.transport end)));
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update or delete on public.provider_credentials
  for each row execute function private.note_connection_act();

-- note_actions_act: other conversion actions were chosen. One choice changes several rows, so the
-- line is written at commit and names all actions as they then are. Connecting, disconnecting and
-- renaming a conversion have their own lines.
create function private.note_actions_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_action public.provider_conversion_actions := case tg_op when 'DELETE' then old else new end;
  v_connection uuid;
begin
  if tg_op = 'UPDATE' and new.action = old.action
     and new.counting_type is not distinct from old.counting_type then
    return null;
  end if;
  select h.connection_id into v_connection from public.provider_health_state h
    where h.site_id = v_action.site_id and h.provider_key = v_action.provider_key;
  if exists (
      select from public.transition_proofs p join private.unsealed_proofs u on u.proof_id = p.id
      where p.entity_id in (v_connection, private.site_entity(v_action.site_id))
        and p.contract in ('connection', 'actions', 'site')
        and p.occurred_at = private.current_moment()
        and u.written_by = pg_catalog.pg_current_xact_id()) then
    return null;
  end if;
  perform private.note_act(v_action.site_id, jsonb_build_object(
    'contract', 'actions',
    'entityId', v_connection,
    'to', 'chosen',
    'facts', jsonb_build_object('actions', (
      select coalesce(jsonb_object_agg(a.conversion_name, a.action), '{}')
      from public.provider_conversion_actions a
      where a.site_id = v_action.site_id and a.provider_key = v_action.provider_key))));
  return null;
end
$$;
create constraint trigger acts_leave_a_line
  after insert or update or delete on public.provider_conversion_actions
  deferrable initially deferred
  for each row execute function private.note_actions_act();
