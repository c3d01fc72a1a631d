-- What a member sees of the connection.

-- blocked_json: a block of delivery as screens show it; null where nothing is blocked.
create function private.blocked_json(p_at timestamptz, p_code text, p_message text) returns jsonb
language sql immutable set search_path = ''
as $$
  select case when p_at is not null
    then jsonb_build_object('code', p_code, 'message', p_message, 'since', p_at) end
$$;

-- conversion_action_json: a chosen conversion action as screens show it.
create function private.conversion_action_json(p_action public.provider_conversion_actions)
returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'conversionName', p_action.conversion_name,
    'action', p_action.action,
    'googleName', p_action.google_name,
    'countingType', p_action.counting_type,
    'testedAt', p_action.tested_at,
    'blocked', private.blocked_json(
      p_action.blocked_at, p_action.blocked_code, p_action.blocked_message))
$$;

-- health_json: the circuit and the block of a (site, provider) as screens show them.
create function private.health_json(p_health public.provider_health_state) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'state', p_health.state,
    'failureCount', p_health.failure_count,
    'nextProbeAt', p_health.next_probe_at,
    'lastSuccessAt', p_health.last_success_at,
    'lastFailureAt', p_health.last_failure_at,
    'lastFailureCode', p_health.last_failure_code,
    'quotaUntil', p_health.quota_until,
    'blocked', private.blocked_json(
      p_health.blocked_at, p_health.blocked_code, p_health.blocked_message))
$$;

-- provider_connection: the state of a site's connection. It never contains the sealed credentials.
--   Returns  {syncMethod, connected, transport, account, connectedAt, connectedBy, testedAt,
--            testError, actions: [{conversionName, action, googleName, countingType, testedAt,
--            blocked}], missingActions,
--            health: {state, failureCount, nextProbeAt, lastSuccessAt, lastFailureAt,
--            lastFailureCode, quotaUntil, blocked: {code, message, since}}}; health is null
--            before the first connection.
--   Callers  viewers.
create function public.provider_connection(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_credentials public.provider_credentials;
begin
  select c.* into v_credentials from public.provider_credentials c
    where c.site_id = v_site.id and c.provider_key = 'google_ads';
  return jsonb_build_object(
    'syncMethod', v_site.oci_sync_method,
    'connected', v_credentials.site_id is not null,
    'transport', v_credentials.transport,
    'account', v_credentials.account,
    'connectedAt', v_credentials.connected_at,
    'connectedBy', private.actor_email(
      v_credentials.connected_by, v_credentials.connected_at),
    'testedAt', v_credentials.tested_at,
    'testError', v_credentials.test_error,
    'actions', (
      select coalesce(
        jsonb_agg(private.conversion_action_json(a) order by a.conversion_name), '[]')
      from public.provider_conversion_actions a
      where a.site_id = v_site.id and a.provider_key = 'google_ads'),
    'missingActions', private.missing_actions(v_site),
    'health', (
      select private.health_json(h) from public.provider_health_state h
      where h.site_id = v_site.id and h.provider_key = 'google_ads'));
end
$$;
grant execute on function public.provider_connection(text) to authenticated;
