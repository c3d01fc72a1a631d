-- What an owner sees of the connection.

create function private.block_json(p_at timestamptz, p_code text, p_message text) returns jsonb
language sql immutable set search_path = ''
as $$
  select case when p_at is not null then
    jsonb_build_object('code', p_code, 'message', p_message, 'since', p_at) end
$$;

-- provider_connection: how a site's delivery stands. Nothing of what was sealed.
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
  return jsonb_build_object('syncMethod', v_site.oci_sync_method,
    'connected', v_credentials.site_id is not null, 'transport', v_credentials.transport,
    'account', v_credentials.account, 'connectedAt', v_credentials.connected_at,
    'connectedBy', (select private.display_name(u) from auth.users u
                    where u.id = v_credentials.connected_by),
    'testedAt', v_credentials.tested_at, 'testError', v_credentials.test_error,
    'actions', (
      select coalesce(jsonb_agg(jsonb_build_object('conversionName', a.conversion_name,
        'action', a.action, 'googleName', a.google_name, 'countingType', a.counting_type,
        'testedAt', a.tested_at,
        'blocked', private.block_json(a.blocked_at, a.blocked_code, a.blocked_message))
        order by a.conversion_name), '[]')
      from public.provider_conversion_actions a
      where a.site_id = v_site.id and a.provider_key = 'google_ads'),
    'missingActions', private.missing_actions(v_site),
    'health', (
      select jsonb_build_object('state', h.state, 'failureCount', h.failure_count,
        'nextProbeAt', h.next_probe_at, 'lastSuccessAt', h.last_success_at,
        'lastFailureAt', h.last_failure_at, 'lastFailureCode', h.last_failure_code,
        'quotaUntil', h.quota_until,
        'blocked', private.block_json(h.blocked_at, h.blocked_code, h.blocked_message))
      from public.provider_health_state h
      where h.site_id = v_site.id and h.provider_key = 'google_ads'));
end
$$;
grant execute on function public.provider_connection(text) to authenticated;
