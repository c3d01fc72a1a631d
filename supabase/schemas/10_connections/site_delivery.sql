-- A site's settings for values and delivery: what its leads are worth before anybody says an
-- amount, and what is sent to Google, when and under which name.

-- default_conversion_name: the names that the setup guide asks for. A call with a fixed key is
-- evaluated when the query is planned, so it costs nothing per row.
create function private.default_conversion_name(p_key text) returns text
language sql immutable set search_path = ''
as $$
  select case p_key
    when 'seal' then 'OpsMantik_V5_DEMIR_MUHUR'
    when 'MEETING_BOOKED' then 'OpsMantik_V4_Sicak_Teklif'
    when 'SEAL_PENDING' then 'OpsMantik_V3_Nitelikli_Gorusme'
    when 'INTENT_CAPTURED' then 'OpsMantik_V2_Ilk_Temas'
    when 'page_view' then 'OpsMantik_V1_Nabiz' end
$$;

-- conversion_name: what a conversion is called in the site's Google Ads account.
create function private.conversion_name(p_site public.sites, p_key text) returns text
language sql immutable set search_path = ''
as $$
  select coalesce(p_site.conversion_names ->> p_key, private.default_conversion_name(p_key))
$$;

-- refuse_setting: refuses with the setting's name, so that the form can point at it.
create function private.refuse_setting(p_field text) returns void
language sql set search_path = ''
as $$ select private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', p_field)) $$;

-- is_whole: true for a whole number within these bounds.
create function private.is_whole(p_value jsonb, p_min bigint, p_max bigint) returns boolean
language sql immutable set search_path = ''
as $$
  select case when jsonb_typeof(p_value) = 'number'
    then p_value::numeric between p_min and p_max and p_value::numeric % 1 = 0
    else false end
$$;

-- is_presets: true for up to four different amounts.
create function private.is_presets(p_value jsonb) returns boolean
language sql immutable set search_path = ''
as $$
  select case when jsonb_typeof(p_value) = 'array'
    then jsonb_array_length(p_value) <= 4 and not exists (
        select from jsonb_array_elements(p_value) a
        where not private.is_whole(a, 1, private.max_amount_cents()))
      and jsonb_array_length(p_value) = (
        select count(distinct a) from jsonb_array_elements(p_value) a)
    else false end
$$;

