-- Connections: how an owner connects a site to Google's APIs, switches its delivery between them
-- and the script, and how a block ends. Owners use the session door; no function of that door ever
-- gives back what was sealed. Workers, connection tests and key rotation use the service door.

-- sent_names: what the conversions that an API can send are called now.
create function private.sent_names(p_site public.sites) returns table (key text, name text)
language sql immutable set search_path = ''
as $$
  select k.key, private.conversion_name(p_site, k.key)
  from unnest('{seal,MEETING_BOOKED,SEAL_PENDING,INTENT_CAPTURED}'::text[]) k (key)
$$;

-- missing_actions: names of a site's conversions for which no conversion action is chosen, so that an
-- API sends none of them: what is sent now, and earlier names that conversions still wait under.
create function private.missing_actions(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(w.name order by w.place, w.name), '[]') from (
    select n.name, min(n.place) as place from (
      select o.name, o.place from private.sent_names(p_site) with ordinality o (key, name, place)
        where o.key = 'seal' or p_site.signals_enabled
      union all
      select distinct q.conversion_name, 9 from public.offline_conversion_queue q
        where q.site_id = p_site.id and q.status in ('QUEUED', 'RETRY') and q.kind = 'CONVERSION'
          and q.conversion_name is not null and q.conversion_action is null
      union all
      select distinct g.conversion_name, 9 from public.marketing_signals g
        where g.site_id = p_site.id and g.dispatch_status = 'PENDING'
          and g.conversion_name is not null and p_site.signals_enabled) n
    where not exists (select from public.provider_conversion_actions a
      where a.site_id = p_site.id and a.conversion_name = n.name)
    group by n.name) w
$$;

