-- Connections: how an owner connects a site to Google's APIs, and how a block ends.

-- check_actions: conversion actions as they are asked for.
--   Takes    [{conversionName, action, countingType?}], at most 50.
--   Refuses  400 VALIDATION_FAILED with the field actions: what is no action, a name given twice,
--            and one action for two kinds of conversion, which Google would add up.
create function private.check_actions(p_site public.sites, p_actions jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if jsonb_typeof(p_actions) <> 'array' or jsonb_array_length(p_actions) > 50
     or exists (select from jsonb_array_elements(p_actions) e where jsonb_typeof(e) <> 'object')
     or exists (select from jsonb_to_recordset(p_actions)
         a ("conversionName" text, action text, "countingType" text)
       where not private.is_plain_text(a."conversionName", 100)
         or coalesce(a.action, '') !~ '^customers/[0-9]{1,20}/conversionActions/[0-9]{1,20}$'
         or a."countingType" is not null and not private.is_plain_text(a."countingType", 40))
     or exists (select from jsonb_to_recordset(p_actions) a ("conversionName" text)
       group by a."conversionName" having count(*) > 1)
     or exists (select from jsonb_to_recordset(p_actions) a ("conversionName" text, action text)
       where a."conversionName" in (select private.conversion_name(p_site, k.key)
         from unnest('{seal,MEETING_BOOKED,SEAL_PENDING,INTENT_CAPTURED}'::text[]) k (key))
       group by a.action having count(*) > 1) then
    perform private.refuse_setting('actions');
  end if;
end
$$;

-- write_actions: these conversion actions and no others. One that stays the same keeps its block.
create function private.write_actions(p_site_id uuid, p_provider_key text, p_actions jsonb)
returns void
language sql security definer set search_path = ''
as $$
  delete from public.provider_conversion_actions a
    where a.site_id = p_site_id and a.provider_key = p_provider_key
      and a.conversion_name not in (select g."conversionName"
        from jsonb_to_recordset(p_actions) g ("conversionName" text));
  insert into public.provider_conversion_actions as a
      (site_id, provider_key, conversion_name, action, counting_type, updated_at)
    select p_site_id, p_provider_key, g."conversionName", g.action, g."countingType",
      private.current_moment()
    from jsonb_to_recordset(p_actions)
      g ("conversionName" text, action text, "countingType" text)
    on conflict (site_id, provider_key, conversion_name) do update
      set action = excluded.action, counting_type = excluded.counting_type,
          updated_at = excluded.updated_at, blocked_at = null, blocked_code = null,
          blocked_message = null, tested_at = null
      where a.action <> excluded.action
        or a.counting_type is distinct from excluded.counting_type;
$$;

-- connect_provider: keep new credentials for a site, first or again.
--   Takes    p_connection {provider, transport, keyId, sealed, account, actions?}; sealed comes
--            from lib/vault. Without actions the present ones stay.
--   Returns  {version}.
--   Callers  owners.
create function public.connect_provider(p_public_id text, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_provider text := coalesce(p_connection ->> 'provider', 'google_ads');
  v_now timestamptz := private.current_moment();
  v_version int;
begin
  perform private.check_actions(v_site, coalesce(p_connection -> 'actions', '[]'));
  insert into public.provider_health_state as h (site_id, provider_key, last_version, updated_at)
    values (v_site.id, v_provider, 1, v_now)
    on conflict (site_id, provider_key) do update
      set last_version = h.last_version + 1, updated_at = excluded.updated_at
    returning h.last_version into v_version;
  insert into public.provider_credentials as c (site_id, provider_key, version, transport, key_id,
      sealed, account, connected_by, connected_at)
    values (v_site.id, v_provider, v_version,
      coalesce(p_connection ->> 'transport', 'data_manager'), p_connection ->> 'keyId',
      p_connection ->> 'sealed', coalesce(p_connection -> 'account', '{}'), auth.uid(), v_now)
    on conflict (site_id, provider_key) do update
      set version = excluded.version, transport = excluded.transport, key_id = excluded.key_id,
          sealed = excluded.sealed, account = excluded.account,
          connected_by = excluded.connected_by, connected_at = excluded.connected_at,
          tested_at = null, test_error = null;
  if p_connection ? 'actions' then
    perform private.write_actions(v_site.id, v_provider, p_connection -> 'actions');
  end if;
  return jsonb_build_object('version', v_version);
end
$$;

grant execute on function public.connect_provider(text, jsonb) to authenticated;
