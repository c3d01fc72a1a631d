-- Lines about a site itself: its settings, its consent mode, its delivery, its plan.

-- site_act: which act a change of a site is, by the fields that differ.
create function private.site_act(p_changed jsonb) returns text
language sql immutable set search_path = ''
as $$
  select case
    when p_changed ? 'archived_at'
      then case when p_changed -> 'archived_at' -> 1 = 'null' then 'restored' else 'archived' end
    when p_changed ?| '{paused_until,pause_reason}'
      then case when p_changed -> 'paused_until' -> 1 = 'null' then 'resumed' else 'paused' end
    when p_changed ?| '{consent_mode,respects_privacy_signal}' then 'consent'
    when p_changed ?| '{name,domains,currency,timezone,locale}' then 'settings'
    else 'delivery' end
$$;

-- note_site_act: a site was created, archived, restored, or its settings changed. One change is one
-- line, however many fields it changes. The way of delivery keeps its own contract.
create function private.note_site_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_changed jsonb;
begin
  if tg_op = 'INSERT' then
    perform private.note_act(new.id, jsonb_build_object(
      'contract', 'site',
      'entityId', private.site_entity(new.id),
      'to', 'created',
      'facts', jsonb_build_object('act', 'created', 'consentMode', new.consent_mode)));
    return null;
  end if;
  v_changed := private.changed_fields(
    to_jsonb(old) - '{updated_at,consent_set_at}'::text[],
    to_jsonb(new) - '{updated_at,consent_set_at}'::text[]);
  if v_changed ? 'oci_sync_method' then
    perform private.prove_connection(new.id, 'google_ads', jsonb_build_object(
      'contract', 'delivery', 'from', old.oci_sync_method, 'to', new.oci_sync_method));
    v_changed := v_changed - 'oci_sync_method';
  end if;
  if v_changed <> '{}' then
    perform private.note_act(new.id, jsonb_build_object(
      'contract', 'site',
      'entityId', private.site_entity(new.id),
      'from', case when v_changed ? 'consent_mode' then old.consent_mode end,
      'to', case when v_changed ? 'consent_mode' then new.consent_mode
        else private.site_act(v_changed) end,
      'facts', jsonb_build_object('act', private.site_act(v_changed), 'changed', v_changed)));
  end if;
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update on public.sites
  for each row execute function private.note_site_act();

-- note_setting_act: a setting of a site that has a table of its own changed.
create function private.note_setting_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_new jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) else '{}' end;
  v_old jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) else '{}' end;
  v_site_id uuid := coalesce(v_new ->> 'site_id', v_old ->> 'site_id')::uuid;
  v_changed jsonb := private.changed_fields(v_old, v_new)
    - '{site_id,updated_at,changed_at}'::text[];
begin
  if v_changed <> '{}' then
    perform private.note_act(v_site_id, jsonb_build_object(
      'contract', 'site',
      'entityId', private.site_entity(v_site_id),
      'to', 'settings',
      'facts', jsonb_build_object('act', 'settings', 'changed', v_changed)));
  end if;
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update or delete on private.site_ceilings
  for each row execute function private.note_setting_act();
create trigger acts_leave_a_line after insert or update or delete on private.site_retention
  for each row execute function private.note_setting_act();

-- note_plan_act: a site got another plan. The plan that it begins with belongs to its creation.
create function private.note_plan_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_changed jsonb := private.changed_fields(
    case when tg_op = 'UPDATE' then to_jsonb(old) - 'updated_at' else '{}' end,
    to_jsonb(new) - '{site_id,updated_at}'::text[]) - 'site_id';
begin
  if tg_op = 'INSERT' and exists (select from public.sites s
      where s.id = new.site_id and s.created_at = private.current_moment()) then
    return null;
  end if;
  if v_changed <> '{}' then
    perform private.note_act(new.site_id, jsonb_build_object(
      'contract', 'plan',
      'entityId', private.site_entity(new.site_id),
      'from', case when tg_op = 'UPDATE' then old.name end,
      'to', new.name,
      'facts', jsonb_build_object('changed', v_changed)));
  end if;
  return null;
end
$$;
create trigger acts_leave_a_line after insert or update on public.site_plans
  for each row execute function private.note_plan_act();
