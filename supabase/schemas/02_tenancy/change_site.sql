-- How an owner creates and changes a site.

-- check_site_fields: what a site's editable fields must satisfy. The form checks the same before it
-- sends; this check decides.
create function private.check_site_fields(
  p_name text, p_domains text[], p_currency text, p_timezone text
) returns void
language plpgsql stable set search_path = ''
as $$
begin
  perform private.check_currency(p_currency);
  if not private.is_plain_text(p_name, 80) then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "name"}');
  end if;
  if p_domains is null
      or array_position(p_domains, null) is not null
      or cardinality(p_domains) <> (select count(distinct d) from unnest(p_domains) d)
      or exists (
        select from unnest(p_domains) d
        where d <> 'localhost' and (char_length(d) > 253
          or d !~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$')) then
    perform private.fail(400, 'INVALID_DOMAIN');
  end if;
  -- Names that both Postgres and browsers know.
  if not exists (select from pg_catalog.pg_timezone_names z where z.name = p_timezone)
      or p_timezone !~ '^(UTC|[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+){1,2})$'
      or p_timezone like 'SystemV/%' then
    perform private.fail(400, 'INVALID_TIMEZONE');
  end if;
end
$$;

-- create_site: a new site, owned by the caller. Whether visitors are asked for consent is the
-- caller's decision; there is no default.
--   Takes    p_settings {defaultAovCents?, conversionNames?}, as set_site_delivery takes them.
--   Safe     two first users at once: the lock lets one of them be first.
--   Returns  {siteId}.
--   Callers  signed-in users.
create function public.create_site(
  p_name text, p_domains text[], p_currency text, p_timezone text, p_locale text,
  p_consent_mode text, p_oci_sync_method text default 'script', p_settings jsonb default '{}'
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site public.sites;
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtext('create_site'));
  if not private.may_create_site() then
    perform private.fail(403, 'FORBIDDEN');
  end if;
  if (select count(*) from public.site_members m
      where m.user_id = auth.uid() and m.role = 'owner') >= 100 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  perform private.check_site_fields(p_name, p_domains, p_currency, p_timezone);
  if p_consent_mode is null or p_consent_mode not in ('off', 'required') then
    perform private.refuse_setting('consentMode');
  end if;
  perform private.check_delivery(p_settings);
  if p_settings ? 'defaultAovCents' then
    perform private.check_amount((p_settings ->> 'defaultAovCents')::bigint, p_currency);
  end if;
  insert into public.sites
      (name, domains, currency, timezone, locale, consent_mode, oci_sync_method, created_by,
        created_at, updated_at, consent_set_at, default_aov_cents, conversion_names)
    values (p_name, p_domains, p_currency, p_timezone, p_locale, p_consent_mode,
      p_oci_sync_method, auth.uid(), v_now, v_now, v_now,
      coalesce((p_settings ->> 'defaultAovCents')::bigint, 10000),
      coalesce(p_settings -> 'conversionNames', '{}'))
    returning * into v_site;
  insert into public.site_members (site_id, user_id, role, created_at)
    values (v_site.id, auth.uid(), 'owner', v_now);
  return jsonb_build_object('siteId', v_site.public_id);
end
$$;
grant execute on function public.create_site(text, text[], text, text, text, text, text, jsonb)
  to authenticated;

-- update_site: change what an owner may change.
--   Refuses  400 VALIDATION_FAILED with the field defaultAovCents when the currency changes and no
--            average order in the new one is given: the old number would mean other money.
--   Callers  owners.
create function public.update_site(
  p_public_id text, p_name text, p_domains text[], p_currency text, p_timezone text, p_locale text,
  p_default_aov_cents bigint default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.check_site_fields(p_name, p_domains, p_currency, p_timezone);
  -- Locked: no other change of the currency can come between this comparison and the update.
  select s.* into v_site from public.sites s where s.id = v_site.id for no key update;
  if p_default_aov_cents is not null then
    perform private.check_amount(p_default_aov_cents, p_currency);
  elsif p_currency <> v_site.currency then
    perform private.refuse_setting('defaultAovCents');
  end if;
  update public.sites s
    set name = p_name,
        domains = p_domains,
        currency = p_currency,
        timezone = p_timezone,
        locale = p_locale,
        default_aov_cents = coalesce(p_default_aov_cents, s.default_aov_cents),
        amount_presets = case when p_currency = s.currency then s.amount_presets else '{}' end,
        updated_at = private.current_moment()
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.update_site(text, text, text[], text, text, text, bigint)
  to authenticated;

-- set_site_archived: archive or restore a site. Its records stay either way.
--   Callers  owners.
create function public.set_site_archived(p_public_id text, p_archived boolean) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
begin
  update public.sites s
    set archived_at = case when p_archived then coalesce(s.archived_at, v_now) end,
        updated_at = v_now
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_site_archived(text, boolean) to authenticated;

-- set_site_privacy: whether nothing is stored without consent, and whether a browser's privacy
-- signal is honoured.
--   Callers  owners.
create function public.set_site_privacy(
  p_public_id text, p_consent_mode text, p_respects_privacy_signal boolean
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  update public.sites s
    set consent_mode = p_consent_mode,
        consent_set_at = case when s.consent_mode = p_consent_mode then s.consent_set_at
          else private.current_moment() end,
        respects_privacy_signal = p_respects_privacy_signal,
        updated_at = private.current_moment()
    where s.id = v_site.id;
  if p_consent_mode <> v_site.consent_mode then   -- its step begins again
    delete from private.setup_ticks t where t.site_id = v_site.id and t.step = 'consent';
  end if;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_site_privacy(text, text, boolean) to authenticated;