-- check_actions: conversion actions as they are asked for.
--   Takes    [{conversionName, action, googleName?, countingType?}], at most 50.
--   Refuses  400 VALIDATION_FAILED with the field actions: what is no action, a name given twice,
--            and one action for two kinds of conversion, which Google would add up.
create function private.check_actions(p_site public.sites, p_actions jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if jsonb_typeof(p_actions) is distinct from 'array' then
    perform private.refuse_setting('actions');
  end if;
  if jsonb_array_length(p_actions) > 50
     or exists (select from jsonb_array_elements(p_actions) e
       where jsonb_typeof(e) <> 'object') then
    perform private.refuse_setting('actions');
  end if;
  if exists (select from jsonb_to_recordset(p_actions)
         a ("conversionName" text, action text, "googleName" text, "countingType" text)
       where char_length(a."googleName") > 256
         or not private.is_plain_text(a."conversionName", 100)
         or coalesce(a.action, '') !~ '^customers/[0-9]{1,20}/conversionActions/[0-9]{1,20}$'
         or a."countingType" is not null and not private.is_plain_text(a."countingType", 40))
     or exists (select from jsonb_to_recordset(p_actions) a ("conversionName" text)
       group by a."conversionName" having count(*) > 1)
     or exists (select from jsonb_to_recordset(p_actions) a ("conversionName" text, action text)
       where a."conversionName" in (select n.name from private.sent_names(p_site) n)
       group by a.action having count(*) > 1) then
    perform private.refuse_setting('actions');
  end if;
end
$$;

-- check_owner: conversion actions belong to the connected account. Data Manager is told only an
-- action's number, which means another action there. The Ads API takes those of the account that
-- Google named as the owner of its conversions, too.
--   Refuses  400 VALIDATION_FAILED with the field actions.
create function private.check_owner(
  p_transport text, p_account jsonb, p_actions jsonb
) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if exists (select from jsonb_to_recordset(p_actions) a (action text)
     where split_part(a.action, '/', 2) <> p_account ->> 'customerId'
       and (p_transport is distinct from 'ads_api' or split_part(a.action, '/', 2)
         is distinct from p_account ->> 'conversionCustomerId')) then
    perform private.refuse_setting('actions');
  end if;
end
$$;

-- write_actions: these conversion actions and no others. One that stays the same keeps its block. A
-- name that is no longer used keeps its line, while the account is the same: rows left under it.
create function private.write_actions(
  p_site public.sites, p_provider_key text, p_actions jsonb
) returns void
language sql security definer set search_path = ''
as $$
  delete from public.provider_conversion_actions a
    where a.site_id = p_site.id and a.provider_key = p_provider_key
      and a.conversion_name not in (select g."conversionName"
        from jsonb_to_recordset(p_actions) g ("conversionName" text))
      and (a.conversion_name in (select n.name from private.sent_names(p_site) n)
        or split_part(a.action, '/', 2) not in (select split_part(g.action, '/', 2)
          from jsonb_to_recordset(p_actions) g (action text)));
  insert into public.provider_conversion_actions as a
      (site_id, provider_key, conversion_name, action, google_name, counting_type, updated_at)
    select p_site.id, p_provider_key, g."conversionName", g.action, g."googleName",
      g."countingType", private.current_moment()
    from jsonb_to_recordset(p_actions)
      g ("conversionName" text, action text, "googleName" text, "countingType" text)
    on conflict (site_id, provider_key, conversion_name) do update
      set action = excluded.action, google_name = excluded.google_name,
          counting_type = excluded.counting_type,
          updated_at = excluded.updated_at, blocked_at = null, blocked_code = null,
          blocked_message = null, tested_at = null
      where a.action <> excluded.action
        or a.counting_type is distinct from excluded.counting_type;
  update public.provider_conversion_actions a set google_name = g."googleName"   -- told by now
    from jsonb_to_recordset(p_actions) g ("conversionName" text, "googleName" text)
    where a.site_id = p_site.id and a.provider_key = p_provider_key
      and a.conversion_name = g."conversionName" and a.google_name is distinct from g."googleName"
      and g."googleName" is not null;
  insert into private.action_names as n (site_id, action, google_name)
    select distinct on (g.action) p_site.id, g.action, g."googleName"
    from jsonb_to_recordset(p_actions) g (action text, "googleName" text)
    where g."googleName" is not null
    on conflict (site_id, action) do update set google_name = excluded.google_name
      where n.google_name <> excluded.google_name;
$$;

-- carry_actions: conversions that are called something else from now on keep their actions. The old
-- name's line stays, for the rows that left under it. A new name never brings along the action of
-- another kind, which Google would add up. Called with hold_provider.
create function private.carry_actions(p_before public.sites, p_after public.sites) returns void
language sql security definer set search_path = ''
as $$
  insert into public.provider_conversion_actions (site_id, provider_key, conversion_name, action,
      google_name, counting_type, blocked_at, blocked_code, blocked_message, tested_at, updated_at)
    select a.site_id, a.provider_key, n.name, a.action, a.google_name, a.counting_type,
      a.blocked_at, a.blocked_code, a.blocked_message, a.tested_at, private.current_moment()
    from private.sent_names(p_before) o
      join private.sent_names(p_after) n on n.key = o.key and n.name <> o.name
      join public.provider_conversion_actions a
        on a.site_id = p_after.id and a.conversion_name = o.name
    on conflict (site_id, provider_key, conversion_name) do update
      set action = excluded.action, google_name = excluded.google_name,
          counting_type = excluded.counting_type, blocked_at = excluded.blocked_at,
          blocked_code = excluded.blocked_code,
          blocked_message = excluded.blocked_message, tested_at = excluded.tested_at,
          updated_at = excluded.updated_at;
  delete from public.provider_conversion_actions a
    using private.sent_names(p_before) o
      join private.sent_names(p_after) n on n.key = o.key and n.name <> o.name
    where a.site_id = p_after.id and a.conversion_name = n.name
      and not exists (select from public.provider_conversion_actions x
        where x.site_id = a.site_id and x.provider_key = a.provider_key
          and x.conversion_name = o.name)
      and exists (select from public.provider_conversion_actions x
          join private.sent_names(p_after) y on y.name = x.conversion_name and y.key <> n.key
        where x.site_id = a.site_id and x.provider_key = a.provider_key and x.action = a.action);
$$;

-- is_elsewhere: whether an action belongs to another account than those that were chosen.
create function private.is_elsewhere(p_site_id uuid, p_action text) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(bool_and(split_part(a.action, '/', 2) <> split_part(p_action, '/', 2)), false)
  from public.provider_conversion_actions a where a.site_id = p_site_id
$$;

-- mark_elsewhere: adjustments of what another account has are a person's work from now on, and the
-- API's again when the site comes back to that account. Called with hold_provider, after the sales.
--   Safe     it waits for nobody: a row that somebody has is refused by the claim all the same.
create function private.mark_elsewhere(p_site_id uuid) returns void
language sql security definer set search_path = ''
as $$
  update public.offline_conversion_queue q
    set by_hand_reason = case when q.by_hand_reason is null then 'OTHER_ACCOUNT' end,
        updated_at = private.current_moment()
    where q.id = any (array(
      select x.id from public.offline_conversion_queue x
      where x.site_id = p_site_id and x.kind <> 'CONVERSION' and x.status in ('QUEUED', 'RETRY')
        and x.conversion_action is not null
        and (x.by_hand_reason is null or x.by_hand_reason = 'OTHER_ACCOUNT')
        and (x.by_hand_reason is null) = private.is_elsewhere(p_site_id, x.conversion_action)
      for update skip locked))
$$;

-- stopped_rows: rows and signals that a worker's attempt left FAILED because Google refuses their
-- conversion action, which is blocked for that. Called with hold_provider, before the block ends.
create function private.stopped_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.provider_conversion_actions a
      join public.offline_conversion_queue q on q.site_id = a.site_id
        and q.provider_key = a.provider_key and q.conversion_name = a.conversion_name
        and q.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key and q.status = 'FAILED'
      and q.provider_error_category = 'VALIDATION' and q.handed_via is not null
      and q.attempt_error_code = q.provider_error_code
    union all
    select g.id from public.provider_conversion_actions a
      join public.marketing_signals g on g.site_id = a.site_id
        and g.conversion_name = a.conversion_name and g.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key
      and g.dispatch_status = 'FAILED' and g.provider_error_category = 'VALIDATION')
