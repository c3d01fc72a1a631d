-- record_provider_test: records the result of a test of a connection.
--   Takes    p_version of the tested credentials; a test of outdated ones records nothing.
--            p_error {code, message} of a failed test. p_passed: names whose actions passed, even
--            where the test as a whole failed. p_conversion_name: the one tested action; null for
--            the whole connection.
--   Moves    a passed test of the connection ends its block, as new credentials do. A passed test
--            of an action ends the block of that action only. Rows that a blocked action stopped
--            are QUEUED when its block ends.
--   Safe     against a batch in flight: a passed test makes a new version, so a refusal of what was
--            sent before the fix does not block again.
--   Returns  {recorded, released, version}.
--   Callers  service role only.
create function public.record_provider_test(
  p_site_id uuid, p_provider_key text, p_version int, p_ok boolean, p_error jsonb default null,
  p_conversion_name text default null, p_passed text[] default '{}'
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_version int := private.hold_provider(p_site_id, p_provider_key);
  v_stopped uuid[] := private.stopped_rows(p_site_id, p_provider_key);
  v_released int := 0;
begin
  if v_version is distinct from p_version then
    return jsonb_build_object('recorded', false, 'released', 0, 'version', v_version);
  end if;
  if p_conversion_name is not null and p_ok then
    p_passed := array[p_conversion_name];
  end if;
  if p_ok or cardinality(p_passed) > 0 then
    v_version := private.new_version(p_site_id, p_provider_key);
  end if;
  update public.provider_conversion_actions a
    set tested_at = v_now, blocked_at = null, blocked_code = null, blocked_message = null,
        updated_at = v_now
    where a.site_id = p_site_id and a.provider_key = p_provider_key
      and a.conversion_name = any (p_passed);
  v_released := private.requeue_stopped(p_site_id, p_provider_key,
    ('system', null)::private.actor, v_stopped);
  if p_conversion_name is not null then
    return jsonb_build_object('recorded', true, 'released', v_released, 'version', v_version);
  end if;
  update public.provider_credentials c
    set tested_at = case when p_ok then v_now else c.tested_at end,
        test_error = case when not p_ok then jsonb_build_object(
          'code', left(coalesce(p_error ->> 'code', 'UNKNOWN'), 64),
          'message', left(p_error ->> 'message', 1024), 'at', v_now) end
    where c.site_id = p_site_id and c.provider_key = p_provider_key;
  if p_ok then
    v_released := v_released + private.release_connection(p_site_id, p_provider_key,
      ('system', null)::private.actor, p_passed);
  end if;
  return jsonb_build_object('recorded', true, 'released', v_released, 'version', v_version);
end
$$;
grant execute on function public.record_provider_test(uuid, text, int, boolean, jsonb, text, text[])
  to opsmantik_app, service_role;
