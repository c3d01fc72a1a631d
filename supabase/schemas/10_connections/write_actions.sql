-- Which conversion actions a site's conversions go to.

-- check_actions: what conversion actions must satisfy before they are stored.
--   Takes    [{conversionName, action, googleName?, countingType?}], at most 50.
--   Refuses  400 VALIDATION_FAILED with the field actions: a malformed action, a name given twice,
--            or one action for two kinds of conversion, which Google would add up.
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

-- check_owner: conversion actions must belong to the connected account. Data Manager gets only an
-- action's number, which is another action in another account. The Ads API also takes actions of
-- the account that Google names as the owner of its conversions.
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

-- write_actions: stores these conversion actions and removes the others. An action that stays the
-- same keeps its block. An unused name keeps its line while the account is the same, for the rows
-- that were sent under it.
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
  update public.provider_conversion_actions a   -- Google's name, where it is known only now
    set google_name = g."googleName"
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

-- carry_actions: gives renamed conversions the actions of their old names. The old name's line
-- stays, for the rows that were sent under it. A new name never takes over the action of another
-- kind, which Google would add up. The caller has called hold_provider.
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

-- with_seal_action: adds `actions` to a connection that names only the action for sealed
-- conversions: that action, and the ones the site already has in the same Google account for its
-- other conversions.
create function private.with_seal_action(p_site public.sites, p_connection jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select p_connection || jsonb_build_object('actions', (
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
      'conversionName', t.conversion_name,
      'action', t.action,
      'googleName', t.google_name,
      'countingType', t.counting_type)))
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

-- set_conversion_actions: sets the conversion actions of a site's conversions, and removes the
-- others. Earlier names keep theirs.
--   Moves    rows that a blocked action stopped -> QUEUED, where another action takes its place.
--   Safe     against a worker that still sends to the old ones: the version grows, so a refusal of
--            the old ones does not block the new ones.
--   Returns  {version, released}.
--   Refuses  409 NOT_CONNECTED; 400 VALIDATION_FAILED with the field actions, also for actions
--            of another account.
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
grant execute on function public.set_conversion_actions(text, jsonb) to authenticated;