-- check_delivery: what the given settings must satisfy. Keys are a closed list: a misspelt key
-- would silently change nothing.
--   Refuses  400 VALIDATION_FAILED with the field.
create function private.check_delivery(p_settings jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_entry record;
  v_named public.sites;
begin
  if jsonb_typeof(p_settings) is distinct from 'object' then
    perform private.refuse_setting('settings');
  end if;
  for v_entry in
    select e.key, e.value, jsonb_typeof(e.value) as type from jsonb_each(p_settings) e
  loop
    if not coalesce(case v_entry.key
      when 'defaultAovCents' then private.is_whole(v_entry.value, 1, private.max_amount_cents())
      when 'sendDelayMinutes' then private.is_whole(v_entry.value, 0, 1440)
      when 'clickMinAgeHours' then private.is_whole(v_entry.value, 0, 48)
      when 'needsYouAfterHours' then private.is_whole(v_entry.value, 1, 2160)
      when 'signalsEnabled' then v_entry.type = 'boolean'
      when 'signalsDailyMax' then private.is_whole(v_entry.value, 1, 100000)
      when 'pageViewsEnabled' then v_entry.type = 'boolean'
      when 'intentWeights' then v_entry.type = 'object'
      when 'conversionNames' then v_entry.type = 'object'
      when 'amountPresets' then private.is_presets(v_entry.value) end, false) then
      perform private.refuse_setting(left(v_entry.key, 40));
    end if;
  end loop;
  for v_entry in select e.key, e.value from jsonb_each(p_settings -> 'intentWeights') e loop
    if v_entry.key not in ('intent', 'qualified', 'meeting', 'sealed')
       or jsonb_typeof(v_entry.value) <> 'number'
       or (v_entry.value)::numeric not between 0 and 10 then
      perform private.refuse_setting('intentWeights.' || left(v_entry.key, 40));
    end if;
  end loop;
  for v_entry in select e.key, e.value from jsonb_each(p_settings -> 'conversionNames') e loop
    if v_entry.key <> all (private.conversion_keys())
       or jsonb_typeof(v_entry.value) <> 'string'
       or not private.is_plain_text(v_entry.value #>> '{}', 100) then
      perform private.refuse_setting('conversionNames.' || left(v_entry.key, 40));
    end if;
  end loop;
  -- Names left out are the defaults. Google adds up whatever shares a name, sales and first
  -- contacts.
  v_named.conversion_names := coalesce(p_settings -> 'conversionNames', '{}');
  for v_entry in
    select n.key from (
      select k.key, k.place,
        min(k.place) over (partition by private.conversion_name(v_named, k.key)) as first
      from unnest(private.conversion_keys()) with ordinality k (key, place)) n
    where n.place > n.first order by n.place limit 1
  loop
    perform private.refuse_setting('conversionNames.' || v_entry.key);
  end loop;
end
$$;

-- set_site_delivery: changes the given settings; the others stay. Given weights or names replace
-- all weights or names. A renamed conversion keeps the conversion action that was chosen for it,
-- but what was seen under the old name proves nothing of the new one: setup waits for it again.
--   Refuses  400 VALIDATION_FAILED with the field, for an unknown key or a value out of bounds.
--   Callers  owners.
create function public.set_site_delivery(p_public_id text, p_settings jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_after public.sites;
begin
  perform private.check_delivery(p_settings);
  -- A seal without an amount would be worth 0, and 0 cannot be sent.
  if (p_settings #> '{intentWeights,sealed}')::numeric = 0 then
    perform private.refuse_setting('intentWeights.sealed');
  end if;
  perform private.hold_provider(v_site.id, 'google_ads');
  select s.* into v_site from public.sites s where s.id = v_site.id for no key update;
  update public.sites s
    set default_aov_cents =
          coalesce((p_settings ->> 'defaultAovCents')::bigint, s.default_aov_cents),
        intent_weights = coalesce(p_settings -> 'intentWeights', s.intent_weights),
        signals_enabled = coalesce((p_settings ->> 'signalsEnabled')::boolean, s.signals_enabled),
        signals_daily_max =
          coalesce((p_settings ->> 'signalsDailyMax')::int, s.signals_daily_max),
        page_views_enabled =
          coalesce((p_settings ->> 'pageViewsEnabled')::boolean, s.page_views_enabled),
        conversion_names = coalesce(p_settings -> 'conversionNames', s.conversion_names),
        send_delay_minutes =
          coalesce((p_settings ->> 'sendDelayMinutes')::int, s.send_delay_minutes),
        click_min_age_hours =
          coalesce((p_settings ->> 'clickMinAgeHours')::int, s.click_min_age_hours),
        needs_you_after_hours =
          coalesce((p_settings ->> 'needsYouAfterHours')::int, s.needs_you_after_hours),
        amount_presets = case when p_settings ? 'amountPresets'
          then array(
            select a::bigint from jsonb_array_elements_text(p_settings -> 'amountPresets') a
            order by 1)
          else s.amount_presets end,
        updated_at = private.current_moment()
    where s.id = v_site.id
    returning * into v_after;
  perform private.carry_actions(v_site, v_after);
  if exists (select from unnest(private.conversion_keys()) k
      where private.conversion_name(v_site, k) <> private.conversion_name(v_after, k)) then
    delete from private.setup_ticks t where t.site_id = v_site.id
      and (t.step like 'actions:%' or t.step like 'test:%');
    delete from private.setup_tests t where t.site_id = v_site.id;
  end if;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_site_delivery(text, jsonb) to authenticated;

-- site_delivery: the settings as they hold now, defaults filled in.
--   Returns  {defaultAovCents, intentWeights, signalsEnabled, signalsDailyMax, pageViewsEnabled,
--            conversionNames, sendDelayMinutes, clickMinAgeHours, needsYouAfterHours,
--            amountPresets, signalsNow: {awaitingPerson, handedOutToday}}; awaitingPerson is
--            counted up to 1,000.
--   Callers  viewers.
create function public.site_delivery(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return jsonb_build_object(
    'defaultAovCents', v_site.default_aov_cents,
    'intentWeights', (
      select jsonb_object_agg(k, private.intent_weight(v_site, k))
      from unnest('{intent,qualified,meeting,sealed}'::text[]) k),
    'signalsEnabled', v_site.signals_enabled,
    'signalsDailyMax', v_site.signals_daily_max,
    'signalsNow', jsonb_build_object(
      'awaitingPerson', (select count(*) from (
        select from public.marketing_signals g join public.calls c on c.id = g.call_id
        where g.site_id = v_site.id and g.dispatch_status = 'PENDING'
          and private.awaits_person(c) limit 1000) w),
      'handedOutToday', private.signals_handed_out_today(v_site)),
    'pageViewsEnabled', v_site.page_views_enabled,
    'conversionNames', (
      select jsonb_object_agg(k, private.conversion_name(v_site, k))
      from unnest(private.conversion_keys()) k),
    'sendDelayMinutes', v_site.send_delay_minutes,
    'clickMinAgeHours', v_site.click_min_age_hours,
    'needsYouAfterHours', v_site.needs_you_after_hours,
    'amountPresets', to_jsonb(v_site.amount_presets));
end
$$;
grant execute on function public.site_delivery(text) to authenticated;