$$;

-- requeue_stopped: what found a blocked action is sent after all, now that the block is over.
-- Called with hold_provider, before any sale is locked.
--   Takes    p_ids: stopped_rows, as they were before.
--   Moves    rows whose name has a usable action now -> QUEUED with a fresh budget, and such
--            signals -> PENDING. What came to nothing meanwhile, waits in another row, or is bound
--            to another action, stays.
--   Returns  how many rows of the queue.
create function private.requeue_stopped(
  p_site_id uuid, p_provider_key text, p_actor private.actor, p_ids uuid[]
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_released int;
begin
  if cardinality(p_ids) = 0 then
    return 0;
  end if;
  perform private.lock_with_sales(p_ids);
  perform private.act(p_actor, 'RELEASED');
  update public.offline_conversion_queue q
    set status = 'QUEUED', next_retry_at = null, attempt_base = q.attempt_count,
        updated_at = private.current_moment()
    from private.judge_queue_rows(p_site_id, 'RETRY_SELECTED', null, p_ids, null) j,
      public.provider_conversion_actions a
    where q.id = j.id and j.skipped is null and q.provider_error_category = 'VALIDATION'
      and a.site_id = p_site_id and a.provider_key = p_provider_key
      and a.conversion_name = q.conversion_name and a.blocked_at is null
      and coalesce(q.conversion_action, a.action) = a.action;
  get diagnostics v_released = row_count;
  update public.marketing_signals g
    set dispatch_status = 'PENDING', next_retry_at = null, attempt_base = g.attempt_count,
        updated_at = private.current_moment()
    where g.id in (select x.id from public.marketing_signals x
        join public.provider_conversion_actions a on a.site_id = x.site_id
          and a.provider_key = p_provider_key and a.conversion_name = x.conversion_name
          and a.blocked_at is null
      where x.id = any (p_ids) and x.dispatch_status = 'FAILED' for update of x skip locked);
  return v_released;
end
$$;

-- new_version: from now on, answers to what was sent before say nothing about the connection.
-- Called with hold_provider.
create function private.new_version(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_version int;
begin
  update public.provider_health_state h
    set last_version = h.last_version + 1, updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key
    returning h.last_version into v_version;
  update public.provider_credentials c set version = v_version
    where c.site_id = p_site_id and c.provider_key = p_provider_key;
  return v_version;
end
$$;

-- refused_rows: rows that a worker's attempt left FAILED(AUTH). A script's failures are not the
-- API's to release.
create function private.refused_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.offline_conversion_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.status = 'FAILED'
      and q.provider_error_category = 'AUTH' and q.handed_via is not null
      and q.attempt_error_category = 'AUTH' and q.attempt_error_code = q.provider_error_code)
$$;

-- requeue_refused: what was refused access is sent after all. Called with hold_provider, before any
-- sale is locked.
--   Moves    refused_rows -> QUEUED with a fresh budget, and such signals -> PENDING. What came to
--            nothing meanwhile, or waits in another row, stays where it is.
--   Returns  how many rows of the queue.
create function private.requeue_refused(
  p_site_id uuid, p_provider_key text, p_actor private.actor
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ids uuid[] := private.refused_rows(p_site_id, p_provider_key);
  v_released int;
begin
  perform private.lock_with_sales(v_ids);
  perform private.act(p_actor, 'RELEASED');
  update public.offline_conversion_queue q
    set status = 'QUEUED', next_retry_at = null, attempt_base = q.attempt_count,
        updated_at = v_now
    from private.judge_queue_rows(p_site_id, 'RETRY_SELECTED', null, v_ids, null) j
    where q.id = j.id and j.skipped is null and q.provider_error_category = 'AUTH';
  get diagnostics v_released = row_count;
  -- Whoever holds such a signal is about to end it or to say that it was sent.
  update public.marketing_signals g
    set dispatch_status = 'PENDING', next_retry_at = null, attempt_base = g.attempt_count,
        updated_at = v_now
    where g.id in (select x.id from public.marketing_signals x
      where x.site_id = p_site_id and x.dispatch_status = 'FAILED'
        and x.provider_error_category = 'AUTH' for update skip locked);
  return v_released;
end
$$;

-- release_connection: the (site, provider) may send again. Called with hold_provider, before any
-- sale is locked.
--   Takes    p_passed: names whose actions passed a test, so that their blocks end as well; null:
--            all of them.
--   Moves    as requeue_refused.
--   Returns  how many rows of the queue.
create function private.release_connection(
  p_site_id uuid, p_provider_key text, p_actor private.actor, p_passed text[] default null
) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.provider_health_state h
    set blocked_at = null, blocked_code = null, blocked_message = null, quota_until = null,
        updated_at = v_now
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and (h.blocked_at is not null or h.quota_until is not null);
  update public.provider_conversion_actions a
    set blocked_at = null, blocked_code = null, blocked_message = null, updated_at = v_now
    where a.site_id = p_site_id and a.provider_key = p_provider_key and a.blocked_at is not null
      and (p_passed is null or a.conversion_name = any (p_passed));
  return private.requeue_refused(p_site_id, p_provider_key, p_actor);
end
$$;

-- prove_connection: the proof of a change that an owner made, as the activity log shows it.
create function private.prove_connection(
  p_site_id uuid, p_provider_key text, p_move jsonb
) returns void
language sql security definer set search_path = ''
as $$
  select private.prove(p_site_id, case when auth.uid() is null then ('system', null)::private.actor
      else private.user_actor() end,
    p_move || jsonb_build_object('contractVersion', (p_move ->> 'contract') || '/1',
      'entityId', h.connection_id))
  from public.provider_health_state h
  where h.site_id = p_site_id and h.provider_key = p_provider_key
$$;

-- check_connection: what a connection must satisfy before it is kept.
create function private.check_connection(p_site public.sites, p_connection jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if coalesce(p_connection ->> 'provider', 'google_ads') <> 'google_ads' then
    perform private.refuse_setting('provider');
  end if;
  if coalesce(p_connection ->> 'transport', 'data_manager') not in ('data_manager', 'ads_api') then
    perform private.refuse_setting('transport');
  end if;
  if not private.is_plain_text(p_connection ->> 'keyId', 64) then
    perform private.refuse_setting('keyId');
  end if;
  if coalesce(p_connection ->> 'sealed', '') !~ '^[A-Za-z0-9+/]+={0,2}$'
     or char_length(p_connection ->> 'sealed') not between 16 and 16384 then
    perform private.refuse_setting('sealed');
  end if;
  if coalesce(jsonb_typeof(p_connection -> 'account'), 'object') <> 'object'
     or coalesce(p_connection #>> '{account,customerId}', '0') !~ '^[0-9]{1,20}$'
     or coalesce(p_connection #>> '{account,loginCustomerId}', '0') !~ '^[0-9]{1,20}$'
     or coalesce(p_connection #>> '{account,conversionCustomerId}', '0') !~ '^[0-9]{1,20}$'
     or char_length(p_connection #>> '{account,clientIdTail}') > 12 then
    perform private.refuse_setting('account');
  end if;
  if p_connection ? 'actions' then
    perform private.check_actions(p_site, p_connection -> 'actions');
    perform private.check_owner(p_connection ->> 'transport', p_connection -> 'account',
      p_connection -> 'actions');
  end if;
end
$$;

-- with_seal_action: a connection that names only the action for sealed conversions, with the
-- actions it then has: that one, and those of the same Google account that the site has already
-- for its other conversions.
create function private.with_seal_action(p_site public.sites, p_connection jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select p_connection || jsonb_build_object('actions', (
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('conversionName', t.conversion_name,
      'action', t.action, 'googleName', t.google_name, 'countingType', t.counting_type)))
    from (
      select n.name as conversion_name, n.action,
        p_connection ->> 'sealActionName' as google_name,
        coalesce(p_connection ->> 'sealActionCounting', (
          select a.counting_type from public.provider_conversion_actions a
          where a.site_id = p_site.id and a.conversion_name = n.name and a.action = n.action))
          as counting_type
      union all
      select a.conversion_name, a.action, a.google_name, a.counting_type
      from public.provider_conversion_actions a
      where a.site_id = p_site.id and a.action <> n.action
        and a.conversion_name in (select o.name from private.sent_names(p_site) o
          where o.key <> 'seal')
        and split_part(a.action, '/', 2) = split_part(n.action, '/', 2)) t))
  from (select private.conversion_name(p_site, 'seal') as name,
          p_connection ->> 'sealAction' as action) n
$$;

-- keep_connection: the effect of connecting. p_connection as connect_provider takes it.
create function private.keep_connection(p_site public.sites, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_provider text := coalesce(p_connection ->> 'provider', 'google_ads');
  v_now timestamptz := private.current_moment();
  v_version int;
  v_is_again boolean;
  v_stopped uuid[];
  v_released int;
begin
  if p_connection ? 'sealAction' and not p_connection ? 'actions' then
    p_connection := private.with_seal_action(p_site, p_connection);
  end if;
  perform private.check_connection(p_site, p_connection);
  insert into public.provider_health_state as h (site_id, provider_key, last_version, updated_at)
    values (p_site.id, v_provider, 1, v_now)
    on conflict (site_id, provider_key) do update
      set last_version = h.last_version + 1, quota_until = null, updated_at = excluded.updated_at
    returning h.last_version into v_version;
  v_is_again := private.hold_provider(p_site.id, v_provider) is not null;
  insert into public.provider_credentials as c (site_id, provider_key, version, transport, key_id,
      sealed, account, connected_by, connected_at)
    values (p_site.id, v_provider, v_version,
      coalesce(p_connection ->> 'transport', 'data_manager'), p_connection ->> 'keyId',
      p_connection ->> 'sealed',
      -- By name: nothing else that a caller may have put there is kept.
      jsonb_strip_nulls(jsonb_build_object(
        'customerId', p_connection #> '{account,customerId}',
        'loginCustomerId', p_connection #> '{account,loginCustomerId}',
        'conversionCustomerId', p_connection #> '{account,conversionCustomerId}',
        'clientIdTail', p_connection #> '{account,clientIdTail}',
        'hasDeveloperToken', p_connection #> '{account,hasDeveloperToken}')),
      auth.uid(), v_now)
    on conflict (site_id, provider_key) do update
      set version = excluded.version, transport = excluded.transport, key_id = excluded.key_id,
          sealed = excluded.sealed, account = excluded.account,
          connected_by = excluded.connected_by, connected_at = excluded.connected_at,
          tested_at = null, test_error = null;
  v_stopped := private.stopped_rows(p_site.id, v_provider);
  if p_connection ? 'actions' then
    perform private.write_actions(p_site, v_provider, p_connection -> 'actions');
  end if;
  perform private.prove_connection(p_site.id, v_provider, jsonb_build_object(
    'contract', 'connection', 'from', case when v_is_again then 'connected' else 'disconnected' end,
    'to', 'connected', 'facts', jsonb_build_object('provider', v_provider, 'version', v_version,
      'transport', coalesce(p_connection ->> 'transport', 'data_manager'))));
  v_released := private.release_connection(p_site.id, v_provider,
    case when auth.uid() is null then ('system', null)::private.actor
      else private.user_actor() end, '{}');
  v_released := v_released + private.requeue_stopped(p_site.id, v_provider,
    case when auth.uid() is null then ('system', null)::private.actor
      else private.user_actor() end, v_stopped);
  perform private.mark_elsewhere(p_site.id);
  return jsonb_build_object('version', v_version, 'released', v_released);
end
$$;

-- connect_provider: keep new credentials for a site, first or again.
--   Moves    a block ends, and rows that it left FAILED(AUTH) are QUEUED, in the same transaction.
--            An action that stays the same keeps its block: its test ends it. Rows that found an
--            action blocked are QUEUED when another takes its place.
--   Takes    p_connection {provider, transport, keyId, sealed, account, actions? or sealAction?};
--            sealed comes from lib/vault. sealAction is the action for sealed conversions alone,
--            sealActionName what Google calls it, sealActionCounting how it counts.
--            Without either the present ones stay.
--   Safe     against a worker that still uses the old credentials: the version grows, so its
--            refusal does not block the new ones.
--   Returns  {version, released}.
--   Refuses  400 VALIDATION_FAILED with the field.
--   Callers  owners.
create function public.connect_provider(p_public_id text, p_connection jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.keep_connection(private.require_open_site(p_public_id, 'owner'), p_connection)
$$;

-- seed_provider_credentials: the same for staging, by the site's own id and without an owner. The
-- route that calls it refuses in production.
--   Refuses  404 NOT_FOUND for an unknown or archived site.
--   Callers  service role only.
create function public.seed_provider_credentials(p_site_id uuid, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = p_site_id and s.archived_at is null;
  if v_site.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.keep_connection(v_site, p_connection);
end
$$;

-- require_connected: holds the connection, or refuses. Returns its version.
create function private.require_connected(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_version int := private.hold_provider(p_site_id, p_provider_key);
begin
  if v_version is null then
    perform private.fail(409, 'NOT_CONNECTED');
  end if;
  return v_version;
end
$$;

-- set_conversion_actions: which conversion actions a site's conversions go to. These and no others;
-- names that were used before keep theirs.
--   Safe     against a worker that still sends to the old ones: the version grows, so its refusal
--            does not block the new ones.
--   Moves    rows that found an action blocked -> QUEUED, where another takes its place.
--   Returns  {version, released}.
--   Refuses  409 NOT_CONNECTED; 400 VALIDATION_FAILED with the field actions, also for those of
--            another account.
--   Callers  owners.
create function public.set_conversion_actions(p_public_id text, p_actions jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_stopped uuid[];
  v_released int;
begin
  perform private.check_actions(v_site, p_actions);
  perform private.require_connected(v_site.id, 'google_ads');
  perform private.check_owner(c.transport, c.account, p_actions)
    from public.provider_credentials c
    where c.site_id = v_site.id and c.provider_key = 'google_ads';
  v_stopped := private.stopped_rows(v_site.id, 'google_ads');
  perform private.write_actions(v_site, 'google_ads', p_actions);
  v_released := private.requeue_stopped(v_site.id, 'google_ads', private.user_actor(), v_stopped);
  perform private.act(private.user_actor(), 'OTHER_ACCOUNT');
  perform private.mark_elsewhere(v_site.id);
  return jsonb_build_object('version', private.new_version(v_site.id, 'google_ads'),
    'released', v_released);
end
$$;

-- disconnect_provider: the credentials are deleted, and with them the choice of actions. Rows wait
-- for the next connection; what is in flight is answered as always.
--   Safe     to repeat.
--   Callers  owners.
create function public.disconnect_provider(p_public_id text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  if private.hold_provider(v_site.id, 'google_ads') is null then
    return jsonb_build_object('ok', true);
  end if;
  delete from public.provider_credentials c
    where c.site_id = v_site.id and c.provider_key = 'google_ads';
  delete from public.provider_conversion_actions a
    where a.site_id = v_site.id and a.provider_key = 'google_ads';
  update public.provider_health_state h
    set blocked_at = null, blocked_code = null, blocked_message = null, quota_until = null,
        updated_at = private.current_moment()
    where h.site_id = v_site.id and h.provider_key = 'google_ads';
  perform private.prove_connection(v_site.id, 'google_ads', jsonb_build_object(
    'contract', 'connection', 'from', 'connected', 'to', 'disconnected',
    'facts', jsonb_build_object('provider', 'google_ads')));
  return jsonb_build_object('ok', true);
end
$$;

-- record_provider_test: what a test of a connection came to.
--   Takes    p_version: of the credentials that were tested. A test of older ones says nothing.
--            p_error {code, message} of a test that failed; p_passed: names whose actions passed,
--            whatever became of the rest. p_conversion_name: the one action that was tested, null
--            for the connection.
--   Moves    a passed test of the connection ends the block, as new credentials do; one of an
--            action ends the block of that action, and of no other. Rows that found an action
--            blocked are QUEUED with the end of its block.
--   Safe     against a batch in flight: a passed test is a new version, so a refusal of what was
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

-- block_provider: nothing more is sent for a (site, provider) until somebody fixes it.
--   Takes    p_credentials_version: those that were refused; older ones block nothing.
--   Returns  {blocked}: whether it is blocked now.
--   Callers  service role only.
create function public.block_provider(
  p_site_id uuid, p_provider_key text, p_code text, p_message text, p_credentials_version int
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  if private.hold_provider(p_site_id, p_provider_key) = p_credentials_version then
    perform private.block_connection(p_site_id, p_provider_key, p_code, p_message);
  end if;
  return jsonb_build_object('blocked', exists (select from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and h.blocked_at is not null));
end
$$;

-- release_provider: for the runbook: blocks of the connection and of its actions end, and the rows
-- that they left FAILED are QUEUED with a fresh budget.
--   Safe     to repeat.
--   Returns  {released}: how many rows.
--   Refuses  409 NOT_CONNECTED.
--   Callers  service role only.
create function public.release_provider(p_site_id uuid, p_provider_key text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_actor private.actor := ('system', null)::private.actor;
  v_stopped uuid[];
begin
  perform private.require_connected(p_site_id, p_provider_key);
  perform private.new_version(p_site_id, p_provider_key);
  v_stopped := private.stopped_rows(p_site_id, p_provider_key);
  return jsonb_build_object('released',
    private.release_connection(p_site_id, p_provider_key, v_actor)
    + private.requeue_stopped(p_site_id, p_provider_key, v_actor, v_stopped));
end
$$;

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

-- provider_credentials_for: what a worker needs to send for a site. The only function that gives
-- out what was sealed, beside the rotation's.
--   Returns  {version, transport, keyId, sealed, account, actions: [{conversionName, action,
--            countingType}]}, or null when it is not connected.
--   Callers  service role only.
create function public.provider_credentials_for(p_site_id uuid, p_provider_key text)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('version', c.version, 'transport', c.transport, 'keyId', c.key_id,
    'sealed', c.sealed, 'account', c.account, 'actions', (
      select coalesce(jsonb_agg(jsonb_build_object('conversionName', a.conversion_name,
        'action', a.action, 'countingType', a.counting_type) order by a.conversion_name), '[]')
      from public.provider_conversion_actions a
      where a.site_id = c.site_id and a.provider_key = c.provider_key))
  from public.provider_credentials c
  where c.site_id = p_site_id and c.provider_key = p_provider_key
$$;

-- list_sealed_credentials: credentials that one vault key sealed, for the rotation to another.
--   Returns  [{siteId, providerKey, version, keyId, sealed}], at most p_limit (1,000).
--   Callers  service role only.
create function public.list_sealed_credentials(p_key_id text, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('siteId', t.site_id, 'providerKey', t.provider_key,
    'version', t.version, 'keyId', t.key_id, 'sealed', t.sealed)
    order by t.site_id, t.provider_key), '[]')
  from (select c.* from public.provider_credentials c where c.key_id = p_key_id
        order by c.site_id, c.provider_key limit least(greatest(p_limit, 1), 1000)) t
$$;

-- reseal_credentials: the same credentials, sealed with another vault key.
--   Safe     against an owner who connects anew meanwhile: only the version that was opened is
--            replaced. To repeat: what has the key already stays.
--   Returns  {resealed}. The version stays: the credentials are the same.
--   Callers  service role only.
create function public.reseal_credentials(
  p_site_id uuid, p_provider_key text, p_version int, p_key_id text, p_sealed text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  update public.provider_credentials c set key_id = p_key_id, sealed = p_sealed
    where c.site_id = p_site_id and c.provider_key = p_provider_key and c.version = p_version
      and c.key_id <> p_key_id;
  return jsonb_build_object('resealed', found);
end
$$;

-- corrections_of_script: {correctionsOfScript}: waiting corrections that would go by API, of what a
-- script sent. Google may not find that under the chosen action.
create function private.corrections_of_script(p_site_id uuid, p_to text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('correctionsOfScript', count(*))
  from public.offline_conversion_queue q
    join private.standing_dispatches d
      on d.sale_id = q.sale_id and d.provider_key = q.provider_key and d.transport = 'script'
  where q.site_id = p_site_id and q.kind <> 'CONVERSION' and q.status in ('QUEUED', 'RETRY')
    and q.by_hand_reason is null and p_to = 'api'
$$;

-- preview_delivery_switch: what a switch of a site's delivery would mean for what waits.
--   Takes    p_to script or api.
--   Returns  {waiting, inFlight, released, adjustmentsByHand, pageViewsStop, missingActions,
--            connected}: released was refused access and goes by script then, corrections among it
--            included; missingActions are names that an API would send nothing under;
--            adjustmentsByHand are corrections that a person has to make after the switch: all of
--            them, since a script cannot, or those that no API makes. Page views go by script only.
--   Callers  owners.
create function public.preview_delivery_switch(p_public_id text, p_to text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_released uuid[];
begin
  if p_to is null or p_to not in ('script', 'api') then
    perform private.refuse_setting('to');
  end if;
  v_released := array(select j.id from private.judge_queue_rows(v_site.id, 'RETRY_SELECTED', null,
    private.refused_rows(v_site.id, 'google_ads'), null) j
    where p_to = 'script' and j.skipped is null);
  return (select jsonb_build_object(
      'waiting', coalesce(sum(t.row_count) filter (where t.status in ('QUEUED', 'RETRY')), 0),
      'inFlight', coalesce(sum(t.row_count) filter (where t.status = 'PROCESSING'), 0))
    from private.queue_totals(array[v_site.id]) t)
    || private.corrections_of_script(v_site.id, p_to)
    || jsonb_build_object(
      'adjustmentsByHand', (
        select count(*) from public.offline_conversion_queue q
        where q.site_id = v_site.id and q.kind <> 'CONVERSION'
          and (q.status in ('QUEUED', 'RETRY') or q.id = any (v_released))
          and (p_to = 'script' or q.by_hand_reason is not null)),
      'released', cardinality(v_released),
      'pageViewsStop', p_to = 'api' and v_site.page_views_enabled,
      'missingActions', case p_to when 'api' then private.missing_actions(v_site) else '[]' end,
      'connected', exists (select from public.provider_credentials c
        where c.site_id = v_site.id and c.provider_key = 'google_ads'));
end
$$;

-- switch_delivery: a site's conversions go by its script from now on, or by Google's APIs. Rows in
-- flight are answered by whoever has them; one order id is one conversion on either way. What was
-- refused access to the API goes by the script.
--   Safe     against a claim at the same moment: it comes before the switch or gets nothing.
--   Returns  {ok, from, to}.
--   Refuses  409 NOT_CONNECTED for the API without credentials.
--   Callers  owners.
create function public.switch_delivery(p_public_id text, p_to text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
  v_from text;
begin
  if p_to is null or p_to not in ('script', 'api') then
    perform private.refuse_setting('to');
  end if;
  insert into public.provider_health_state (site_id, provider_key, updated_at)
    values (v_site.id, 'google_ads', v_now) on conflict do nothing;
  if private.hold_provider(v_site.id, 'google_ads') is null and p_to = 'api' then
    perform private.fail(409, 'NOT_CONNECTED');
  end if;
  if p_to = 'script' then
    perform private.requeue_refused(v_site.id, 'google_ads', private.user_actor());
  end if;
  select s.oci_sync_method into v_from from public.sites s where s.id = v_site.id for no key update;
  if v_from <> p_to then
    update public.sites s set oci_sync_method = p_to, updated_at = v_now where s.id = v_site.id;
    perform private.prove_connection(v_site.id, 'google_ads', jsonb_build_object(
      'contract', 'delivery', 'from', v_from, 'to', p_to));
  end if;
  return jsonb_build_object('ok', true, 'from', v_from, 'to', p_to);
end
$$;

grant execute on function
  public.connect_provider(text, jsonb),
  public.set_conversion_actions(text, jsonb),
  public.disconnect_provider(text),
  public.provider_connection(text),
  public.preview_delivery_switch(text, text),
  public.switch_delivery(text, text)
to authenticated;
grant execute on function
  public.seed_provider_credentials(uuid, jsonb),
  public.record_provider_test(uuid, text, int, boolean, jsonb, text, text[]),
  public.block_provider(uuid, text, text, text, int),
  public.release_provider(uuid, text),
  public.provider_credentials_for(uuid, text),
  public.list_sealed_credentials(text, int),
  public.reseal_credentials(uuid, text, int, text, text)
to opsmantik_app, service_role;
