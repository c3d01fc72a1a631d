-- Rendered from supabase/schemas by `npm run db:render`. Read and edit it there.

-- A function may name what comes after it.
set check_function_bodies = off;

-- 01_ground/privileges.sql
alter default privileges in schema public
  revoke all on tables from anon, authenticated, service_role;
alter default privileges in schema public
  revoke all on sequences from anon, authenticated, service_role;
alter default privileges in schema public
  revoke all on functions from anon, authenticated, service_role;
alter default privileges revoke execute on functions from public;
create schema if not exists private;
revoke all on schema private from public;
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'opsmantik_app') then
    create role opsmantik_app login noinherit;
  end if;
  execute format('revoke temporary on database %I from public', current_database());
end
$$;
alter role opsmantik_app set statement_timeout = '15s';
alter role opsmantik_app set idle_in_transaction_session_timeout = '30s';
grant usage on schema public to opsmantik_app;
do $$
begin
  alter role anon set statement_timeout = '3s';
  alter role authenticated set statement_timeout = '8s';
  alter role service_role set statement_timeout = '15s';
exception when insufficient_privilege then
  raise warning 'statement_timeout of anon, authenticated and service_role was not set';
end
$$;

-- 01_ground/currencies.sql
create function private.currency_decimals(p_currency text) returns int
language sql immutable set search_path = ''
as $$
  select case
    when p_currency = any ('{
      AED,AFN,ALL,AMD,AOA,ARS,AUD,AWG,AZN,BAM,BBD,BDT,BMD,BND,BOB,BOV,BRL,BSD,BTN,BWP,
      BYN,BZD,CAD,CDF,CHE,CHF,CHW,CNY,COP,COU,CRC,CUP,CVE,CZK,DKK,DOP,DZD,EGP,ERN,ETB,
      EUR,FJD,FKP,GBP,GEL,GHS,GIP,GMD,GTQ,GYD,HKD,HNL,HTG,HUF,IDR,ILS,INR,IRR,JMD,KES,
      KGS,KHR,KPW,KYD,KZT,LAK,LBP,LKR,LRD,LSL,MAD,MDL,MGA,MKD,MMK,MNT,MOP,MRU,MUR,MVR,
      MWK,MXN,MXV,MYR,MZN,NAD,NGN,NIO,NOK,NPR,NZD,PAB,PEN,PGK,PHP,PKR,PLN,QAR,RON,RSD,
      RUB,SAR,SBD,SCR,SDG,SEK,SGD,SHP,SLE,SOS,SRD,SSP,STN,SVC,SYP,SZL,THB,TJS,TMT,TOP,
      TRY,TTD,TWD,TZS,UAH,USD,USN,UYU,UZS,VED,VES,WST,XAD,XCD,XCG,YER,ZAR,ZMW,ZWG
      }'::text[]) then 2
    when p_currency = any ('{
      BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,UYI,VND,VUV,XAF,XOF,XPF
      }'::text[]) then 0
    when p_currency = any ('{BHD,IQD,JOD,KWD,LYD,OMR,TND}'::text[]) then 3
    when p_currency = any ('{CLF,UYW}'::text[]) then 4 end
$$;
create function private.check_currency(p_currency text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
  if private.currency_decimals(p_currency) is null then
    perform private.fail(400, 'INVALID_CURRENCY');
  end if;
end
$$;
create function private.max_amount_cents() returns bigint
language sql immutable parallel safe set search_path = ''
as $$ select 100000000000 $$;
create function private.check_amount(p_amount_cents bigint, p_currency text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
  perform private.check_currency(p_currency);
  if p_amount_cents is null
      or p_amount_cents <= 0
      or p_amount_cents > private.max_amount_cents()
      or (p_amount_cents % 100 <> 0 and private.currency_decimals(p_currency) = 0) then
    perform private.fail(400, 'INVALID_AMOUNT');
  end if;
end
$$;
create function private.asked_cents(p_args jsonb) returns bigint
language plpgsql immutable set search_path = ''
as $$
declare
  v_asked jsonb := nullif(p_args -> 'amountCents', 'null');
begin
  if v_asked is null then
    return null;
  end if;
  if jsonb_typeof(v_asked) <> 'number'
      or v_asked::numeric % 1 <> 0
      or v_asked::numeric not between 1 and private.max_amount_cents() then
    perform private.fail(400, 'INVALID_AMOUNT');
  end if;
  return v_asked::numeric::bigint;
end
$$;

-- 01_ground/database_readiness.sql
create function public.database_readiness() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'migration', (select max(version) from supabase_migrations.schema_migrations))
$$;

-- 01_ground/ids_and_time.sql
create function private.uuid_v7() returns uuid
language sql volatile
as $$
  -- A random v4 id. Its first 48 bits become milliseconds, and its version 4 becomes 7.
  select pg_catalog.encode(
    pg_catalog.set_bit(pg_catalog.set_bit(
      pg_catalog.overlay(
        pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
        pg_catalog.substring(
          pg_catalog.int8send(
            (extract(epoch from pg_catalog.clock_timestamp()) * 1000)::bigint),
          3),
        1, 6),
      52, 1), 53, 1),
    'hex')::pg_catalog.uuid
$$;
create function private.current_moment() returns timestamptz
language sql stable
as $$
  select case
    when session_user = 'postgres' then coalesce(
      nullif(pg_catalog.current_setting('opsmantik.now', true), '')::pg_catalog.timestamptz,
      pg_catalog.now())
    else pg_catalog.now() end
$$;
create function private.hour_of(p_at timestamptz) returns timestamptz
language sql immutable
as $$
  select pg_catalog.date_bin(
    interval '1 hour', p_at, pg_catalog.timestamptz '2000-01-01 00:00:00+00')
$$;
create function private.quarter_of(p_at timestamptz) returns timestamptz
language sql immutable
as $$
  select pg_catalog.date_bin(
    interval '15 minutes', p_at, pg_catalog.timestamptz '2000-01-01 00:00:00+00')
$$;
create function private.exact_time(p_at timestamptz) returns text
language sql stable set search_path = ''
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;
create function private.utc_text(p_at timestamptz) returns text
language sql immutable set search_path = ''
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $$;

-- 01_ground/limits.sql
create function private.click_life() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;
create function private.max_attempts() returns int
language sql immutable parallel safe set search_path = ''
as $$ select 5 $$;
create function private.adjustments_end() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '54 days' $$;
create function private.undo_window() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '10 minutes' $$;
create function private.max_free_waits() returns int
language sql immutable parallel safe set search_path = ''
as $$ select 20 $$;
create function private.claim_doubt() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '45 minutes' $$;
create function private.event_arrival_window() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '25 hours' $$;

-- 01_ground/refusals.sql
create function private.fail(p_status int, p_code text, p_detail jsonb default null) returns void
language plpgsql set search_path = ''
as $$
begin
  raise exception using
    errcode = 'PT' || p_status,
    message = p_code,
    detail = coalesce(p_detail::text, '');
end
$$;
create function private.refuse_change() returns trigger
language plpgsql set search_path = ''
as $$
begin
  perform private.fail(409, 'RECORD_IS_PERMANENT',
    jsonb_build_object('table', tg_table_name, 'operation', tg_op));
  return null;
end
$$;
create function private.refuse_row(p_table text, p_constraint text) returns void
language plpgsql set search_path = ''
as $$
begin
  raise exception 'new row for relation "%" violates "%"', p_table, p_constraint
    using errcode = 'check_violation', table = p_table, constraint = p_constraint;
end
$$;

-- 01_ground/text.sql
create function private.is_plain_text(p_text text, p_max int) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(
    char_length(p_text) between 1 and p_max
      and p_text = btrim(p_text)
      and p_text !~
        '[\u0001-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]',
    false)
$$;
create function private.url_path(p_url text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_url is not null then coalesce(nullif(left(
    split_part(split_part(regexp_replace(p_url, '^[a-z]+://[^/?#]*', '', 'i'), '?', 1), '#', 1),
    120), ''), '/') end
$$;
create function private.search_pattern(p_text text) returns text
language sql immutable set search_path = ''
as $$
  select '%' || regexp_replace(translate(lower(translate(p_text, 'Iİ', 'ii')), 'ı', 'i'),
    '([\\%_])', '\\\1', 'g') || '%'
$$;
create function private.masked_phone(p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when n.digits is null then null
    when length(n.digits) < 8 then '••• ' || right(n.digits, 2)
    else case
        when n.digits ~ '^90\d{10}$' then '+90 ' || substr(n.digits, 3, 3)
        when n.digits ~ '^0\d{10}$' then left(n.digits, 4)
        when p_phone like '+%' then '+' || left(n.digits, 2)
        else left(n.digits, 3) end
      || ' ••• ' || substr(right(n.digits, 4), 1, 2) || ' ' || right(n.digits, 2) end
  from (select nullif(regexp_replace(p_phone, '\D', '', 'g'), '') as digits) n
$$;
create function private.masked_click(p_click text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when char_length(p_click) >= 16 then left(p_click, 6) || '…' || right(p_click, 4)
    when p_click is not null then '…' end
$$;
create function private.sha256_hex(p_text text) returns text
language sql immutable parallel safe set search_path = ''
as $$ select encode(sha256(convert_to(p_text, 'UTF8')), 'hex') $$;

-- 02_tenancy/sites.sql
create table public.sites (
  id uuid primary key default private.uuid_v7(),
  public_id text not null unique default encode(extensions.gen_random_bytes(16), 'hex'),
  name text not null,
  domains text[] not null,
  currency text not null,
  timezone text not null default 'Europe/Istanbul',
  locale text not null default 'tr',
  oci_sync_method text not null default 'script',
  consent_mode text not null,
  respects_privacy_signal boolean not null default false,
  default_aov_cents bigint not null default 10000,
  intent_weights jsonb not null default '{}',
  signals_enabled boolean not null default false,
  signals_daily_max int not null default 200,
  page_views_enabled boolean not null default false,
  conversion_names jsonb not null default '{}',
  send_delay_minutes int not null default 10,
  click_min_age_hours int not null default 6,
  needs_you_after_hours int not null default 48,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  paused_until timestamptz,
  pause_reason text,
  consent_set_at timestamptz not null default private.current_moment(),
  amount_presets bigint[] not null default '{}',
  constraint amount_presets_are_few check (
    cardinality(amount_presets) <= 4 and 0 < all (amount_presets)),
  constraint signals_daily_max_is_bounded check (signals_daily_max between 1 and 100000),
  constraint average_order_is_positive check (default_aov_cents between 1 and 100000000000),
  constraint send_delay_is_bounded check (send_delay_minutes between 0 and 1440),
  constraint click_min_age_is_bounded check (click_min_age_hours between 0 and 48),
  constraint needs_you_is_bounded check (needs_you_after_hours between 1 and 2160),
  constraint a_pause_has_a_reason check ((paused_until is null) = (pause_reason is null)),
  constraint pause_reason_is_plain_text check (
    pause_reason is null or private.is_plain_text(pause_reason, 200)),
  constraint public_id_is_32_hex check (public_id ~ '^[0-9a-f]{32}$'),
  constraint name_is_plain_text check (private.is_plain_text(name, 80)),
  constraint site_has_1_to_20_domains check (cardinality(domains) between 1 and 20),
  constraint currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint locale_is_known check (locale in ('tr', 'en')),
  constraint oci_sync_method_is_known check (oci_sync_method in ('script', 'api')),
  constraint consent_mode_is_known check (consent_mode in ('off', 'required'))
);

-- 02_tenancy/site_members.sql
create type public.site_role as enum ('viewer', 'operator', 'owner');

-- 02_tenancy/site_invitations.sql
create table public.site_invitations (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  email text not null,
  role public.site_role not null,
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint email_is_an_address check (
    email = lower(email)
    and char_length(email) <= 254
    and email ~ '^[^\s@<>"]+@[a-z0-9.-]+\.[a-z0-9-]{2,63}$'),
  constraint one_open_invitation_per_address unique (site_id, email)
);

-- 02_tenancy/answer_invitations.sql
create function private.hold_my_invitation(p_invitation_id uuid) returns public.site_invitations
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations;
begin
  select i.* into v_invitation
    from public.site_invitations i
    join auth.users u on u.id = auth.uid()
      and u.email_confirmed_at is not null and lower(u.email) = i.email
    where i.id = p_invitation_id for update of i;
  if v_invitation.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return v_invitation;
end
$$;
create function public.accept_invitation(p_invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := private.hold_my_invitation(p_invitation_id);
  v_site public.sites;
begin
  if v_invitation.expires_at <= private.current_moment() then
    perform private.fail(409, 'INVITATION_EXPIRED');
  end if;
  select s.* into v_site from public.sites s where s.id = v_invitation.site_id;
  if v_site.archived_at is not null then
    perform private.fail(409, 'SITE_ARCHIVED');
  end if;
  insert into public.site_members (site_id, user_id, role, created_at)
    values (v_site.id, auth.uid(), v_invitation.role, private.current_moment())
    on conflict (site_id, user_id) do nothing;
  delete from public.site_invitations i where i.id = v_invitation.id;
  return jsonb_build_object('siteId', v_site.public_id);
end
$$;
create function public.decline_invitation(p_invitation_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := private.hold_my_invitation(p_invitation_id);
begin
  delete from public.site_invitations i where i.id = v_invitation.id;
  return jsonb_build_object('ok', true);
end
$$;
create function public.purge_expired_invitations() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.site_invitations i where i.id in (
    select e.id from public.site_invitations e
    where e.expires_at < private.current_moment() - interval '30 days'
    order by e.expires_at limit 1000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 02_tenancy/change_site.sql
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

-- 02_tenancy/fresh_sign_in.sql
create function private.sign_in_life() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '15 minutes' $$;
create function private.signed_in_at() returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select case
    when j.claims ? 'session_id' then (
      select s.created_at from auth.sessions s
      where s.id = (j.claims ->> 'session_id')::uuid and s.user_id = auth.uid())
    else (
      select to_timestamp(max((a.value ->> 'timestamp')::numeric))
      from jsonb_array_elements(j.claims -> 'amr') a
      where a.value ->> 'method' <> 'token_refresh') end
  from (select coalesce(auth.jwt(), '{}') as claims) j
$$;
create function private.require_fresh_sign_in() returns void
language plpgsql stable security definer set search_path = ''
as $$
begin
  if coalesce(private.signed_in_at() < private.current_moment() - private.sign_in_life(), true) then
    perform private.fail(403, 'SIGN_IN_AGAIN');
  end if;
end
$$;

-- 02_tenancy/invitation_mail.sql
create function private.invitation_words(p_email text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'by', coalesce(u.email, ''),
    'site', left(replace(regexp_replace(s.name, '[a-z]+://', '', 'gi'), '.', '.' || chr(8288)), 80),
    'role', i.role)
  from public.site_invitations i
    join public.sites s on s.id = i.site_id
    left join auth.users u on u.id = i.invited_by
  where i.email = p_email and i.expires_at > private.current_moment()
  order by i.created_at desc, i.id desc limit 1
$$;
create function private.keep_invitation_words() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  new.raw_user_meta_data := nullif(
    (coalesce(new.raw_user_meta_data, '{}') - 'invitation') || jsonb_strip_nulls(
      jsonb_build_object('invitation', private.invitation_words(new.email))),
    case when new.raw_user_meta_data is null then '{}'::jsonb end);
  return new;
end
$$;
create function private.tell_invited() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  update auth.users u set raw_user_meta_data = u.raw_user_meta_data
    where u.email = coalesce(new.email, old.email);
  return null;
exception when insufficient_privilege then
  return null;
end
$$;

-- 02_tenancy/my_account.sql
create function public.my_account() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'sessions', coalesce((
      select jsonb_agg(jsonb_build_object(
        'startedAt', s.created_at,
        -- Supabase Auth stores the last refresh without a time zone, in UTC.
        'usedAt', coalesce(s.refreshed_at at time zone 'UTC', s.created_at),
        'isThis', s.id::text = auth.jwt() ->> 'session_id')
        order by s.id::text = auth.jwt() ->> 'session_id' desc, s.created_at desc)
      from auth.sessions s where s.user_id = auth.uid()), '[]'),
    'sites', coalesce((
      select jsonb_agg(jsonb_build_object(
        'siteId', s.public_id,
        'name', s.name,
        'role', m.role,
        'archived', s.archived_at is not null,
        'onlyOwner', private.is_only_owner(s, m.user_id))
        order by s.archived_at is not null, s.name, s.public_id)
      from public.site_members m join public.sites s on s.id = m.site_id
      where m.user_id = auth.uid()), '[]'))
$$;
create function private.is_only_owner(p_site public.sites, p_user_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select p_site.archived_at is null
    and coalesce((
      select bool_and(m.user_id = p_user_id) from public.site_members m
      where m.site_id = p_site.id and m.role = 'owner'), false)
$$;
create function public.delete_my_account() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sites jsonb;
begin
  perform private.require_fresh_sign_in();
  select jsonb_agg(s.name order by s.name) into v_sites
    from public.site_members m join public.sites s on s.id = m.site_id
    where m.user_id = auth.uid() and private.is_only_owner(s, m.user_id);
  if v_sites is not null then
    perform private.fail(409, 'LAST_OWNER', jsonb_build_object('sites', v_sites));
  end if;
  delete from auth.users u where u.id = auth.uid();
  return jsonb_build_object('ok', true);
end
$$;

-- 02_tenancy/password_changes.sql
create function private.guard_password() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (
      select from auth.sessions s
      where s.user_id = new.id
        and s.created_at > private.current_moment() - private.sign_in_life()) then
    perform private.fail(403, 'SIGN_IN_AGAIN');
  end if;
  return new;
end
$$;

-- 02_tenancy/read_sites.sql
create function private.site_json(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteId', p_site.public_id,
    'name', p_site.name,
    'domains', to_jsonb(p_site.domains),
    'currency', p_site.currency,
    'timezone', p_site.timezone,
    'locale', p_site.locale,
    'ociSyncMethod', p_site.oci_sync_method,
    'consentMode', p_site.consent_mode,
    'respectsPrivacySignal', p_site.respects_privacy_signal,
    'createdAt', p_site.created_at,
    'archivedAt', p_site.archived_at,
    'pause', private.pause_json(p_site),
    'role', (
      select m.role from public.site_members m
      where m.site_id = p_site.id and m.user_id = auth.uid()))
$$;
create function public.get_site(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.site_json(private.require_site(p_public_id, 'viewer'))
$$;
create function private.display_name(p_user auth.users) returns text
language sql stable set search_path = ''
as $$
  select left(coalesce(
    nullif(btrim(regexp_replace(
      left(p_user.raw_user_meta_data ->> 'full_name', 200),   -- Auth takes any length
      '[\u0001-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]', '', 'g')), ''),
    split_part(p_user.email, '@', 1)), 80)
$$;
create function public.list_my_sites() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'sites', coalesce((
      select jsonb_agg(private.site_json(s)
        order by s.archived_at is not null, s.name, s.public_id)
      from public.sites s
      join public.site_members m on m.site_id = s.id and m.user_id = auth.uid()), '[]'),
    'invitations', coalesce((
      select jsonb_agg(jsonb_build_object(
        'id', i.id,
        'siteName', s.name,
        'role', i.role,
        'expiresAt', i.expires_at,
        'invitedBy', private.actor_email(i.invited_by, i.created_at))
        order by i.created_at)
      from public.site_invitations i
      join public.sites s on s.id = i.site_id and s.archived_at is null
      join auth.users u on u.id = auth.uid()
        and u.email_confirmed_at is not null and lower(u.email) = i.email
      where i.expires_at > private.current_moment()), '[]'),
    'mayCreate', private.may_create_site())
$$;

-- 02_tenancy/sign_in.sql
create function public.account_to_ask(p_email text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('email', coalesce(k.email, o.email), 'isKnown', k.email is not null)
  from (values (1)) one
  left join lateral (
    select u.email from auth.users u
    where u.email = lower(p_email) and u.encrypted_password <> '' limit 1) k on true
  left join lateral (
    select u.email from auth.users u
    where u.encrypted_password <> '' order by u.id limit 1) o on true
$$;

-- 02_tenancy/site_access.sql
create function public.has_site_role(p_site_id uuid, p_role public.site_role) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.site_members m
    where m.site_id = p_site_id and m.user_id = (select auth.uid()) and m.role >= p_role)
$$;
create function private.readable_note(p_site_id uuid, p_note text) returns text
language sql stable security definer set search_path = ''
as $$
  select case when p_note is not null and public.has_site_role(p_site_id, 'operator')
    then p_note end
$$;
create function private.require_site(p_public_id text, p_role public.site_role) returns public.sites
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.public_id = p_public_id;
  if v_site.id is null or not public.has_site_role(v_site.id, 'viewer') then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if not public.has_site_role(v_site.id, p_role) then
    perform private.fail(403, 'FORBIDDEN');
  end if;
  return v_site;
end
$$;
create function private.require_open_site(p_public_id text, p_role public.site_role)
returns public.sites
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, p_role);
begin
  if v_site.archived_at is not null then
    perform private.fail(409, 'SITE_ARCHIVED');
  end if;
  return v_site;
end
$$;
create function private.may_create_site() returns boolean
language sql stable security definer set search_path = ''
as $$
  select auth.uid() is not null
    and (exists (
        select from public.site_members m where m.user_id = auth.uid() and m.role = 'owner')
      or not exists (select from public.sites))
$$;

-- 02_tenancy/site_api_keys.sql
create table public.site_api_keys (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  name text not null,
  prefix text not null,
  key_hash text not null unique,
  created_by uuid not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  scopes text[] not null,
  scope_used jsonb not null default '{}',
  constraint key_has_known_scopes check (
    cardinality(scopes) > 0 and scopes <@ '{script,calls,sales,contracts}'),
  constraint key_hash_is_sha_256 check (key_hash ~ '^[0-9a-f]{64}$'),
  constraint key_name_is_plain_text check (private.is_plain_text(name, 60))
);
create function private.key_scopes() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['script', 'calls', 'sales', 'contracts'] $$;
create function private.read_scopes(p_scopes text[]) returns text[]
language plpgsql immutable set search_path = ''
as $$
declare
  v_scopes text[] := array(
    select s from unnest(private.key_scopes()) with ordinality k (s, place)
    where s = any (p_scopes) order by place);
begin
  if cardinality(v_scopes) = 0 or not p_scopes <@ v_scopes then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "scopes"}');
  end if;
  return v_scopes;
end
$$;
create function public.list_site_api_keys(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', k.id,
      'name', k.name,
      'prefix', k.prefix,
      'scopes', k.scopes,
      'scopeUsed', k.scope_used,
      'createdAt', k.created_at,
      'revokedAt', k.revoked_at)
      order by k.revoked_at is not null, k.created_at desc, k.id), '[]')
    from public.site_api_keys k where k.site_id = v_site.id);
end
$$;
create function public.create_site_api_key(
  p_public_id text, p_name text, p_scopes text[] default '{script}'
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_key text := 'om_' || encode(extensions.gen_random_bytes(24), 'hex');
  v_id uuid;
begin
  perform private.require_fresh_sign_in();
  -- Locked, so that the count below holds until commit.
  perform from public.sites s where s.id = v_site.id for update;
  if (select count(*) from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null) >= 20 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  insert into public.site_api_keys
      (site_id, name, prefix, key_hash, scopes, created_by, created_at)
    values (v_site.id, p_name, left(v_key, 11), private.sha256_hex(v_key),
      private.read_scopes(p_scopes), auth.uid(), private.current_moment())
    returning id into v_id;
  return jsonb_build_object('id', v_id, 'key', v_key, 'prefix', left(v_key, 11));
end
$$;
create function public.revoke_site_api_key(p_public_id text, p_key_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  update public.site_api_keys k set revoked_at = coalesce(k.revoked_at, private.current_moment())
    where k.id = p_key_id and k.site_id = v_site.id;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;
create function public.narrow_site_api_key(
  p_public_id text, p_key_id uuid, p_scopes text[]
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_scopes text[] := private.read_scopes(p_scopes);
  v_key public.site_api_keys;
begin
  perform private.require_fresh_sign_in();
  select k.* into v_key from public.site_api_keys k
    where k.id = p_key_id and k.site_id = v_site.id and k.revoked_at is null for update;
  if v_key.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if not v_scopes <@ v_key.scopes then
    perform private.fail(409, 'SCOPE_NOT_HELD', jsonb_build_object('scopes', v_key.scopes));
  end if;
  update public.site_api_keys k set scopes = v_scopes where k.id = v_key.id;
  return jsonb_build_object('scopes', v_scopes);
end
$$;

-- 02_tenancy/site_invitations.sql
create function private.invite_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid := (p_args ->> 'site')::uuid;
  v_email text := lower(btrim(p_args ->> 'email'));
  v_id uuid;
begin
  -- Locked, so that the count below holds until commit.
  perform from public.sites s where s.id = v_site_id for update;
  if exists (
      select from public.site_members m join auth.users u on u.id = m.user_id
      where m.site_id = v_site_id and lower(u.email) = v_email) then
    perform private.fail(409, 'ALREADY_MEMBER');
  end if;
  if (select count(*) from public.site_members m where m.site_id = v_site_id)
      + (select count(*) from public.site_invitations i
          where i.site_id = v_site_id and i.email <> v_email) >= 200 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  insert into public.site_invitations (site_id, email, role, invited_by, created_at, expires_at)
    values (v_site_id, v_email, (p_args ->> 'role')::public.site_role, auth.uid(),
      v_now, v_now + interval '14 days')
    on conflict (site_id, email) do update
      set role = excluded.role,
          invited_by = excluded.invited_by,
          created_at = excluded.created_at,
          expires_at = excluded.expires_at
    returning id into v_id;
  return jsonb_build_object('invitationId', v_id, 'email', v_email);
end
$$;
create function public.invite_site_member(
  p_public_id text, p_email text, p_role public.site_role,
  p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.answer_plainly(
    v_site.id, 'member.invite', p_key, p_request_hash, 'private.invite_effect',
    jsonb_build_object('site', v_site.id, 'email', p_email, 'role', p_role));
end
$$;
create function private.invitation_mail_effect(p_args jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'invitationId', p_args -> 'invitationId', 'mailed', p_args -> 'mailed')
$$;
create function public.record_invitation_mail(
  p_public_id text, p_invitation_id uuid, p_mailed boolean, p_request_hash text, p_key text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  return private.answer_once(
    v_site.id, 'member.invite.mail', p_key, p_request_hash, 'private.invitation_mail_effect',
    jsonb_build_object('invitationId', p_invitation_id, 'mailed', p_mailed));
end
$$;
create function private.withdraw_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.site_invitations i
    where i.id = (p_args ->> 'invitation')::uuid and i.site_id = (p_args ->> 'site')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;
create function public.withdraw_invitation(
  p_public_id text, p_invitation_id uuid, p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return private.answer_plainly(
    v_site.id, 'member.withdraw', p_key, p_request_hash, 'private.withdraw_effect',
    jsonb_build_object('site', v_site.id, 'invitation', p_invitation_id));
end
$$;

-- 02_tenancy/site_members.sql
create table public.site_members (
  site_id uuid not null references public.sites (id),
  user_id uuid not null references auth.users (id) on delete cascade,
  role public.site_role not null,
  created_at timestamptz not null,
  primary key (site_id, user_id)
);
create function private.keep_an_owner() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = old.site_id for update;
  if v_site.archived_at is null and not exists (
      select from public.site_members m where m.site_id = old.site_id and m.role = 'owner') then
    perform private.fail(409, 'LAST_OWNER');
  end if;
  -- A former owner must not come back through an invitation they left open.
  delete from public.site_invitations i
    where i.site_id = old.site_id and i.invited_by = old.user_id
      and not exists (
        select from public.site_members m
        where m.site_id = old.site_id and m.user_id = old.user_id and m.role = 'owner');
  return null;
end
$$;
create function public.list_site_members(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return jsonb_build_object(
    'members', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'userId', u.id,
        'name', private.display_name(u),
        'email', u.email,
        'role', m.role,
        'joinedAt', m.created_at,
        'isYou', u.id = auth.uid())
        order by m.role desc, m.created_at, u.id), '[]')
      from public.site_members m join auth.users u on u.id = m.user_id
      where m.site_id = v_site.id),
    'invitations', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'id', i.id,
        'email', i.email,
        'role', i.role,
        'invitedAt', i.created_at,
        'expiresAt', i.expires_at)
        order by i.created_at), '[]')
      from public.site_invitations i
      where i.site_id = v_site.id));
end
$$;
create function private.member_role_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  update public.site_members m set role = (p_args ->> 'role')::public.site_role
    where m.site_id = (p_args ->> 'site')::uuid and m.user_id = (p_args ->> 'user')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;
create function public.change_member_role(
  p_public_id text, p_user_id uuid, p_role public.site_role,
  p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.answer_plainly(
    v_site.id, 'member.role', p_key, p_request_hash, 'private.member_role_effect',
    jsonb_build_object('site', v_site.id, 'user', p_user_id, 'role', p_role));
end
$$;
create function private.remove_member_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  delete from public.site_members m
    where m.site_id = (p_args ->> 'site')::uuid and m.user_id = (p_args ->> 'user')::uuid;
  if not found then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object('ok', true);
end
$$;
create function public.remove_member(
  p_public_id text, p_user_id uuid, p_request_hash text default null, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_role public.site_role := case when p_user_id = auth.uid() then 'viewer' else 'owner' end;
  v_site public.sites := private.require_site(p_public_id, v_role);
begin
  if v_role = 'owner' then
    perform private.require_fresh_sign_in();
  end if;
  return private.answer_plainly(
    v_site.id, 'member.remove', p_key, p_request_hash, 'private.remove_member_effect',
    jsonb_build_object('site', v_site.id, 'user', p_user_id));
end
$$;

-- 02_tenancy/site_secrets.sql
create table private.site_secrets (
  site_id uuid primary key references public.sites (id),
  rotated_at timestamptz not null,
  key_id text,
  sealed text,
  previous_key_id text,
  previous_sealed text,
  previous_until timestamptz,
  constraint sealed_secret_has_its_key check ((sealed is null) = (key_id is null)),
  constraint previous_secret_has_key_and_end check (
    (previous_sealed is null) = (previous_key_id is null)
    and (previous_sealed is null) = (previous_until is null)),
  constraint secrets_are_base64 check (
    concat(sealed, previous_sealed) ~ '^[A-Za-z0-9+/=]*$'
    and greatest(char_length(sealed), char_length(previous_sealed)) <= 1024),
  constraint secret_key_ids_are_bounded check (
    greatest(char_length(key_id), char_length(previous_key_id)) <= 64)
);
create function private.replaced_secret_life() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '7 days' $$;
create function public.call_event_secret(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_secret private.site_secrets;
begin
  select x.* into v_secret from private.site_secrets x
    where x.site_id = v_site.id and x.sealed is not null;
  return jsonb_build_object(
    'madeAt', v_secret.rotated_at,
    'previousUntil', case when v_secret.previous_until > private.current_moment()
      then v_secret.previous_until end);
end
$$;
create function public.replace_call_event_secret(p_public_id text, p_key_id text, p_sealed text)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
begin
  perform private.require_fresh_sign_in();
  if p_sealed is null or p_key_id is null then
    perform private.refuse_setting('sealed');
  end if;
  insert into private.site_secrets as x (site_id, rotated_at, key_id, sealed)
    values (v_site.id, v_now, p_key_id, p_sealed)
    on conflict (site_id) do update
      set rotated_at = excluded.rotated_at,
          key_id = excluded.key_id,
          sealed = excluded.sealed,
          previous_key_id = x.key_id,
          previous_sealed = x.sealed,
          previous_until = case when x.sealed is not null
            then v_now + private.replaced_secret_life() end;
  return public.call_event_secret(p_public_id);
end
$$;
create function public.call_event_secrets(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteUuid', s.id,
    'siteId', s.public_id,
    'consentMode', s.consent_mode,
    'secrets', (
      select coalesce(jsonb_agg(jsonb_build_object('keyId', t.key_id, 'sealed', t.sealed)
        order by t.place), '[]')
      from (values
        (1, x.key_id, x.sealed),
        (2, case when x.previous_until > private.current_moment() then x.previous_key_id end,
          x.previous_sealed)) t (place, key_id, sealed)
      where t.key_id is not null))
  from public.sites s left join private.site_secrets x on x.site_id = s.id
  where s.public_id = p_public_id and s.archived_at is null
$$;
create function public.purge_replaced_secrets() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  update private.site_secrets x
    set previous_key_id = null, previous_sealed = null, previous_until = null
    where x.site_id in (
      select y.site_id from private.site_secrets y
      where y.previous_until <= private.current_moment() limit 1000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
create function public.list_sealed_call_secrets(p_key_id text, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'siteUuid', t.site_id,
      'keyId', p_key_id,
      'sealed', t.sealed)
    order by t.site_id), '[]')
  from (
    select x.site_id, x.sealed from private.site_secrets x where x.key_id = p_key_id
    union all
    select x.site_id, x.previous_sealed from private.site_secrets x
    where x.previous_key_id = p_key_id
    order by 1
    limit least(greatest(p_limit, 1), 1000)) t
$$;
create function public.reseal_call_secret(
  p_site_id uuid, p_from text, p_key_id text, p_sealed text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  update private.site_secrets x
    set key_id = case when x.sealed = p_from then p_key_id else x.key_id end,
        sealed = case when x.sealed = p_from then p_sealed else x.sealed end,
        previous_key_id = case
          when x.previous_sealed = p_from then p_key_id else x.previous_key_id end,
        previous_sealed = case
          when x.previous_sealed = p_from then p_sealed else x.previous_sealed end
    where x.site_id = p_site_id and p_from in (x.sealed, x.previous_sealed);
  return jsonb_build_object('resealed', found);
end
$$;

-- 02_tenancy/use_api_key.sql
create function private.live_key_site(p_key public.site_api_keys) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteUuid', s.id,
    'siteId', s.public_id,
    'keyId', p_key.id,
    'scopes', p_key.scopes,
    'ociSyncMethod', s.oci_sync_method)
  from public.sites s
  where s.id = p_key.site_id and p_key.revoked_at is null and s.archived_at is null
$$;
create function public.authenticate_api_key(p_key_hash text, p_scopes text[]) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_key public.site_api_keys;
  v_site jsonb;
  v_scope text;
  v_now timestamptz := private.current_moment();
  v_used_at timestamptz;
begin
  select k.* into v_key from public.site_api_keys k where k.key_hash = p_key_hash;
  v_site := private.live_key_site(v_key);
  select w.scope into v_scope from unnest(p_scopes) with ordinality w (scope, place)
    where w.scope = any (v_key.scopes) order by w.place limit 1;
  -- "Last used" is for people. Once a minute is enough, so a busy key is not a hot row.
  v_used_at := v_key.scope_used ->> v_scope;
  if v_site is not null and v_scope is not null
     and (v_used_at is null or v_used_at < v_now - interval '1 minute') then
    update public.site_api_keys k
      set scope_used = k.scope_used || jsonb_build_object(v_scope, v_now)
      where k.id = v_key.id;
  end if;
  return v_site;
end
$$;
create function public.api_key_site(p_key_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.live_key_site(k) from public.site_api_keys k where k.id = p_key_id
$$;
create function private.key_site_id(p_key_id uuid, p_scopes text[]) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_key jsonb := public.api_key_site(p_key_id);
begin
  if v_key is null then
    perform private.fail(401, 'INVALID_API_KEY');
  end if;
  if not v_key -> 'scopes' ?| p_scopes then
    perform private.fail(403, 'INSUFFICIENT_SCOPE',
      jsonb_build_object('needs', p_scopes, 'scopes', v_key -> 'scopes'));
  end if;
  return (v_key ->> 'siteUuid')::uuid;
end
$$;
create function private.contract_scopes(p_contract text) returns text[]
language sql immutable set search_path = ''
as $$
  select case p_contract
    when 'call' then '{calls,contracts}'::text[]
    when 'sale' then '{sales,contracts}'
    else '{contracts}' end
$$;

-- 03_contracts/actors.sql
create type private.actor as (kind text, id uuid);
create function private.user_actor() returns private.actor
language sql stable set search_path = ''
as $$ select ('user', auth.uid())::private.actor $$;
create function private.actor_json(p_kind text, p_id uuid, p_at timestamptz) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('kind', p_kind, 'name', private.actor_as_of(p_kind, p_id, p_at))
$$;

-- 03_contracts/contract_moves.sql
create table public.contracts (
  contract text primary key,
  contract_version text not null
);
create table public.contract_moves (
  contract text not null references public.contracts (contract),
  contract_version text not null,
  from_state text not null,
  to_state text not null,
  undo_only boolean not null default false,
  primary key (contract, contract_version, from_state, to_state)
);
create function private.contract_version(p_contract text) returns text
language sql stable security definer set search_path = ''
as $$ select c.contract_version from public.contracts c where c.contract = p_contract $$;
create function private.moves_from(p_contract text, p_from text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(m.to_state order by m.to_state), '[]')
  from public.contract_moves m
  join public.contracts c using (contract, contract_version)
  where m.contract = p_contract and m.from_state = p_from and not m.undo_only
$$;
create function private.require_move(
  p_contract text, p_from text, p_to text, p_as_undo boolean default false
) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_version text := private.contract_version(p_contract);
begin
  if not exists (
      select from public.contract_moves m
      where m.contract = p_contract and m.contract_version = v_version
        and m.from_state = p_from and m.to_state = p_to
        and (p_as_undo or not m.undo_only)) then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', p_from,
      'to', p_to,
      'contract_version', v_version,
      'allowed', private.moves_from(p_contract, p_from)));
  end if;
  return v_version;
end
$$;
create function public.list_contract_moves() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_agg(jsonb_build_object(
    'contract', m.contract,
    'contractVersion', m.contract_version,
    'from', m.from_state,
    'to', m.to_state,
    'undoOnly', m.undo_only)
    order by m.contract, m.from_state, m.to_state)
  from public.contract_moves m
  join public.contracts c using (contract, contract_version)
$$;

-- 03_contracts/hos_idempotency_keys.sql
create table public.hos_idempotency_keys (
  id uuid primary key default private.uuid_v7(),
  tenant_id uuid not null,
  scope text not null,
  key text not null,
  request_hash text not null,
  status text not null default 'processing',
  response_status int,
  response_json text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  constraint one_answer_per_key unique (tenant_id, scope, key),
  constraint scope_is_bounded check (char_length(scope) between 1 and 64),
  constraint key_has_1_to_255_characters check (char_length(key) between 1 and 255),
  constraint request_hash_is_sha_256 check (request_hash ~ '^[0-9a-f]{64}$'),
  constraint key_status_is_known check (status in ('processing', 'completed', 'failed')),
  constraint finished_keys_have_an_answer check (
    (status = 'processing') = (response_json is null and response_status is null))
);
create function private.idempotency_ttl() returns interval
language sql stable set search_path = ''
as $$
  select coalesce(
    nullif(current_setting('opsmantik.idempotency_ttl', true), '')::interval,
    interval '7 days')
$$;
create function private.problem_text(p_status int, p_code text, p_facts jsonb) returns text
language sql immutable set search_path = ''
as $$
  select (jsonb_build_object(
    'type', 'https://opsmantik.com/errors#' || p_code,
    'status', p_status,
    'code', p_code,
    'title', left(p_code, 1) || lower(replace(substr(p_code, 2), '_', ' ')) || '.')
    || coalesce(p_facts, '{}'))::text
$$;
create function private.answer_once(
  p_tenant_id uuid, p_scope text, p_key text, p_request_hash text, p_effect regproc, p_args jsonb
) returns jsonb
language plpgsql security definer set search_path = '' set lock_timeout = '5s'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_scope text := p_scope || coalesce('/' || auth.uid(), '');
  v_kept public.hos_idempotency_keys;
  v_id uuid;
  v_answer jsonb;
  v_body text;
  v_status int := 200;
  v_code text;
  v_facts text;
begin
  if p_key is null then
    execute format('select %s($1)', p_effect) into v_answer using p_args;
    return jsonb_build_object('status', 200, 'replayed', false, 'body', v_answer::text);
  end if;
  if char_length(p_key) not between 1 and 255 then
    perform private.fail(400, 'INVALID_IDEMPOTENCY_KEY');
  end if;
  -- Three times: the twin we met may roll back, or its key expire, before we can read it.
  for v_try in 1..3 loop
    begin
      insert into public.hos_idempotency_keys
          (tenant_id, scope, key, request_hash, created_at, updated_at, expires_at)
        values (p_tenant_id, v_scope, p_key, p_request_hash, v_now, v_now,
          v_now + private.idempotency_ttl())
        on conflict (tenant_id, scope, key) do nothing
        returning id into v_id;
    exception when lock_not_available then
      perform private.fail(409, 'REQUEST_IN_FLIGHT');
    end;
    exit when v_id is not null;
    select k.* into v_kept from public.hos_idempotency_keys k
      where k.tenant_id = p_tenant_id and k.scope = v_scope and k.key = p_key;
    if v_kept.id is not null then
      if v_kept.request_hash <> p_request_hash then
        perform private.fail(422, 'IDEMPOTENCY_KEY_REUSED');
      end if;
      return jsonb_build_object(
        'status', v_kept.response_status, 'replayed', true, 'body', v_kept.response_json);
    end if;
  end loop;
  if v_id is null then
    perform private.fail(409, 'REQUEST_IN_FLIGHT');
  end if;
  begin
    execute format('select %s($1)', p_effect) into v_answer using p_args;
    v_body := v_answer::text;
  exception when sqlstate 'PT409' then
    get stacked diagnostics v_code = message_text, v_facts = pg_exception_detail;
    v_status := 409;
    v_body := private.problem_text(409, v_code, nullif(v_facts, '')::jsonb);
  end;
  update public.hos_idempotency_keys k
    set status = case when v_status < 400 then 'completed' else 'failed' end,
        response_status = v_status,
        response_json = v_body,
        updated_at = v_now
    where k.id = v_id;
  return jsonb_build_object('status', v_status, 'replayed', false, 'body', v_body);
end
$$;
create function private.answer_plainly(
  p_tenant_id uuid, p_scope text, p_key text, p_request_hash text, p_effect regproc, p_args jsonb
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_answer jsonb;
begin
  if p_key is not null then
    return private.answer_once(p_tenant_id, p_scope, p_key, p_request_hash, p_effect, p_args);
  end if;
  execute format('select %s($1)', p_effect) into v_answer using p_args;
  return v_answer;
end
$$;
create function public.purge_idempotency_keys(p_limit int default 5000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.hos_idempotency_keys k where k.id in (
    select x.id from public.hos_idempotency_keys x
    where x.expires_at < private.current_moment() and x.status <> 'processing'
    order by x.expires_at limit least(greatest(p_limit, 1), 20000) for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 03_contracts/proof_blocks.sql
create table public.proof_blocks (
  site_id uuid not null,
  number int not null,
  first_proof uuid not null,
  last_proof uuid not null,
  proof_ids uuid[] not null,
  previous_root text not null,
  root text not null,
  sealed_at timestamptz not null,
  primary key (site_id, number)
);
create function private.is_settled(p_writer xid8) returns boolean
language sql stable set search_path = ''
as $$
  select p_writer < pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
      or p_writer >= pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())
$$;
create function public.seal_proof_blocks() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid;
  v_last public.proof_blocks;
  v_ids uuid[];
  v_hashes text;
  v_proofs int := 0;
  v_blocks int := 0;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('seal_proof_blocks')) then
    return jsonb_build_object('proofs', 0, 'blocks', 0, 'waiting', null);
  end if;
  while v_blocks < 20 loop
    select u.site_id into v_site_id from private.unsealed_proofs u
      where private.is_settled(u.written_by) order by u.proof_id limit 1;
    exit when not found;
    select array_agg(t.proof_id order by t.proof_id),
        string_agg(t.hash, '' order by t.proof_id)
      into v_ids, v_hashes
      from (
        select u.proof_id, p.hash
        from private.unsealed_proofs u
        join public.transition_proofs p on p.id = u.proof_id
        where u.site_id = v_site_id and private.is_settled(u.written_by)
        order by u.proof_id limit 1000) t;
    select b.* into v_last from public.proof_blocks b
      where b.site_id = v_site_id order by b.number desc limit 1;
    insert into public.proof_blocks
        (site_id, number, first_proof, last_proof, proof_ids, previous_root, root, sealed_at)
      select v_site_id, coalesce(v_last.number, 0) + 1,
        v_ids[1], v_ids[cardinality(v_ids)], v_ids, x.previous_root,
        private.sha256_hex(x.previous_root || v_hashes), private.current_moment()
      from (select coalesce(v_last.root, repeat('0', 64)) as previous_root) x;
    delete from private.unsealed_proofs u where u.proof_id = any (v_ids);
    v_blocks := v_blocks + 1;
    v_proofs := v_proofs + cardinality(v_ids);
  end loop;
  return jsonb_build_object(
    'proofs', v_proofs,
    'blocks', v_blocks,
    'waiting', (select count(*) from private.unsealed_proofs));
end
$$;

-- 03_contracts/proof_receipts.sql
create function private.block_json(p_block public.proof_blocks) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'number', p_block.number,
    'root', p_block.root,
    'previous_root', p_block.previous_root,
    'sealed_at', private.exact_time(p_block.sealed_at),
    'hashes', (
      select jsonb_agg(m.hash order by u.place)
      from unnest(p_block.proof_ids) with ordinality u (id, place)
      join public.transition_proofs m on m.id = u.id))
$$;

-- 03_contracts/transition_proofs.sql
create table public.transition_proofs (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  contract text not null,
  contract_version text not null,
  entity_id uuid not null,
  from_state text,
  to_state text not null,
  actor_kind text not null,
  actor_id uuid,
  facts jsonb not null default '{}',
  request_hash text,
  occurred_at timestamptz not null,
  hash text not null,
  constraint actor_kind_is_known check (actor_kind in ('user', 'api_key', 'system')),
  constraint proof_hash_is_sha_256 check (hash ~ '^[0-9a-f]{64}$'),
  constraint proven_request_is_sha_256 check (request_hash ~ '^[0-9a-f]{64}$')
);

-- 03_contracts/proof_receipts.sql
create function private.proof_receipt(p_proof public.transition_proofs) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'proof_id', p_proof.id,
    'site', s.public_id,
    'contract', p_proof.contract,
    'contract_version', p_proof.contract_version,
    'entity_id', p_proof.entity_id,
    'from', p_proof.from_state,
    'to', p_proof.to_state,
    'actor_kind', p_proof.actor_kind,
    'actor_id', p_proof.actor_id,
    'facts', p_proof.facts::text,
    'request_hash', p_proof.request_hash,
    'occurred_at', private.exact_time(p_proof.occurred_at),
    'hash', p_proof.hash,
    'block', (
      select private.block_json(b) from public.proof_blocks b
      where b.site_id = p_proof.site_id
        and p_proof.id between b.first_proof and b.last_proof
        and p_proof.id = any (b.proof_ids)
      order by b.number limit 1))
  from public.sites s where s.id = p_proof.site_id
$$;
create function public.get_proof(p_proof_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_proof public.transition_proofs;
begin
  select p.* into v_proof from public.transition_proofs p where p.id = p_proof_id;
  if v_proof.id is null or not public.has_site_role(v_proof.site_id,
      case when v_proof.contract = any (private.owner_contracts()) then 'owner'
        else 'viewer' end::public.site_role) then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.proof_receipt(v_proof);
end
$$;
create function public.get_proof_for_key(p_key_id uuid, p_proof_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{calls,sales,contracts}');
  v_proof public.transition_proofs;
begin
  select p.* into v_proof from public.transition_proofs p
    where p.id = p_proof_id and p.site_id = v_site_id
      and p.contract <> all (private.owner_contracts());
  if v_proof.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.proof_receipt(v_proof);
end
$$;

-- 03_contracts/transition_proofs.sql
create table private.proof_notes (
  proof_id uuid primary key,
  note text not null,
  constraint note_is_bounded check (char_length(note) between 1 and 500)
);
create table private.unsealed_proofs (
  proof_id uuid primary key,
  site_id uuid not null,
  written_by xid8 not null default pg_catalog.pg_current_xact_id()
);
create function private.framed(p_text text) returns text
language sql immutable
as $$
  select case when p_text is null then '-'
    else pg_catalog.octet_length(p_text)::text || ':' || p_text end
$$;
create function private.proof_hash(p_proof public.transition_proofs) returns text
language plpgsql stable security definer set search_path = ''
as $$
begin
  return private.sha256_hex(
    private.framed(p_proof.id::text)
    || private.framed((select s.public_id from public.sites s where s.id = p_proof.site_id))
    || private.framed(p_proof.contract)
    || private.framed(p_proof.contract_version)
    || private.framed(p_proof.entity_id::text)
    || private.framed(p_proof.from_state)
    || private.framed(p_proof.to_state)
    || private.framed(p_proof.actor_kind)
    || private.framed(p_proof.actor_id::text)
    || private.framed(p_proof.facts::text)
    || private.framed(p_proof.request_hash)
    || private.framed(private.exact_time(p_proof.occurred_at)));
end
$$;
create function private.prove(p_site_id uuid, p_actor private.actor, p_move jsonb) returns uuid
language plpgsql security definer set search_path = ''
as $$
declare
  v_proof public.transition_proofs;
begin
  v_proof.id := private.uuid_v7();
  v_proof.site_id := p_site_id;
  v_proof.contract := p_move ->> 'contract';
  v_proof.contract_version := p_move ->> 'contractVersion';
  v_proof.entity_id := (p_move ->> 'entityId')::uuid;
  v_proof.from_state := p_move ->> 'from';
  v_proof.to_state := p_move ->> 'to';
  v_proof.actor_kind := p_actor.kind;
  v_proof.actor_id := p_actor.id;
  v_proof.facts := jsonb_strip_nulls(coalesce(p_move -> 'facts', '{}'));
  v_proof.request_hash := p_move ->> 'requestHash';
  v_proof.occurred_at := private.current_moment();
  v_proof.hash := private.proof_hash(v_proof);
  insert into public.transition_proofs values (v_proof.*);
  insert into private.unsealed_proofs (proof_id, site_id) values (v_proof.id, p_site_id);
  if nullif(btrim(p_move ->> 'note'), '') is not null then
    insert into private.proof_notes (proof_id, note)
      values (v_proof.id, left(btrim(p_move ->> 'note'), 500));
  end if;
  return v_proof.id;
end
$$;

-- 03_contracts/transitions.sql
create function private.effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
  v_actor private.actor := (p_args ->> 'actorKind', (p_args ->> 'actorId')::uuid)::private.actor;
begin
  select s.* into v_site from public.sites s where s.id = (p_args ->> 'site')::uuid;
  return case p_args ->> 'effect'
    when 'call' then private.move_call(v_site, v_actor, p_args)
    when 'sale' then private.move_sale(v_site, v_actor, p_args)
    when 'conversion' then private.move_conversion(v_site, v_actor, p_args)
    when 'correct' then private.correct_amount(v_site, v_actor, p_args)
    when 'undo' then private.undo_step(v_site, v_actor, p_args)
    when 'undoSale' then private.undo_sale_step(v_site, v_actor, p_args) end;
end
$$;
create function private.transition_args(
  p_move jsonb, p_site_id uuid, p_actor private.actor, p_request_hash text
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'effect', p_move -> 'contract',
    'id', p_move -> 'id',
    'to', p_move -> 'to',
    'reason', p_move -> 'reason',
    'expectedVersion', p_move -> 'expectedVersion',
    'site', p_site_id,
    'actorKind', p_actor.kind,
    'actorId', p_actor.id,
    'requestHash', p_request_hash)
$$;
create function private.require_key(p_key text) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  if p_key is null then
    perform private.fail(400, 'INVALID_IDEMPOTENCY_KEY');
  end if;
  return p_key;
end
$$;
create function private.transition_effect(p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select jsonb_build_object(
    'ok', true,
    'from', e -> 'from',
    'to', e -> 'to',
    'contract_version', e -> 'contract_version',
    'proof_id', e -> 'proof_id')
  from private.effect(p_args) e
$$;
create function private.site_of_entity(p_contract text, p_id uuid) returns uuid
language plpgsql stable security definer set search_path = ''
as $$
begin
  return case p_contract
    when 'call' then (select c.site_id from public.calls c where c.id = p_id)
    when 'sale' then (select s.site_id from public.sales s where s.id = p_id)
    when 'conversion' then (
      select q.site_id from public.offline_conversion_queue q where q.id = p_id) end;
end
$$;
create function private.change_once(
  p_site public.sites, p_scope text, p_key text, p_request_hash text, p_args jsonb
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.answer_once(
    p_site.id, p_scope, p_key, p_request_hash, 'private.effect'::regproc,
    p_args || jsonb_build_object(
      'site', p_site.id,
      'actorKind', 'user',
      'actorId', auth.uid(),
      'requestHash', p_request_hash))
$$;
create function public.transition_contract(p_move jsonb, p_key text, p_request_hash text)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s
    where s.id = private.site_of_entity(p_move ->> 'contract', (p_move ->> 'id')::uuid);
  if v_site.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  v_site := private.require_open_site(v_site.public_id, 'operator');
  return private.answer_once(
    v_site.id, 'contract.transition', private.require_key(p_key), p_request_hash,
    'private.transition_effect'::regproc,
    private.transition_args(p_move, v_site.id, private.user_actor(), p_request_hash));
end
$$;
create function public.transition_contract_for_key(
  p_key_id uuid, p_move jsonb, p_key text, p_request_hash text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_contract text := p_move ->> 'contract';
  v_site_id uuid := private.key_site_id(p_key_id, private.contract_scopes(v_contract));
begin
  if v_site_id is distinct from private.site_of_entity(v_contract, (p_move ->> 'id')::uuid) then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.answer_once(
    v_site_id, 'contract.transition', private.require_key(p_key), p_request_hash,
    'private.transition_effect'::regproc,
    private.transition_args(
      p_move, v_site_id, ('api_key', p_key_id)::private.actor, p_request_hash));
end
$$;

-- 04_ingest/admit_events.sql
create function public.site_for_ingest(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'siteUuid', s.id,
    'domains', to_jsonb(s.domains),
    'consentMode', s.consent_mode,
    'respectsPrivacySignal', s.respects_privacy_signal,
    'pageViews', s.page_views_enabled,
    'isPaused', private.is_paused(s),
    'ceilings', private.ceilings_of(s.id))
  from public.sites s where s.public_id = p_public_id and s.archived_at is null
$$;
create function public.admit_events(p_site_id uuid, p_events jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_expires timestamptz := greatest(
    v_now + private.billed_rows_kept(),
    date_trunc('month', v_now, 'UTC') + interval '3 months');
  v_month text;
  v_plan public.site_plans;
  v_cap bigint;
  v_used bigint := 0;
  v_kept bigint;   -- of the cap, for leads
  v_room bigint;   -- for signed leads; null: no cap
  v_unsigned bigint;   -- for other leads of this address range
  v_signed bigint;   -- of v_kept, for signed leads
  v_network text;   -- the range that an unsigned request comes from
  v_open bigint;   -- for anything else
  v_accepted int[] := '{}';
  v_refused int[] := '{}';
  v_enriched int[] := '{}';
  v_total int := jsonb_array_length(p_events);
  v_first jsonb := p_events -> 0;
  v_results jsonb;
begin
  if v_total not between 1 and 100 then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  select p.* into v_plan from public.site_plans p where p.site_id = p_site_id;
  if v_plan.monthly_limit is not null then
    v_month := private.billing_month(v_now);
    v_cap := private.plan_cap(v_plan);
    if v_cap is not null then
      v_used := private.lock_usage(p_site_id, v_month);
      v_room := greatest(0, v_cap - v_used);
      -- open_events() written out: as a call it made an admission a fifth slower.
      v_kept := floor(v_cap::numeric * v_plan.lead_share_percent / 100)::bigint;
      v_open := greatest(0, v_room - v_kept);
      v_unsigned := v_room;
      if v_open < v_total then
        v_signed := private.signed_events(p_site_id, v_kept);
        v_network := case when v_first ->> 'r' is distinct from '2'
          then v_first #>> '{p,network}' end;
        v_unsigned := least(
          greatest(0, v_room - v_signed),
          v_open + private.range_room(p_site_id, v_month, v_network, v_kept - v_signed));
      end if;
    else
      select coalesce(max(u.event_count), 0) into v_used from public.site_usage_monthly u
        where u.site_id = p_site_id and u.year_month = v_month;
    end if;
  end if;

  -- One row for each event that is new, by its key and by its eid.
  if v_room = 0 or (v_open = 0 and not private.has_lead(p_events, v_unsigned = 0)) then
    v_refused := private.unseen_events(p_site_id, p_events);
  elsif v_total = 1 then   -- nearly every request; the statement for many takes 100 us more
    if not (v_first ? 'o' and exists (
        select from public.ingest_idempotency x
        where x.site_id = p_site_id and x.eid = v_first ->> 'o')) then
      insert into public.ingest_idempotency
          (site_id, idempotency_key, eid, event_name, reported_by, created_at, expires_at)
        values (p_site_id, decode(v_first ->> 'k', 'hex'), v_first ->> 'e', v_first ->> 'n',
          coalesce((v_first ->> 'r')::smallint, 1), v_now, v_expires)
        on conflict do nothing;
      if found then
        v_accepted := '{1}';
      end if;
    end if;
  else
    v_accepted := private.claim_keys_in_turn(p_site_id, p_events, v_now, v_expires);
    if cardinality(v_accepted) > v_open then
      v_refused := private.without_room(p_events, v_accepted,
        array[v_open, v_unsigned, v_room]);
      v_accepted := array(
        select n from unnest(v_accepted) n where n <> all (v_refused) order by n);
      delete from public.ingest_idempotency x using unnest(v_refused) position
        where x.site_id = p_site_id
          and x.idempotency_key = decode(p_events -> (position - 1) ->> 'k', 'hex');
    end if;
  end if;
  if cardinality(v_accepted) + cardinality(v_refused) < v_total then
    v_enriched := private.note_second_reports(p_site_id, p_events, v_accepted || v_refused);
  end if;
  if cardinality(v_accepted) + cardinality(v_enriched) > 0 then
    insert into public.ingest_fallback_buffer
        (site_id, payload, counted, position, is_enrichment, created_at, updated_at)
      select p_site_id, p_events -> (n - 1) -> 'p', v_cap is not null or n = any (v_enriched),
        n, n = any (v_enriched), v_now, v_now
      from unnest(v_accepted || v_enriched) n;
  end if;
  if v_cap is not null and cardinality(v_accepted) > 0 then
    update public.site_usage_monthly u
      set event_count = u.event_count + cardinality(v_accepted), updated_at = v_now
      where u.site_id = p_site_id and u.year_month = v_month;
    if v_network is not null and cardinality(v_accepted) > v_open then
      perform private.note_range(
        p_site_id, v_month, v_network, cardinality(v_accepted) - v_open);
    end if;
  end if;
  if cardinality(v_accepted) = v_total then
    v_results := to_jsonb(array_fill('accepted'::text, array[v_total]));
  else
    insert into public.ingest_drop_deltas (site_id, day, reason, drops)
      select p_site_id, (v_now at time zone 'UTC')::date, d.reason, d.drops
      from (values
        ('quota', cardinality(v_refused)),
        ('duplicate',
          v_total - cardinality(v_refused) - cardinality(v_accepted) - cardinality(v_enriched))
      ) d (reason, drops)
      where d.drops > 0;
    v_results := (
      select jsonb_agg(case
          when n = any (v_accepted) then 'accepted'
          when n = any (v_refused) then 'quota'
          when n = any (v_enriched) then 'enriched'
          else 'duplicate' end order by n)
      from generate_series(1, v_total) n);
  end if;
  return jsonb_build_object(
    'results', v_results,
    'used', v_used + cardinality(v_accepted),
    'limit', v_plan.monthly_limit,
    'overage', coalesce(v_used + cardinality(v_accepted) > v_plan.monthly_limit, false));
end
$$;
create function private.note_second_reports(p_site_id uuid, p_events jsonb, p_done int[])
returns int[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_position int;
  v_event jsonb;
  v_reporter smallint;
  v_enriched int[] := '{}';
begin
  for v_position in select n from generate_series(1, jsonb_array_length(p_events)) n loop
    v_event := p_events -> (v_position - 1);
    v_reporter := (v_event ->> 'r')::smallint;
    continue when v_reporter is null or v_position = any (p_done);
    update public.ingest_idempotency x set reported_by = x.reported_by | v_reporter
      where x.site_id = p_site_id and x.eid = v_event ->> 'e' and x.reported_by & v_reporter = 0;
    if found then
      v_enriched := v_enriched || v_position;
    end if;
  end loop;
  return v_enriched;
end
$$;
create function private.unseen_events(p_site_id uuid, p_events jsonb) returns int[]
language sql stable security definer set search_path = ''
as $$
  select coalesce(array_agg(t.position::int), '{}')
  from jsonb_array_elements(p_events) with ordinality t (event, position)
  where not exists (
      select from public.ingest_idempotency x
      where x.site_id = p_site_id and x.idempotency_key = decode(t.event ->> 'k', 'hex'))
    and not exists (
      select from public.ingest_idempotency x
      where x.site_id = p_site_id and x.eid in (t.event ->> 'e', t.event ->> 'o'))
$$;

-- 04_ingest/claim_events.sql
create function private.ingest_attempts() returns int
language sql immutable parallel safe set search_path = ''
as $$ select 5 $$;
create function public.get_and_claim_fallback_batch(p_limit int default 200) returns jsonb
language plpgsql security definer set search_path = '' set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_dead timestamptz := v_now - interval '2 minutes';   -- a lease this old is presumed dead
  v_token uuid := gen_random_uuid();
  v_ids uuid[];
  v_answer jsonb;
begin
  select array_agg(t.id) into v_ids from (
    select b.id from public.ingest_fallback_buffer b
    where b.status = 'PENDING' and b.attempt_count = 0
    order by b.created_at, b.position, b.id
    limit least(greatest(p_limit, 1), 500) for update skip locked) t;
  if v_ids is null then
    select array_agg(t.id) into v_ids from (
      select b.id from public.ingest_fallback_buffer b
      where b.status = 'PENDING' and b.updated_at < v_now - interval '15 seconds' * b.attempt_count
      order by b.created_at, b.position, b.id limit 1 for update skip locked) t;
  end if;
  -- Dead leases come last: in a backlog, each look at them steps over the entries of all events
  -- stored since the last vacuum.
  if v_ids is null then
    update public.ingest_fallback_buffer b
      set status = 'FAILED', claim_token = null, claimed_at = null, updated_at = v_now,
          last_error = coalesce(b.last_error, 'Its worker ended five times without an answer.'),
          payload = private.payload_to_keep(b.site_id, b.payload)
      where b.id in (
        select x.id from public.ingest_fallback_buffer x
        where x.status = 'PROCESSING' and x.claimed_at < v_dead
          and x.attempt_count >= private.ingest_attempts()
        for update skip locked);
    select array_agg(t.id) into v_ids from (
      select b.id from public.ingest_fallback_buffer b
      where b.status = 'PROCESSING' and b.claimed_at < v_dead
        and b.attempt_count < private.ingest_attempts()
      order by b.claimed_at limit 1 for update skip locked) t;
  end if;
  with leased as (
    update public.ingest_fallback_buffer b
      set status = 'PROCESSING', claim_token = v_token, claimed_at = v_now,
          attempt_count = b.attempt_count + 1, updated_at = v_now
      where b.id = any (v_ids)
      returning b.id, b.site_id, b.payload, b.created_at, b.position
  )
  select jsonb_build_object(
    'token', v_token,
    'rows', coalesce(jsonb_agg(jsonb_build_object(
      'id', l.id,
      'siteUuid', l.site_id,
      'payload', l.payload,
      'receivedAt', l.created_at,
      'phoneHash', case when l.payload ->> 'phone' is not null then (
        select private.phone_hash(private.e164(s, l.payload ->> 'phone'))
        from public.sites s where s.id = l.site_id) end)
      order by l.created_at, l.position, l.id), '[]'))
    into v_answer from leased l;
  return v_answer;
end
$$;
create function public.release_fallback_event(p_token uuid, p_id uuid, p_reason text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_status text;
begin
  update public.ingest_fallback_buffer b
    set status = case
          when b.attempt_count >= private.ingest_attempts() then 'FAILED'
          else 'PENDING' end,
        claim_token = null,
        claimed_at = null,
        last_error = left(p_reason, 500),
        updated_at = private.current_moment(),
        payload = private.payload_to_keep(b.site_id, b.payload)
    where b.id = p_id and b.claim_token = p_token
    returning b.status into v_status;
  return jsonb_build_object('status', v_status);
end
$$;
create function public.purge_stored_events() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.ingest_fallback_buffer b where b.id in (
    select x.id from public.ingest_fallback_buffer x
    where x.status = 'RECOVERED' and x.updated_at < private.current_moment() - interval '1 day'
    order by x.updated_at limit 20000 for update skip locked);
  get diagnostics v_purged = row_count;
  delete from private.held_reports h where (h.site_id, h.intent_stamp) in (
    select x.site_id, x.intent_stamp from private.held_reports x
    where x.held_until < private.current_moment() order by x.held_until limit 5000);
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 04_ingest/claim_keys.sql
create function private.claim_keys(
  p_site_id uuid, p_events jsonb, p_at timestamptz, p_expires timestamptz
) returns int[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_new int[];
begin
  with input as materialized (
    select t.position::int as position,
      decode(t.event ->> 'k', 'hex') as key,
      t.event ->> 'e' as eid,
      t.event ->> 'n' as name,
      coalesce((t.event ->> 'r')::smallint, 1) as reporter
    from jsonb_array_elements(p_events) with ordinality t(event, position)
  ), claimed as (
    insert into public.ingest_idempotency
        (site_id, idempotency_key, eid, event_name, reported_by, created_at, expires_at)
    select p_site_id, i.key, i.eid, i.name, i.reporter, p_at, p_expires from input i
    order by i.key, i.position
    on conflict do nothing
    returning idempotency_key, eid
  )
  select coalesce(array_agg(a.position order by a.position), '{}') into v_new from (
    select min(i.position) as position
    from claimed c join input i on i.key = c.idempotency_key and i.eid is not distinct from c.eid
    group by i.key) a;
  return v_new;
end
$$;
create function private.claim_keys_in_turn(
  p_site_id uuid, p_events jsonb, p_at timestamptz, p_expires timestamptz
) returns int[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_timeout text := current_setting('lock_timeout');
  v_new int[];
begin
  begin
    perform set_config('lock_timeout', '50ms', true);
    v_new := private.claim_keys(p_site_id, p_events, p_at, p_expires);
    perform set_config('lock_timeout', v_timeout, true);
    return v_new;
  exception when lock_not_available then
    null;   -- the rows and the timeout are as before
  end;
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('admission/' || p_site_id, 0));
  return private.claim_keys(p_site_id, p_events, p_at, p_expires);
end
$$;

-- 04_ingest/consent_choices.sql
create table public.consent_choices (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  visitor_id text not null,
  scopes text[] not null,
  chosen_at timestamptz not null,
  last_said_at timestamptz not null,
  received_at timestamptz not null,
  page_url text,
  tracker_version int,
  constraint choice_visitor_is_bounded check (char_length(visitor_id) between 1 and 64),
  constraint choice_scopes_are_bounded check (cardinality(scopes) <= 10),
  constraint choice_page_is_bounded check (char_length(page_url) <= 2048)
);
create function private.newest_choice(p_site_id uuid, p_visitor_id text)
returns public.consent_choices
language sql stable security definer set search_path = ''
as $$
  select c.* from public.consent_choices c
  where c.site_id = p_site_id and c.visitor_id = p_visitor_id
  order by c.chosen_at desc, c.id desc limit 1
$$;
create function private.refused_marketing(p_site_id uuid, p_visitor_id text) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select not 'marketing' = any (c.scopes) from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = p_visitor_id
    order by c.chosen_at desc, c.id desc limit 1), false)
    or exists (select from private.erased_marks m where m.site_id = p_site_id
      and m.mark = private.mark_of(p_site_id, 'visitor', p_visitor_id))
$$;
create function private.lock_visitor(p_site_id uuid, p_visitor_id text) returns void
language sql set search_path = ''
as $$
  select pg_catalog.pg_advisory_xact_lock(hashtextextended(p_site_id || '/' || p_visitor_id, 0))
$$;
create function private.write_choice(p_choice public.consent_choices) returns void
language sql security definer set search_path = ''
as $$
  insert into public.consent_choices
      (site_id, visitor_id, scopes, chosen_at, last_said_at, received_at, page_url, tracker_version)
    values (p_choice.site_id, p_choice.visitor_id, p_choice.scopes, p_choice.chosen_at,
      p_choice.chosen_at, private.current_moment(),
      private.without_click_ids(left(p_choice.page_url, 2048)), p_choice.tracker_version)
$$;
create function private.note_choice(p_choice public.consent_choices) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_before public.consent_choices;
  v_next public.consent_choices;
begin
  select c.* into v_before from public.consent_choices c
    where c.site_id = p_choice.site_id and c.visitor_id = p_choice.visitor_id
      and c.chosen_at <= p_choice.chosen_at
    order by c.chosen_at desc, c.id desc limit 1;
  if v_before.scopes = p_choice.scopes then
    update public.consent_choices c set last_said_at = p_choice.chosen_at
      where c.id = v_before.id and c.last_said_at < p_choice.chosen_at;
    return;   -- applied when it was first said
  end if;
  select c.* into v_next from public.consent_choices c
    where c.site_id = p_choice.site_id and c.visitor_id = p_choice.visitor_id
      and c.chosen_at > p_choice.chosen_at
    order by c.chosen_at, c.id limit 1;
  if v_before.last_said_at > p_choice.chosen_at then
    update public.consent_choices c set last_said_at = c.chosen_at where c.id = v_before.id;
    perform private.write_choice(p_choice);
    v_before.chosen_at := v_before.last_said_at;
    perform private.write_choice(v_before);
  elsif v_next.scopes = p_choice.scopes then
    update public.consent_choices c set chosen_at = p_choice.chosen_at where c.id = v_next.id;
  else
    perform private.write_choice(p_choice);
  end if;
  if private.refused_marketing(p_choice.site_id, p_choice.visitor_id) then
    perform private.withdraw_marketing(p_choice.site_id, p_choice.visitor_id);
  end if;
end
$$;
create function public.purge_consent_choices() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_purged int;
begin
  delete from public.consent_choices c where c.id = any (array(
    select x.id from public.consent_choices x
    where x.received_at > v_now - interval '5 days'
      and x.received_at <= v_now - interval '2 days'
      and not exists (
        select from public.sessions s
        where s.site_id = x.site_id and s.visitor_id = x.visitor_id)
    order by x.received_at limit 20000));
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 04_ingest/drops.sql
create table public.ingest_drop_deltas (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  day date not null,
  reason text not null,
  drops int not null,
  constraint drop_reason_is_known
    check (reason in ('duplicate', 'bot', 'consent', 'quota', 'privacy_signal', 'ceiling')),
  constraint drops_are_positive check (drops > 0)
);
create table public.ingest_drops_daily (
  site_id uuid not null references public.sites (id),
  day date not null,
  reason text not null,
  drops bigint not null,
  primary key (site_id, day, reason)
);
create function private.note_drops(p_site_id uuid, p_reason text, p_drops int) returns void
language sql security definer set search_path = ''
as $$
  insert into public.ingest_drop_deltas (site_id, day, reason, drops)
  select p_site_id, (private.current_moment() at time zone 'UTC')::date, p_reason, p_drops
  where p_drops > 0
$$;
create function public.count_drops(p_site_id uuid, p_reason text, p_drops int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.note_drops(p_site_id, p_reason, p_drops);
  return jsonb_build_object('ok', true);
end
$$;
create function public.fold_drops() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  with taken as (
    delete from public.ingest_drop_deltas d where d.id in (
      select e.id from public.ingest_drop_deltas e order by e.id limit 50000 for update skip locked)
    returning d.site_id, d.day, d.reason, d.drops
  ), folded as (
    insert into public.ingest_drops_daily as t (site_id, day, reason, drops)
    select k.site_id, k.day, k.reason, sum(k.drops) from taken k group by 1, 2, 3 order by 1, 2, 3
    on conflict (site_id, day, reason) do update set drops = t.drops + excluded.drops
  )
  select count(*) into v_folded from taken;
  return jsonb_build_object('folded', v_folded);
end
$$;
create function private.dropped_events(p_site_id uuid, p_from date) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_object_agg(r.reason, r.drops), '{}')
  from (
    select t.reason, sum(t.drops) as drops
    from (
      select f.reason, f.drops from public.ingest_drops_daily f
      where f.site_id = p_site_id and f.day >= p_from
      union all
      select d.reason, d.drops from public.ingest_drop_deltas d
      where d.site_id = p_site_id and d.day >= p_from) t
    group by t.reason) r
$$;

-- 04_ingest/events.sql
create table private.events (
  id uuid not null,
  site_id uuid not null,
  session_id uuid not null,
  received_at timestamptz not null,
  happened_at timestamptz not null,
  category text not null,
  action text not null,
  label text,
  value numeric,
  url text,
  primary key (received_at, id)
) partition by range (received_at);
create table private.events_default partition of private.events default;
create function public.ensure_event_partitions() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_month timestamp := date_trunc('month', private.current_moment() at time zone 'UTC');
  v_name text;
  v_made text[] := '{}';
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
  for v_offset in 0..2 loop
    v_name := 'events_' || to_char(v_month + make_interval(months => v_offset), 'YYYY_MM');
    continue when to_regclass('private.' || v_name) is not null;
    begin
      execute format(
        'create table private.%I partition of private.events for values from (%L) to (%L)',
        v_name,
        (v_month + make_interval(months => v_offset)) at time zone 'UTC',
        (v_month + make_interval(months => v_offset + 1)) at time zone 'UTC');
      execute format('alter table private.%I enable row level security', v_name);
      v_made := v_made || v_name;
    exception when check_violation then
      null;   -- the default partition has events of this month; they stay readable there
    end;
  end loop;
  return jsonb_build_object('made', to_jsonb(v_made));
end
$$;

-- 04_ingest/failed_events.sql
create function public.ingest_status(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return jsonb_build_object(
    'lastEventAt', (
      select s.last_seen_at from public.sessions s
      where s.site_id = v_site.id order by s.started_at desc limit 1),
    'failed', (
      select count(*) from public.ingest_fallback_buffer b
      where b.site_id = v_site.id and b.status = 'FAILED'));
end
$$;
create function public.list_failed_events(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'operator');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', t.id,
      'receivedAt', t.created_at,
      'attempts', t.attempt_count,
      'reason', t.last_error)), '[]')
    from (
      select * from public.ingest_fallback_buffer b
      where b.site_id = v_site.id and b.status = 'FAILED'
      order by b.created_at desc limit 200) t);
end
$$;
create function public.replay_failed_events(p_public_id text, p_ids uuid[]) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_replayed int;
begin
  update public.ingest_fallback_buffer b
    set status = 'PENDING', attempt_count = 0, updated_at = private.current_moment()
    where b.site_id = v_site.id and b.status = 'FAILED' and b.id = any (p_ids[1:200]);
  get diagnostics v_replayed = row_count;
  return jsonb_build_object('replayed', v_replayed);
end
$$;

-- 04_ingest/ingest_fallback_buffer.sql
create table public.ingest_fallback_buffer (
  id uuid primary key default encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
  site_id uuid not null references public.sites (id),
  payload jsonb not null,
  status text not null default 'PENDING',
  attempt_count int not null default 0,
  claim_token uuid,
  claimed_at timestamptz,
  counted boolean not null,
  position smallint not null default 0,
  is_enrichment boolean not null default false,
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint status_is_known check (status in ('PENDING', 'PROCESSING', 'RECOVERED', 'FAILED')),
  constraint processing_rows_have_a_claim check (
    (status = 'PROCESSING') = (claim_token is not null and claimed_at is not null)),
  constraint failed_rows_say_why check (status <> 'FAILED' or last_error is not null)
)
with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.02
);

-- 04_ingest/ingest_idempotency.sql
create table public.ingest_idempotency (
  site_id uuid not null references public.sites (id) on delete cascade,
  idempotency_key bytea not null,
  eid text,
  event_name text not null,
  reported_by smallint not null default 1,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (site_id, idempotency_key),
  constraint idempotency_key_is_sha_256 check (octet_length(idempotency_key) = 32),
  constraint eid_is_at_most_64_characters check (char_length(eid) between 1 and 64),
  constraint reporters_are_known check (reported_by between 1 and 3),
  constraint system_ids_are_signed check (eid not like 'system/%' or reported_by & 2 = 2)
);
create function private.note_late_row() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if new.created_at not between clock_timestamp() - interval '1 minute' and clock_timestamp() then
    perform private.note_changed_day(new.site_id, new.created_at);
  end if;
  return null;
end
$$;
create function private.note_lost_row() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.note_changed_day(old.site_id, old.created_at);
  return null;
end
$$;

-- 04_ingest/lead_room.sql
create function private.is_lead(p_event_name text) returns boolean
language sql immutable set search_path = ''
as $$
  select p_event_name in ('conversion/phone_call', 'conversion/whatsapp', 'conversion/form_submit')
$$;
create function private.has_lead(p_events jsonb, p_signed_only boolean) returns boolean
language sql immutable set search_path = ''
as $$
  select exists (
    select from jsonb_array_elements(p_events) e
    where private.is_lead(e ->> 'n') and (not p_signed_only or e ->> 'r' = '2'))
$$;
create function private.without_room(p_events jsonb, p_new int[], p_places bigint[])
returns int[]
language plpgsql immutable set search_path = ''
as $$
declare
  v_position int;
  v_event jsonb;
  v_taken int := 0;
  v_refused int[] := '{}';
begin
  foreach v_position in array p_new loop
    v_event := p_events -> (v_position - 1);
    if v_taken < p_places[case
        when not private.is_lead(v_event ->> 'n') then 1
        when v_event ->> 'r' = '2' then 3
        else 2 end] then
      v_taken := v_taken + 1;
    else
      v_refused := v_refused || v_position;
    end if;
  end loop;
  return v_refused;
end
$$;
create function private.signed_events(p_site_id uuid, p_kept bigint) returns bigint
language sql stable security definer set search_path = ''
as $$
  select case
    when exists (
      select from private.site_secrets x where x.site_id = p_site_id and x.sealed is not null)
    then p_kept / 2 else 0 end
$$;
create table private.lead_room_taken (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  network text not null,
  events bigint not null,
  primary key (site_id, year_month, network),
  constraint network_is_a_range check (network ~ '/(24|48)$')
);
create function private.range_room(
  p_site_id uuid, p_year_month text, p_network text, p_unsigned_kept bigint
) returns bigint
language sql stable security definer set search_path = ''
as $$
  select greatest(0, (p_unsigned_kept + 3) / 4 - coalesce((
      select t.events from private.lead_room_taken t
      where t.site_id = p_site_id and t.year_month = p_year_month and t.network = p_network), 0))
  where p_network is not null
$$;
create function private.note_range(
  p_site_id uuid, p_year_month text, p_network text, p_events bigint
) returns void
language sql security definer set search_path = ''
as $$
  insert into private.lead_room_taken as t (site_id, year_month, network, events)
    values (p_site_id, p_year_month, p_network, p_events)
    on conflict (site_id, year_month, network) do update set events = t.events + excluded.events
$$;

-- 04_ingest/record_consent.sql
create function private.known_scopes(p_scopes jsonb) returns text[]
language sql immutable set search_path = ''
as $$
  select coalesce(array_agg(distinct s order by s), '{}') from jsonb_array_elements_text(p_scopes) s
  where s in ('analytics', 'marketing')
$$;
create function private.happened_at(p_received_at timestamptz, p_age_ms jsonb) returns timestamptz
language sql immutable set search_path = ''
as $$
  select p_received_at
    - least(greatest(coalesce((p_age_ms #>> '{}')::numeric, 0), 0), 86400000)::float8
      * interval '1 millisecond'
$$;
create function public.record_consent(p_site_id uuid, p_choice jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice public.consent_choices;
begin
  v_choice.site_id := p_site_id;
  v_choice.visitor_id := p_choice ->> 'visitor';
  v_choice.scopes := private.known_scopes(p_choice -> 'scopes');
  v_choice.chosen_at := private.happened_at(private.current_moment(), p_choice -> 'ageMs');
  v_choice.page_url := p_choice ->> 'page';
  v_choice.tracker_version := (p_choice ->> 'version')::int;
  perform private.lock_visitor(p_site_id, v_choice.visitor_id);
  perform private.note_choice(v_choice);
  return '{"ok": true}';
end
$$;
create function private.is_owed_refusal(p_site_id uuid, p_choice jsonb) returns boolean
language sql stable security definer set search_path = ''
as $$
  select not 'marketing' = any (private.known_scopes(p_choice -> 'scopes'))
    and (exists (
        select from public.sessions s
        where s.site_id = p_site_id and s.visitor_id = p_choice ->> 'visitor')
      or exists (
        select from public.calls c
        where c.site_id = p_site_id and c.visitor_id = p_choice ->> 'visitor'))
$$;
create function public.record_consents(
  p_site_id uuid, p_choices jsonb, p_owed_only boolean default false
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice jsonb;
  v_left int := 0;
begin
  if jsonb_array_length(p_choices) not between 1 and 100 then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  for v_choice in
    select c from jsonb_array_elements(p_choices) c
    order by hashtextextended(p_site_id || '/' || (c ->> 'visitor'), 0)
  loop
    if p_owed_only and not private.is_owed_refusal(p_site_id, v_choice) then
      v_left := v_left + 1;
    elsif not (p_owed_only
        and private.refused_marketing(p_site_id, v_choice ->> 'visitor')) then
      perform public.record_consent(p_site_id, v_choice);
    end if;
  end loop;
  return jsonb_build_object('ok', true, 'left', v_left);
end
$$;
create function public.visitors_without_marketing(p_site_id uuid, p_visitors text[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(v), '[]') from unnest(p_visitors[1:1000]) v
  where private.refused_marketing(p_site_id, v)
$$;
create function private.note_event_choice(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_choice public.consent_choices;
begin
  v_choice.scopes := case
    when jsonb_typeof(p_event -> 'scopes') = 'array'
      then private.known_scopes(p_event -> 'scopes')
    when not (p_event ->> 'marketingConsent')::boolean then '{analytics}' end;
  if v_choice.scopes is not null then
    v_choice.site_id := p_site_id;
    v_choice.visitor_id := p_event ->> 'visitor';
    v_choice.chosen_at := p_at;
    v_choice.page_url := p_event ->> 'url';
    v_choice.tracker_version := (p_event ->> 'trackerVersion')::int;
    perform private.note_choice(v_choice);
  end if;
end
$$;

-- 05_leads/sessions.sql
create table public.sessions (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  visitor_id text not null,
  started_at timestamptz not null,
  last_seen_at timestamptz not null,
  event_count int not null default 0,
  landing_url text,
  referrer text,
  device text,
  country text,
  city text,
  utm jsonb not null default '{}',
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  marketing_consent boolean not null,
  had_conversion boolean not null default false,
  had_interaction boolean not null default false,
  scroll_depth int not null default 0,
  had_hover_intent boolean not null default false,
  from_google boolean not null default false,
  returning_ad_user boolean not null default false,
  lead_score int not null generated always as (least(100,
    case when had_conversion then 50 else 0 end
    + case when had_interaction then 10 else 0 end
    + case when scroll_depth >= 50 then 10 else 0 end
    + case when scroll_depth >= 90 then 20 else 0 end
    + case when had_hover_intent then 15 else 0 end
    + case when from_google then 5 else 0 end
    + case when returning_ad_user then 25 else 0 end)) stored,
  constraint visitor_id_is_bounded check (char_length(visitor_id) between 1 and 64),
  constraint scroll_depth_is_a_percentage check (scroll_depth between 0 and 100),
  constraint click_ids_are_bounded check (
    char_length(gclid) <= 512 and char_length(wbraid) <= 512 and char_length(gbraid) <= 512),
  constraint click_ids_have_a_time check (
    (gclid is null and wbraid is null and gbraid is null) or clicked_at is not null)
);

-- 04_ingest/record_consent.sql
create function private.visitor_consents(
  p_site_id uuid, p_event jsonb, p_session public.sessions
) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    'marketing' = any ((private.newest_choice(p_site_id, p_event ->> 'visitor')).scopes),
    (p_event ->> 'marketingConsent')::boolean,
    p_session.marketing_consent,
    (p_event ->> 'marketingDefault')::boolean)
    and not exists (select from private.erased_marks m where m.site_id = p_site_id
      and m.mark = private.mark_of(p_site_id, 'visitor', p_event ->> 'visitor'))
$$;
create function private.without_click_ids(p_url text) returns text
language sql immutable set search_path = ''
as $$ select regexp_replace(p_url, '(clid|braid)(=|%3D)[^&#%]*', '\1\2', 'gi') $$;
create function private.without_marketing(p_event jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select p_event || jsonb_build_object(
    'gclid', null,
    'wbraid', null,
    'gbraid', null,
    'phone', null,
    'url', private.without_click_ids(p_event ->> 'url'),
    'referrer', private.without_click_ids(p_event ->> 'referrer'),
    'label', case
      when p_event ->> 'action' not in ('phone_call', 'whatsapp', 'hover_intent')
        then p_event ->> 'label' end)
$$;
create function private.payload_to_keep(p_site_id uuid, p_payload jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when private.refused_marketing(p_site_id, p_payload ->> 'visitor')
      then private.without_marketing(p_payload)
    else p_payload end
$$;

-- 04_ingest/site_ceilings.sql
create table private.site_ceilings (
  site_id uuid primary key references public.sites (id),
  minute_max int,
  day_max int,
  updated_at timestamptz not null,
  constraint minute_ceiling_is_sane check (minute_max between 60 and 1000000),
  constraint day_ceiling_is_sane check (day_max between 1000 and 100000000)
);
create table private.busy_days (
  site_id uuid not null references public.sites (id),
  day date not null,
  events int not null,
  busiest_minute int not null,
  primary key (site_id, day)
);
create function private.usual_load(p_site_id uuid) returns table (a_minute int, a_day int)
language sql stable security definer set search_path = ''
as $$
  with recent as (
    select b.events, b.busiest_minute, count(*) over () as days
    from private.busy_days b
    where b.site_id = p_site_id and b.events > 0
      and b.day >= (private.current_moment() at time zone 'UTC')::date - 28
      and not exists (select from private.billing_credits c
        where c.site_id = p_site_id and c.day = b.day)
  ), ranked as (
    select r.*, row_number() over (order by r.events desc) as by_day,
      row_number() over (order by r.busiest_minute desc) as by_minute,
      case when r.days > 7 then 4 else 1 + r.days / 2 end as wanted
    from recent r
  )
  select coalesce(max(k.busiest_minute) filter (where k.by_minute = k.wanted), 0),
    coalesce(max(k.events) filter (where k.by_day = k.wanted), 0)
  from ranked k
$$;
create function private.ceilings_of(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'minuteMax', coalesce(c.minute_max, least(1000000, greatest(1000, 10 * u.a_minute))),
    'dayMax', coalesce(c.day_max, least(100000000, greatest(20000, 5::bigint * u.a_day))),
    'minuteByHand', c.minute_max, 'dayByHand', c.day_max,
    'usualMinute', u.a_minute, 'usualDay', u.a_day)
  from private.usual_load(p_site_id) u
  left join private.site_ceilings c on c.site_id = p_site_id
$$;
create function public.read_site_ceilings(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_from date := (private.current_moment() at time zone 'UTC')::date - 30;
begin
  return private.ceilings_of(v_site.id) || jsonb_build_object('turnedAway', (
    select coalesce(jsonb_agg(jsonb_build_object('day', t.day, 'events', t.events)
      order by t.day desc), '[]')
    from (
      select d.day, sum(d.drops) as events
      from (
        select f.day, f.drops from public.ingest_drops_daily f
        where f.site_id = v_site.id and f.reason = 'ceiling' and f.day >= v_from
        union all
        select e.day, e.drops from public.ingest_drop_deltas e
        where e.site_id = v_site.id and e.reason = 'ceiling' and e.day >= v_from) d
      group by d.day) t));
end
$$;
create function public.set_site_ceilings(
  p_public_id text, p_minute_max int default null, p_day_max int default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_minute_max not between 60 and 1000000 or p_day_max not between 1000 and 100000000 then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  insert into private.site_ceilings as c (site_id, minute_max, day_max, updated_at)
    values (v_site.id, p_minute_max, p_day_max, private.current_moment())
    on conflict (site_id) do update
      set minute_max = excluded.minute_max, day_max = excluded.day_max,
        updated_at = excluded.updated_at;
  return jsonb_build_object('ok', true);
end
$$;
create function public.note_busy_days(p_limit int default 500) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_day date := (private.current_moment() at time zone 'UTC')::date - 1;
  v_noted int;
begin
  delete from private.busy_days b where b.day < v_day - 35;
  insert into private.busy_days (site_id, day, events, busiest_minute)
    select s.id, v_day, coalesce(sum(m.events), 0), coalesce(max(m.events), 0)
    from (
      select t.id from public.sites t
      where t.archived_at is null and not exists (
        select from private.busy_days b where b.site_id = t.id and b.day = v_day)
      order by t.id limit p_limit) s
    left join lateral (
      select count(*) as events from public.ingest_idempotency x
      where x.site_id = s.id and x.created_at >= v_day at time zone 'UTC'
        and x.created_at < (v_day + 1) at time zone 'UTC'
      group by date_trunc('minute', x.created_at)) m on true
    group by s.id
    on conflict do nothing;
  get diagnostics v_noted = row_count;
  return jsonb_build_object('noted', v_noted);
end
$$;

-- 04_ingest/store_events.sql
create function public.store_events(p_token uuid, p_rows jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_row record;
  v_session public.sessions;
  v_at timestamptz;
  v_event jsonb;
  v_stored int := 0;
  v_calls int := 0;
  v_erasing uuid[];
begin
  perform pg_catalog.pg_advisory_xact_lock(t.visitor) from (
    select distinct hashtextextended(b.site_id || '/' || (r ->> 'visitor'), 0) as visitor
    from jsonb_array_elements(p_rows) r
    join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
    order by 1) t;
  -- Known calls are locked by id, as an import and a withdrawal lock them.
  perform from public.calls c
    where (c.site_id, c.intent_stamp) in (
      select b.site_id, r ->> 'intentStamp'
      from jsonb_array_elements(p_rows) r
      join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
      where r ->> 'channel' is not null)
    order by c.id for update;
  v_erasing := private.sites_with_erasures(p_rows);
  for v_row in
    select b.id, b.site_id, b.is_enrichment, b.created_at as received_at, r as event
    from public.ingest_fallback_buffer b
    join jsonb_array_elements(p_rows) r on b.id = (r ->> 'id')::uuid
    where b.claim_token = p_token
    order by b.created_at, b.position, b.id
    for update of b
  loop
    v_at := private.happened_at(v_row.received_at, v_row.event -> 'ageMs');
    continue when v_row.site_id = any (v_erasing)
      and private.is_forgotten(v_row.site_id, v_at, v_row.event);
    v_session := private.visit_of_stamp(v_row.site_id, v_row.event);
    if v_session.id is null then
      v_session := private.touch_session(v_row.site_id, v_at, v_row.event);
    end if;
    -- Without marketing consent, addresses and labels lose click ids and numbers here; store_call
    -- drops the rest.
    v_event := case
      when v_session.marketing_consent then v_row.event
      else v_row.event
        || (private.without_marketing(v_row.event) - '{gclid,wbraid,gbraid,phone}'::text[]) end;
    if not v_row.is_enrichment then   -- a call is one event of the journey, whoever reports it
      insert into private.events
          (id, site_id, session_id, received_at, happened_at, category, action, label, value, url)
        values (v_row.id, v_row.site_id, v_session.id, v_row.received_at, v_at,
          v_event ->> 'category', v_event ->> 'action', v_event ->> 'label',
          (v_event ->> 'value')::numeric, v_event ->> 'url');
    end if;
    if v_event ->> 'channel' is not null then
      v_calls := v_calls + private.store_call(v_session, v_at, v_event);
    elsif v_at < v_session.last_seen_at then
      perform private.rescore_calls(v_session, v_at);
    end if;
    v_stored := v_stored + 1;
  end loop;

  insert into public.site_usage_monthly as u (site_id, year_month, event_count, updated_at)
    select b.site_id, private.billing_month(b.created_at), count(*), private.current_moment()
    from public.ingest_fallback_buffer b
    where b.claim_token = p_token and not b.counted
      and b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r)
    group by 1, 2 order by 1, 2
    on conflict (site_id, year_month) do update
      set event_count = u.event_count + excluded.event_count, updated_at = excluded.updated_at;
  perform private.note_origins(p_token, p_rows);
  update public.ingest_fallback_buffer b
    set status = 'RECOVERED', claim_token = null, claimed_at = null, counted = true,
        updated_at = private.current_moment(),
        payload = '{}'   -- its content now stands in one place, where it can be erased
    where b.claim_token = p_token
      and b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r);
  return jsonb_build_object('stored', v_stored, 'calls', v_calls);
end
$$;
create function private.visit_of_stamp(p_site_id uuid, p_event jsonb) returns public.sessions
language sql stable security definer set search_path = ''
as $$
  select s.* from public.calls c join public.sessions s on s.id = c.session_id
  where p_event ->> 'reporter' = 'system' and p_event ->> 'visitor' = p_event ->> 'intentStamp'
    and c.site_id = p_site_id and c.intent_stamp = p_event ->> 'intentStamp'
$$;

-- 05_leads/caller_vouchers.sql
create table private.voucher_key (
  id boolean primary key default true,
  secret bytea not null,
  constraint there_is_one_voucher_key check (id)
);
create function private.voucher_of(p_site_id uuid, p_phone_hash text, p_caller jsonb) returns text
language sql stable security definer set search_path = ''
as $$
  select encode(sha256(k.secret || sha256(k.secret || convert_to(jsonb_build_array(
      p_site_id, p_phone_hash, p_caller ->> 'hash', p_caller ->> 'keyId')::text, 'UTF8'))), 'hex')
  from private.voucher_key k
$$;
create function public.vouch_callers(p_public_id text, p_callers jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select (
    select coalesce(jsonb_agg(
      private.voucher_of(s.id, c.line ->> 'phoneHash', c.line) order by c.place), '[]')
    from jsonb_array_elements(p_callers) with ordinality c (line, place)
    where c.place <= 400)
  from public.sites s where s.public_id = p_public_id
$$;
create function private.vouched(p_site_id uuid, p_phone_hash text, p_callers jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(c.line - 'voucher' order by c.place), '[]')
  from jsonb_array_elements(case jsonb_typeof(p_callers) when 'array' then p_callers else '[]' end)
    with ordinality c (line, place)
  where c.place <= 4 and jsonb_typeof(c.line) = 'object'
    and c.line ->> 'voucher' = private.voucher_of(p_site_id, p_phone_hash, c.line)
$$;

-- 05_leads/calls.sql
create table public.calls (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  session_id uuid references public.sessions (id),
  visitor_id text not null,
  reported_by text not null,
  intent_stamp text not null,
  channel text not null,
  phone text,
  caller_hash text,
  status text not null default 'intent',
  seal_status text not null
    generated always as (case when status = 'sealed' then 'sealed' else 'unsealed' end) stored,
  version int not null default 1,
  last_proof_id uuid,
  status_at timestamptz,
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  marketing_consent boolean not null,
  lead_score int not null,
  score_breakdown jsonb not null,
  page_url text,
  called_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  signed_at timestamptz,
  click_is_signed boolean not null default false,
  is_moved boolean not null default false,
  caller_key_id text,
  contact_name text,
  constraint one_call_per_click unique (site_id, intent_stamp),
  constraint reporter_is_known check (reported_by in ('tracker', 'system')),
  constraint system_ids_are_reported_by_systems
    check (intent_stamp not like 'system/%' or reported_by = 'system'),
  constraint channel_is_known check (channel in ('phone', 'whatsapp', 'form')),
  constraint call_status_is_known
    check (status in ('intent', 'qualified', 'meeting', 'sealed', 'junk', 'cancelled')),
  constraint lead_score_is_0_to_100 check (lead_score between 0 and 100),
  constraint caller_hash_is_hex check (caller_hash ~ '^[0-9a-f]{64}$'),
  constraint contact_name_is_plain_text check (
    contact_name is null or private.is_plain_text(contact_name, 80)),
  constraint caller_key_id_is_bounded check (char_length(caller_key_id) <= 64)
);

-- 05_leads/click_sightings.sql
create table private.click_sightings (
  site_id uuid not null,
  visitor_id text not null,
  click_hash bytea not null,
  first_seen_at timestamptz not null,
  primary key (site_id, visitor_id, click_hash)
);
create function private.click_hashes(p_gclid text, p_wbraid text, p_gbraid text) returns setof bytea
language sql immutable set search_path = ''
as $$
  select sha256(convert_to(t.kind || '/' || t.id, 'UTF8'))
  from (values ('gclid', p_gclid), ('wbraid', p_wbraid), ('gbraid', p_gbraid)) t (kind, id)
  where t.id is not null
$$;
create function private.see_click(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns timestamptz
language sql security definer set search_path = ''
as $$
  with seen as (
    insert into private.click_sightings as c (site_id, visitor_id, click_hash, first_seen_at)
      select p_site_id, p_event ->> 'visitor', h, p_at
      from private.click_hashes(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') h
      on conflict (site_id, visitor_id, click_hash)
        do update set first_seen_at = least(c.first_seen_at, excluded.first_seen_at)
      returning c.first_seen_at)
  select min(s.first_seen_at) from seen s
$$;

-- 05_leads/held_reports.sql
create table private.held_reports (
  site_id uuid not null,
  intent_stamp text not null,
  report jsonb not null,
  held_until timestamptz not null,
  primary key (site_id, intent_stamp)
);
create function private.hold_report(p_site_id uuid, p_intent_stamp text, p_report jsonb)
returns void
language sql security definer set search_path = ''
as $$
  insert into private.held_reports as h (site_id, intent_stamp, report, held_until)
    select p_site_id, p_intent_stamp, r.report, private.current_moment() + interval '1 hour'
    from (
      select jsonb_strip_nulls(jsonb_build_object(
        'phone', p_report -> 'phone',
        'callerHash', p_report -> 'callerHash',
        'callerKeyId', p_report -> 'callerKeyId',
        'gclid', p_report -> 'gclid',
        'wbraid', p_report -> 'wbraid',
        'gbraid', p_report -> 'gbraid')) as report) r
    where r.report <> '{}'
    on conflict (site_id, intent_stamp)
      do update set held_until = excluded.held_until,
        -- A number comes with its hash, or without one.
        report = case when excluded.report ? 'phone'
          then h.report - '{callerHash,callerKeyId}'::text[] else h.report end || excluded.report
$$;

-- 05_leads/lead_contacts.sql
create function private.lead_to_describe(p_site public.sites, p_call_id uuid) returns public.calls
language plpgsql security definer set search_path = ''
as $$
declare
  v_call public.calls;
begin
  select c.* into v_call from public.calls c
    where c.id = p_call_id and c.site_id = p_site.id for no key update;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_call.visitor_id like 'erased-%' then
    perform private.fail(409, 'LEAD_ERASED');
  end if;
  return v_call;
end
$$;
create function public.set_lead_contact(p_public_id text, p_call_id uuid, p_contact jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_old public.calls := private.lead_to_describe(v_site, p_call_id);
  v_name text := nullif(btrim(p_contact ->> 'name'), '');
  v_phone text := private.e164(v_site, p_contact ->> 'phone');
  v_caller jsonb := private.vouched(v_site.id, private.phone_hash(v_phone),
    jsonb_build_array(p_contact -> 'caller')) -> 0;
  v_fields text[];
begin
  if v_name is not null and not private.is_plain_text(v_name, 80) then
    perform private.refuse_setting('name');
  end if;
  if btrim(p_contact ->> 'phone') <> '' and v_phone is null then
    perform private.refuse_setting('phone');
  end if;
  v_fields := array_remove(array[
    case when p_contact ? 'name' and v_name is distinct from v_old.contact_name then 'name' end,
    case when p_contact ? 'phone'
      and v_phone is distinct from coalesce(private.e164(v_site, v_old.phone), v_old.phone)
      then 'phone' end], null);
  if cardinality(v_fields) = 0 then
    return jsonb_build_object('ok', true);
  end if;
  update public.calls c
    set contact_name = case when 'name' = any (v_fields) then v_name else c.contact_name end,
        phone = case when 'phone' = any (v_fields) then v_phone else c.phone end,
        caller_hash = case when 'phone' = any (v_fields)
          then v_caller ->> 'hash' else c.caller_hash end,
        caller_key_id = case when 'phone' = any (v_fields)
          then v_caller ->> 'keyId' else c.caller_key_id end,
        updated_at = private.current_moment()
    where c.id = v_old.id;
  perform private.prove(v_site.id, private.user_actor(), jsonb_build_object(
    'contract', 'lead', 'contractVersion', 'lead/1', 'entityId', v_old.id, 'to', 'contact',
    'facts', jsonb_build_object('fields', v_fields)));
  return jsonb_build_object('ok', true);
end
$$;
create function public.add_lead_note(p_public_id text, p_call_id uuid, p_note text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call public.calls := private.lead_to_describe(v_site, p_call_id);
begin
  if char_length(coalesce(btrim(p_note), '')) not between 1 and 500 then
    perform private.refuse_setting('note');
  end if;
  perform private.prove(v_site.id, private.user_actor(), jsonb_build_object(
    'contract', 'lead', 'contractVersion', 'lead/1', 'entityId', v_call.id, 'to', 'noted',
    'note', p_note));
  update public.calls c set updated_at = private.current_moment() where c.id = v_call.id;
  return jsonb_build_object('ok', true);
end
$$;
create function private.leads_of_person(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', o.id, 'channel', o.channel, 'status', o.status, 'calledAt', o.called_at)
    order by o.called_at desc, o.id desc), '[]')
  from (
    select x.* from public.calls x
    where x.id <> p_call.id and x.id in (
      select c.id from public.calls c where c.session_id = p_call.session_id
      union
      select c.id from public.calls c
        where c.site_id = p_call.site_id and c.visitor_id = p_call.visitor_id
      union
      select c.id from public.calls c
        where c.site_id = p_call.site_id and c.caller_hash = p_call.caller_hash
          and not private.is_switchboard(p_call.site_id, array[p_call.caller_hash]))
    order by x.called_at desc, x.id desc limit 20) o
$$;

-- 05_leads/lead_score.sql
create function private.score_breakdown(p_session public.sessions) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'conversion', case when p_session.had_conversion then 50 end,
    'interaction', case when p_session.had_interaction then 10 end,
    'scroll50', case when p_session.scroll_depth >= 50 then 10 end,
    'scroll90', case when p_session.scroll_depth >= 90 then 20 end,
    'hoverIntent', case when p_session.had_hover_intent then 15 end,
    'google', case when p_session.from_google then 5 end,
    'returningAdUser', case when p_session.returning_ad_user then 25 end))
$$;
create function private.score_of(p_breakdown jsonb) returns int
language sql immutable set search_path = ''
as $$
  select least(100, coalesce(sum(v::int), 0))::int from jsonb_each_text(p_breakdown) t (k, v)
$$;
create function private.score_call(p_session public.sessions, p_at timestamptz)
returns public.sessions
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_scored public.sessions := p_session;
begin
  v_scored.had_conversion := true;
  select coalesce(bool_or(e.category = 'interaction'), false),
      coalesce(max(least(greatest(round(e.value), 0), 100))
        filter (where e.action = 'scroll_depth'), 0)::int,
      coalesce(bool_or(e.action = 'hover_intent'), false)
    into v_scored.had_interaction, v_scored.scroll_depth, v_scored.had_hover_intent
    from private.events e
    where e.session_id = p_session.id
      and e.happened_at <= p_at
      and e.received_at >= p_session.started_at
      and e.received_at <= p_session.last_seen_at + private.event_arrival_window();
  return v_scored;
end
$$;
create function private.rescore_calls(p_session public.sessions, p_at timestamptz) returns void
language sql security definer set search_path = ''
as $$
  update public.calls c
    set score_breakdown = b.breakdown,
        lead_score = private.score_of(b.breakdown),
        updated_at = private.current_moment()
    from public.calls o
      cross join lateral (
        select private.score_breakdown(private.score_call(p_session, o.called_at)) as breakdown) b
    where o.session_id = p_session.id
      and o.called_at >= p_at
      and c.id = o.id
      and c.score_breakdown <> b.breakdown
$$;

-- 05_leads/lead_states.sql
create function private.open_lead_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['intent', 'qualified', 'meeting'] $$;
create function private.ended_lead_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['junk', 'cancelled'] $$;

-- 05_leads/move_call.sql
create function private.last_change(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'status', p_call.status,
    'version', p_call.version,
    'changedAt', p_call.status_at,
    'changedBy', (
      select private.actor_email(p.actor_id, p.occurred_at) from public.transition_proofs p
      where p.id = p_call.last_proof_id and p.actor_kind = 'user'),
    'amountCents', s.amount_cents,
    'currency', s.currency))
  from (select 1) one
  left join public.sales s on s.call_id = p_call.id and s.status = 'CONFIRMED'
$$;
create function private.delivery_block_of(p_call public.calls) returns text
language sql stable set search_path = ''
as $$
  select case
    when not p_call.marketing_consent
      or private.refused_marketing(p_call.site_id, p_call.visitor_id) then 'NO_CONSENT'
    when coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is null then 'NO_CLICK_ID'
    when p_call.clicked_at < private.current_moment() - private.click_life()
      then 'CLICK_EXPIRED' end
$$;
create function private.move_call(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_call public.calls;
  v_sale public.sales;
  v_to text := p_args ->> 'to';
  v_is_undo boolean := coalesce((p_args ->> 'isUndo')::boolean, false);
  v_version text;
  v_proof_id uuid;
begin
  select c.* into v_call from public.calls c
    where c.id = (p_args ->> 'id')::uuid and c.site_id = p_site.id for update;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_call.version <> coalesce((p_args ->> 'expectedVersion')::int, v_call.version) then
    perform private.fail(409, 'STALE_VERSION', private.last_change(v_call));
  end if;
  v_version := private.require_move('call', v_call.status, v_to, v_is_undo);
  if v_to = 'sealed' then
    v_sale := private.seal_sale(p_site, p_actor, v_call, p_args);
  elsif v_call.status = 'sealed' then
    select s.* into v_sale from public.sales s
      where s.call_id = v_call.id and s.status = 'CONFIRMED';
    v_sale := private.end_sale(v_sale.id, p_actor);
  end if;
  perform private.follow_stages(v_call, v_to, v_is_undo);
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'call',
    'contractVersion', v_version,
    'entityId', v_call.id,
    'from', v_call.status,
    'to', v_to,
    'note', p_args ->> 'reason',
    'requestHash', p_args ->> 'requestHash',
    'facts', private.sale_facts(v_sale) || jsonb_build_object(
      'version', v_call.version + 1, 'undo', case when v_is_undo then true end)));
  update public.calls c
    set status = v_to,
        version = c.version + 1,
        last_proof_id = v_proof_id,
        status_at = v_now,
        is_moved = not v_is_undo,
        updated_at = v_now
    where c.id = v_call.id;
  return jsonb_build_object(
    'ok', true,
    'from', v_call.status,
    'to', v_to,
    'contract_version', v_version,
    'proof_id', v_proof_id,
    'version', v_call.version + 1,
    'saleId', v_sale.id);
end
$$;
create function public.change_call(
  p_public_id text, p_change jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'call.change', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'call',
      'id', p_change -> 'id',
      'to', p_change -> 'to',
      'expectedVersion', p_change -> 'expectedVersion',
      'reason', p_change -> 'reason'))
$$;
create function public.undo_call(
  p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'call.undo', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object(
      'effect', 'undo',
      'id', p_undo -> 'id',
      'proofId', p_undo -> 'proofId',
      'expectedVersion', p_undo -> 'expectedVersion')))
$$;

-- 05_leads/phone_numbers.sql
create function private.calling_code(p_site public.sites) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  return coalesce(
    '{
      "TRY": "90", "GBP": "44", "USD": "1", "CHF": "41", "PLN": "48", "RON": "40", "BGN": "359",
      "UAH": "380", "AZN": "994", "GEL": "995", "AED": "971", "SAR": "966", "KWD": "965",
      "JPY": "81"
    }'::jsonb ->> p_site.currency,
    '{
      "Europe/Berlin": "49", "Europe/Paris": "33", "Europe/Madrid": "34", "Europe/Rome": "39",
      "Europe/Vienna": "43", "Europe/Amsterdam": "31", "Europe/Brussels": "32",
      "Europe/Athens": "30", "Europe/Lisbon": "351", "Europe/Dublin": "353",
      "Europe/Istanbul": "90", "Europe/London": "44"
    }'::jsonb ->> p_site.timezone);
end
$$;
create function private.e164(p_site public.sites, p_phone text) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_number text := regexp_replace(replace(left(p_phone, 64), '(0)', ''), '[^0-9+]', '', 'g');
  v_code text;
begin
  if v_number ~ '^\+[1-9][0-9]{6,14}$' then
    return v_number;
  end if;
  v_code := private.calling_code(p_site);
  return case
    when v_number ~ '^00[1-9][0-9]{6,14}$' then '+' || substr(v_number, 3)
    when v_number ~ '^0[1-9][0-9]{5,12}$' and v_code is not null
      then '+' || v_code || substr(v_number, 2)
    when v_number like v_code || '%' and v_number ~ '^[1-9][0-9]{10,14}$' then '+' || v_number
    when v_code in ('90', '1') and v_number ~ '^[2-9][0-9]{9}$' then '+' || v_code || v_number end;
end
$$;
create function private.phone_hash(p_e164 text) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  return encode(sha256(convert_to(p_e164, 'UTF8')), 'hex');
end
$$;
create function private.phone_to_send(p_call public.calls) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  if p_call.phone is null then
    return null;
  end if;
  select s.* into v_site from public.sites s where s.id = p_call.site_id;
  return private.phone_hash(private.e164(v_site, p_call.phone));
end
$$;
create function public.phone_hashes(p_public_id text, p_phones text[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select (
    select coalesce(
      jsonb_agg(private.phone_hash(private.e164(s, t.phone)) order by t.place), '[]')
    from unnest(p_phones[1:100]) with ordinality t (phone, place))
  from public.sites s where s.public_id = p_public_id
$$;
create function private.number_is_typed(p_call public.calls) returns boolean
language plpgsql stable security definer set search_path = ''
as $$
begin
  return p_call.phone is not null and exists (
    select from public.transition_proofs p
    where p.entity_id = p_call.id and p.contract = 'lead' and p.facts -> 'fields' ? 'phone');
end
$$;
create function public.add_caller_number(
  p_site_id uuid, p_intent_stamp text, p_phone text, p_caller jsonb
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_added int;
begin
  update public.calls c
    set phone = left(p_phone, 32),
        caller_hash = p_caller ->> 'hash',
        caller_key_id = p_caller ->> 'keyId',
        updated_at = private.current_moment()
    where c.site_id = p_site_id and c.intent_stamp = p_intent_stamp
      and c.caller_hash is null and c.marketing_consent and not private.number_is_typed(c);
  get diagnostics v_added = row_count;
  if not exists (
      select from public.calls c
      where c.site_id = p_site_id and c.intent_stamp = p_intent_stamp) then
    perform private.hold_report(p_site_id, p_intent_stamp, jsonb_build_object(
      'phone', left(p_phone, 32),
      'callerHash', p_caller -> 'hash',
      'callerKeyId', p_caller -> 'keyId'));
  end if;
  return jsonb_build_object('added', v_added);
end
$$;

-- 05_leads/sessions.sql
create function private.visit_gap() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '30 minutes' $$;
create function private.touch_session(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns public.sessions
language plpgsql security definer set search_path = ''
as $$
declare
  v_session public.sessions;
  v_visitor text := p_event ->> 'visitor';
  v_consent boolean;
  v_clicked_at timestamptz;
  v_is_same_click boolean := false;
  v_takes_click boolean;
  v_is_first boolean;
begin
  perform private.note_event_choice(p_site_id, p_at, p_event);
  -- Both ends: an event that is replayed days later belongs to the visit it happened in.
  select s.* into v_session from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = v_visitor
      and s.last_seen_at > p_at - private.visit_gap()
      and s.started_at < p_at + private.visit_gap()
    order by s.last_seen_at desc limit 1;
  v_consent := private.visitor_consents(p_site_id, p_event, v_session);
  if not v_consent then
    p_event := private.without_marketing(p_event);
  end if;
  if v_session.id is null then
    insert into public.sessions
        (site_id, visitor_id, started_at, last_seen_at, marketing_consent, returning_ad_user)
      values (p_site_id, v_visitor, p_at, p_at, v_consent,
        private.came_by_ad_before(p_site_id, v_visitor, p_at))
      returning * into v_session;
  end if;
  -- Without consent the session loses its click: p_event has none by now.
  v_takes_click := not v_consent;
  if v_consent
      and coalesce(p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') is not null then
    v_is_same_click := (v_session.gclid, v_session.wbraid, v_session.gbraid)
      is not distinct from (p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid');
    if not v_is_same_click or p_at < v_session.clicked_at then
      v_clicked_at := private.see_click(p_site_id, p_at, p_event);
      v_takes_click := not v_is_same_click
        and v_clicked_at > p_at - private.click_life()
        and v_clicked_at >= coalesce(v_session.clicked_at, v_clicked_at);
    end if;
  end if;
  -- A telephone system knows no page: whatever the tracker says of the visit came before it.
  v_is_first := p_event ->> 'url' <> ''
    and (p_at < v_session.started_at or v_session.landing_url is null);
  update public.sessions s
    set started_at = least(s.started_at, p_at),
        last_seen_at = greatest(s.last_seen_at, p_at),
        event_count = s.event_count + 1,
        landing_url = case when v_is_first then p_event ->> 'url' else s.landing_url end,
        referrer = case when v_is_first then p_event ->> 'referrer' else s.referrer end,
        device = case when v_is_first then p_event ->> 'device' else s.device end,
        country = case when v_is_first then p_event ->> 'country' else s.country end,
        city = case when v_is_first then p_event ->> 'city' else s.city end,
        utm = case when v_is_first then coalesce(p_event -> 'utm', '{}') else s.utm end,
        gclid = case when v_takes_click then p_event ->> 'gclid' else s.gclid end,
        wbraid = case when v_takes_click then p_event ->> 'wbraid' else s.wbraid end,
        gbraid = case when v_takes_click then p_event ->> 'gbraid' else s.gbraid end,
        clicked_at = case
          when v_takes_click then v_clicked_at
          when v_is_same_click then least(s.clicked_at, v_clicked_at)
          else s.clicked_at end,
        marketing_consent = v_consent,
        had_conversion = s.had_conversion or p_event ->> 'category' = 'conversion',
        had_interaction = s.had_interaction or p_event ->> 'category' = 'interaction',
        scroll_depth = greatest(s.scroll_depth, (p_event ->> 'scrollDepth')::int),
        had_hover_intent = s.had_hover_intent or p_event ->> 'action' = 'hover_intent',
        from_google = s.from_google or (p_event ->> 'fromGoogle')::boolean
    where s.id = v_session.id
    returning * into v_session;
  return v_session;
end
$$;
create function private.came_by_ad_before(
  p_site_id uuid, p_visitor_id text, p_at timestamptz
) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(bool_or(e.clicked_at is not null and e.started_at < p_at), false)
  from (
    select s.clicked_at, s.started_at from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = p_visitor_id
    order by s.last_seen_at desc offset 0) e
$$;

-- 05_leads/store_call.sql
create function private.store_call(p_session public.sessions, p_at timestamptz, p_event jsonb)
returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_new public.calls;
  v_id uuid;
  v_is_signed boolean := p_event ->> 'reporter' is not distinct from 'system';
  v_held jsonb;   -- what a telephone system said before; signed
  v_signed jsonb;
begin
  delete from private.held_reports h
    where h.site_id = p_session.site_id and h.intent_stamp = p_event ->> 'intentStamp'
    returning h.report into v_held;
  v_held := coalesce(v_held, '{}');
  v_signed := case when v_is_signed and p_event ->> 'phone' is not null
      then v_held - '{callerHash,callerKeyId}'::text[] else v_held end
    || case when v_is_signed then jsonb_strip_nulls(p_event) else '{}' end;
  if v_is_signed and not p_session.marketing_consent
     and not private.refused_marketing(p_session.site_id, p_session.visitor_id) then
    perform private.hold_report(p_session.site_id, p_event ->> 'intentStamp', v_signed);
  end if;
  v_new.site_id := p_session.site_id;
  v_new.session_id := p_session.id;
  v_new.visitor_id := p_session.visitor_id;
  v_new.reported_by := coalesce(p_event ->> 'reporter', 'tracker');
  v_new.signed_at := case when v_is_signed then p_at end;
  v_new.intent_stamp := p_event ->> 'intentStamp';
  v_new.channel := p_event ->> 'channel';
  v_new.marketing_consent := p_session.marketing_consent;
  v_new.page_url := nullif(p_event ->> 'url', '');
  v_new.called_at := p_at;
  v_new.score_breakdown := private.score_breakdown(private.score_call(p_session, p_at));
  v_new.lead_score := private.score_of(v_new.score_breakdown);
  v_new.click_is_signed := p_session.marketing_consent and coalesce(
    v_signed ->> 'gclid', v_signed ->> 'wbraid', v_signed ->> 'gbraid') is not null;
  if p_session.marketing_consent then
    v_new.phone := coalesce(v_signed ->> 'phone', p_event ->> 'phone');
    -- The hash of the same number.
    v_new.caller_hash :=
      case when v_signed ? 'phone' then v_signed else p_event end ->> 'callerHash';
    v_new.caller_key_id :=
      case when v_signed ? 'phone' then v_signed else p_event end ->> 'callerKeyId';
    v_new.gclid := p_session.gclid;
    v_new.wbraid := p_session.wbraid;
    v_new.gbraid := p_session.gbraid;
    v_new.clicked_at := p_session.clicked_at;
    if v_new.click_is_signed then
      v_new.gclid := v_signed ->> 'gclid';
      v_new.wbraid := v_signed ->> 'wbraid';
      v_new.gbraid := v_signed ->> 'gbraid';
      v_new.clicked_at := private.see_click(v_new.site_id, p_at,
        v_signed || jsonb_build_object('visitor', p_session.visitor_id));
    elsif v_new.clicked_at is null and coalesce(
        p_event ->> 'gclid', p_event ->> 'wbraid', p_event ->> 'gbraid') is not null then
      v_new.gclid := p_event ->> 'gclid';
      v_new.wbraid := p_event ->> 'wbraid';
      v_new.gbraid := p_event ->> 'gbraid';
      v_new.clicked_at := private.see_click(v_new.site_id, p_at,
        p_event || jsonb_build_object('visitor', p_session.visitor_id));
    end if;
  end if;
  loop
    select c.id into v_id from public.calls c
      where c.site_id = v_new.site_id and c.intent_stamp = v_new.intent_stamp for update;
    if v_id is not null then
      perform private.merge_call(v_id, v_new);
      return 0;
    end if;
    insert into public.calls
        (site_id, session_id, visitor_id, reported_by, intent_stamp, channel, phone, caller_hash,
        caller_key_id, gclid, wbraid, gbraid, clicked_at, marketing_consent, lead_score,
        score_breakdown, page_url, called_at, created_at, updated_at, signed_at, click_is_signed)
      values (v_new.site_id, v_new.session_id, v_new.visitor_id, v_new.reported_by,
        v_new.intent_stamp, v_new.channel, v_new.phone, v_new.caller_hash,
        v_new.caller_key_id, v_new.gclid, v_new.wbraid, v_new.gbraid, v_new.clicked_at,
        v_new.marketing_consent, v_new.lead_score, v_new.score_breakdown, v_new.page_url,
        v_new.called_at, private.current_moment(), private.current_moment(), v_new.signed_at,
        v_new.click_is_signed)
      on conflict (site_id, intent_stamp) do nothing
      returning id into v_id;
    if v_id is not null then
      perform private.emit_signal(v_id, 'INTENT_CAPTURED', p_at);
      return 1;
    end if;
  end loop;   -- somebody else stored it between our read and our insert
end
$$;
create function private.merge_call(p_id uuid, p_new public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_old public.calls;
  v_call public.calls;
  v_is_visit boolean;      -- the tracker's first report of the call
  v_is_better boolean;     -- signed, while the call was not
  v_is_worse boolean;      -- not signed, while the call is
  v_takes_click boolean;
begin
  select c.* into v_old from public.calls c where c.id = p_id;
  v_is_visit := p_new.reported_by = 'tracker' and v_old.reported_by = 'system';
  v_is_better := p_new.signed_at is not null and v_old.signed_at is null;
  v_is_worse := p_new.signed_at is null and v_old.signed_at is not null;
  v_call := v_old;
  if v_is_visit then
    v_call.reported_by := 'tracker';
    v_call.session_id := p_new.session_id;
    v_call.visitor_id := p_new.visitor_id;
    v_call.channel := p_new.channel;
    v_call.page_url := coalesce(p_new.page_url, v_old.page_url);
    v_call.marketing_consent := p_new.marketing_consent;
  end if;
  v_call.called_at := case
    when v_is_better then p_new.called_at
    when v_is_worse then v_old.called_at
    else least(v_old.called_at, p_new.called_at) end;
  if v_is_visit or v_call.called_at <> v_old.called_at then
    v_call.score_breakdown := coalesce(
      (select private.score_breakdown(private.score_call(s, v_call.called_at))
        from public.sessions s where s.id = v_call.session_id), v_old.score_breakdown);
  end if;
  v_call.marketing_consent := v_call.marketing_consent
    and not private.refused_marketing(v_call.site_id, v_call.visitor_id);
  v_takes_click := p_new.clicked_at is not null and (v_old.clicked_at is null
    or not v_old.click_is_signed and (v_is_visit or p_new.click_is_signed));
  if v_takes_click then
    v_call.gclid := p_new.gclid;
    v_call.wbraid := p_new.wbraid;
    v_call.gbraid := p_new.gbraid;
    v_call.clicked_at := p_new.clicked_at;
    v_call.click_is_signed := p_new.click_is_signed;
  end if;
  v_call.phone := case when v_is_worse
    then coalesce(v_old.phone, p_new.phone) else coalesce(p_new.phone, v_old.phone) end;
  if v_call.phone is distinct from v_old.phone
     or v_old.caller_hash is null and p_new.caller_hash is not null then
    v_call.caller_hash := p_new.caller_hash;   -- of the same number
    v_call.caller_key_id := p_new.caller_key_id;
  end if;
  if not v_call.marketing_consent then
    v_call.phone := null;
    v_call.caller_hash := null;
    v_call.caller_key_id := null;
    v_call.gclid := null;
    v_call.wbraid := null;
    v_call.gbraid := null;
    v_call.clicked_at := null;
    v_call.click_is_signed := false;
  end if;
  if private.number_is_typed(v_old) and (v_call.marketing_consent or not v_old.marketing_consent)
  then
    v_call.phone := v_old.phone;
    v_call.caller_hash := v_old.caller_hash;
    v_call.caller_key_id := v_old.caller_key_id;
  end if;
  update public.calls c
    set reported_by = v_call.reported_by,
        session_id = v_call.session_id,
        visitor_id = v_call.visitor_id,
        channel = v_call.channel,
        page_url = v_call.page_url,
        score_breakdown = v_call.score_breakdown,
        lead_score = private.score_of(v_call.score_breakdown),
        marketing_consent = v_call.marketing_consent,
        phone = v_call.phone,
        caller_hash = v_call.caller_hash,
        caller_key_id = v_call.caller_key_id,
        gclid = v_call.gclid,
        wbraid = v_call.wbraid,
        gbraid = v_call.gbraid,
        clicked_at = v_call.clicked_at,
        click_is_signed = v_call.click_is_signed,
        called_at = v_call.called_at,
        signed_at = least(v_old.signed_at, p_new.signed_at),
        updated_at = private.current_moment()
    where c.id = p_id
    returning * into v_call;
  if v_is_visit
      and v_old.visitor_id = v_old.intent_stamp
      and v_old.session_id <> v_call.session_id then
    -- The old visit stood in until the tracker reported the real one.
    update private.events e set session_id = v_call.session_id
      where e.session_id = v_old.session_id;
    delete from public.sessions s where s.id = v_old.session_id
      and not exists (select from public.calls c where c.session_id = s.id);
  end if;
  if not v_call.marketing_consent and v_old.marketing_consent then
    perform private.silence_calls(array[p_id]);
  elsif v_call.clicked_at is not null and v_old.clicked_at is null then
    perform private.use_late_click(v_call);
  elsif v_takes_click and v_call.marketing_consent and (v_call.gclid, v_call.wbraid, v_call.gbraid)
      is distinct from (v_old.gclid, v_old.wbraid, v_old.gbraid) then
    perform private.use_better_click(v_call, v_old);
  end if;
end
$$;

-- 05_leads/undo_step.sql
create function private.last_step(p_call public.calls) returns public.transition_proofs
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_step public.transition_proofs;
begin
  if p_call.status = 'sealed' then
    select p.* into v_step
      from public.sales s join public.transition_proofs p on p.entity_id = s.id
      where s.call_id = p_call.id and s.status = 'CONFIRMED'
        and p.contract = 'sale' and p.from_state = p.to_state
        and p.occurred_at >= p_call.status_at and not p.facts ? 'undo'
        and not exists (select from public.transition_proofs u
          where u.entity_id = s.id and u.facts ->> 'undoes' = p.id::text)
      -- Not by time: a correction that waited for another one began before it.
      order by (p.facts ->> 'version')::int desc limit 1;
  end if;
  if v_step.id is null then
    select p.* into v_step from public.transition_proofs p
      where p.id = p_call.last_proof_id and not p.facts ? 'undo';
  end if;
  return v_step;
end
$$;
create function private.step_json(p_step public.transition_proofs) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'proofId', p_step.id,
    'kind', case
      when p_step.contract = 'sale' and p_step.from_state = p_step.to_state then 'correct'
      when p_step.from_state = 'DRAFT' and p_step.to_state = 'CANCELED' then 'discard'
      when p_step.to_state in ('sealed', 'CONFIRMED') then 'seal'
      when p_step.to_state in ('cancelled', 'CANCELED') then 'cancel'
      else p_step.to_state end,
    'until', p_step.occurred_at + private.undo_window(),
    'byYou', coalesce(p_step.actor_id = auth.uid(), false),
    'amountCents', (p_step.facts ->> 'amountCents')::bigint,
    'beforeCents', (p_step.facts ->> 'amountBeforeCents')::bigint,
    'currency', p_step.facts ->> 'currency')
  where p_step.occurred_at > private.current_moment() - private.undo_window()
$$;
create function private.undo_json(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$ select private.step_json(private.last_step(p_call)) $$;
create function private.undo_step(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_call public.calls;
  v_step public.transition_proofs;
begin
  select c.* into v_call from public.calls c
    where c.id = (p_args ->> 'id')::uuid and c.site_id = p_site.id for update;
  if v_call.status = 'sealed' then
    -- A correction locks its sale alone: one that is under way is seen by what follows.
    perform from public.sales s where s.call_id = v_call.id and s.status = 'CONFIRMED' for update;
  end if;
  v_step := private.last_step(v_call);
  if v_step.id is null then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_step.occurred_at < private.current_moment() - private.undo_window() then
    perform private.fail(409, 'UNDO_EXPIRED');
  end if;
  if v_step.id is distinct from coalesce((p_args ->> 'proofId')::uuid,
       case when v_step.actor_id is not distinct from p_actor.id then v_step.id end)
     or v_call.version <> coalesce((p_args ->> 'expectedVersion')::int, v_call.version) then
    perform private.fail(409, 'STALE_VERSION', private.last_change(v_call));
  end if;
  if v_step.contract = 'sale' then
    return private.correct_amount(p_site, p_actor, jsonb_build_object(
      'id', v_step.entity_id,
      'amountCents', v_step.facts -> 'amountBeforeCents',
      'valueSource', coalesce(v_step.facts ->> 'sourceBefore', 'OPERATOR'),
      'undoes', v_step.id,
      'requestHash', p_args ->> 'requestHash'));
  end if;
  if v_step.from_state = 'sealed' and v_step.facts ? 'saleId' then
    p_args := p_args || jsonb_build_object('saleId', v_step.facts -> 'saleId');
  end if;
  return private.move_call(p_site, p_actor, p_args || jsonb_build_object(
    'to', v_step.from_state, 'isUndo', true, 'expectedVersion', v_call.version));
end
$$;

-- 05_leads/withdraw_marketing.sql
create function private.withdraw_marketing(p_site_id uuid, p_visitor_id text) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_session_ids uuid[];
  v_call_ids uuid[];
  v_gclids text[];
  v_wbraids text[];
  v_gbraids text[];
begin
  select array_agg(t.gclid), array_agg(t.wbraid), array_agg(t.gbraid)
    into v_gclids, v_wbraids, v_gbraids
    from (
      select s.gclid, s.wbraid, s.gbraid from public.sessions s
      where s.site_id = p_site_id and s.visitor_id = p_visitor_id and s.clicked_at is not null
      union
      select c.gclid, c.wbraid, c.gbraid from public.calls c
      where c.site_id = p_site_id and c.visitor_id = p_visitor_id
        and c.clicked_at is not null) t;
  v_session_ids := array(
    select s.id from public.sessions s
    where s.site_id = p_site_id and s.visitor_id = p_visitor_id and s.marketing_consent);
  update public.sessions s
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        landing_url = private.without_click_ids(s.landing_url),
        referrer = private.without_click_ids(s.referrer)
    where s.id = any (v_session_ids);
  update private.events e set url = private.without_click_ids(e.url)
    where e.session_id = any (v_session_ids) and e.url ~* '(clid|braid)(=|%3D)';
  -- Failed events too: they may wait for an operator for a long time.
  update public.ingest_fallback_buffer b set payload = private.without_marketing(b.payload)
    where b.status = 'FAILED' and b.site_id = p_site_id
      and b.payload ->> 'visitor' = p_visitor_id;
  v_call_ids := array(
    select c.id from public.calls c
    where c.site_id = p_site_id and c.visitor_id = p_visitor_id order by c.id for update);
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        click_is_signed = false, phone = null, caller_hash = null, caller_key_id = null,
        page_url = private.without_click_ids(c.page_url), updated_at = private.current_moment()
    where c.id = any (v_call_ids) and c.marketing_consent;
  perform private.silence_calls(v_call_ids);
  -- Sales from elsewhere that came with a click of this visitor and happened before the choice. One
  -- that belongs to a lead follows the choice of that lead's visitor: others can come with the same
  -- click id, in a link that was passed on.
  perform private.silence_sales(array(
    select s.id from public.sales s
    where s.site_id = p_site_id and s.call_id is null
      and (s.gclid = any (v_gclids) or s.wbraid = any (v_wbraids) or s.gbraid = any (v_gbraids))
      and s.occurred_at < (private.newest_choice(p_site_id, p_visitor_id)).chosen_at));
end
$$;
create function private.silence_calls(p_call_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  if cardinality(p_call_ids) = 0 then
    return;
  end if;
  update public.marketing_signals g
    set dispatch_status = 'FAILED', last_error = 'NO_CONSENT', next_retry_at = null,
        provider_error_code = null, provider_error_category = null,
        updated_at = private.current_moment()
    where g.call_id = any (p_call_ids)
      and (g.dispatch_status = 'PENDING'
        or (g.dispatch_status = 'FAILED' and g.provider_error_category = 'AUTH'));
  perform private.silence_sales(array(
    select s.id from public.sales s where s.call_id = any (p_call_ids)
    union
    select s.id from public.sales s where s.sibling_call_id = any (p_call_ids)));
end
$$;
create function private.silence_sales(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_is_sent boolean;
begin
  for v_sale in
    select s.* from public.sales s where s.id = any (p_sale_ids) order by s.id for update
  loop
    -- What Google has stays. Its order id is enough to correct it, so we delete the identifiers
    -- here too.
    -- This waits for answers under way: what they delivered is seen below.
    perform private.forget_identifiers(array[v_sale.id]);
    v_is_sent := exists (select from private.standing_dispatches d where d.sale_id = v_sale.id);
    update public.sales s
      set delivery_block = case when v_is_sent then s.delivery_block else 'NO_CONSENT' end,
          gclid = null, wbraid = null, gbraid = null, clicked_at = null, customer_hash = null,
          email_hash = null, caller_hash = null, caller_key_id = null,
          note = case when v_is_sent then s.note end, updated_at = private.current_moment()
      where s.id = v_sale.id;
    perform private.act(('system', null)::private.actor, 'CONSENT_WITHDRAWN');
    -- This closes what waits. What Google may have can still be taken back.
    perform private.follow_ledger(v_sale.id);
  end loop;
end
$$;
create function private.use_late_click(p_call public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_stage text := case p_call.status
    when 'qualified' then 'SEAL_PENDING'
    when 'meeting' then 'MEETING_BOOKED' end;
  v_sale public.sales;
begin
  if p_call.status <> all (private.ended_lead_states()) then
    perform private.emit_signal(p_call.id, 'INTENT_CAPTURED', p_call.called_at);
    if v_stage is not null then
      perform private.emit_signal(p_call.id, v_stage, p_call.status_at);
    end if;
  end if;
  for v_sale in
    select s.* from public.sales s
    where s.call_id = p_call.id and s.delivery_block = 'NO_CLICK_ID' order by s.id for update
  loop
    update public.sales s
      set gclid = p_call.gclid, wbraid = p_call.wbraid, gbraid = p_call.gbraid,
          clicked_at = p_call.clicked_at,
          delivery_block = private.delivery_block_of(p_call), updated_at = private.current_moment()
      where s.id = v_sale.id;
    if v_sale.status = 'CONFIRMED' then
      perform private.act(('system', null)::private.actor, 'CLICK_FOUND');
      perform private.follow_ledger(v_sale.id);
    end if;
  end loop;
end
$$;
create function private.use_better_click(p_call public.calls, p_old public.calls) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
begin
  update public.marketing_signals g
    set conversion_value =
          private.decayed_value(s.default_aov_cents, p_call.clicked_at, g.occurred_at),
        updated_at = v_now
    from public.sites s
    where g.call_id = p_call.id and s.id = g.site_id and g.attempt_count = 0;
  for v_sale in
    select s.* from public.sales s
    where s.call_id = p_call.id and s.delivery_block is null
      and (s.gclid, s.wbraid, s.gbraid)
        is not distinct from (p_old.gclid, p_old.wbraid, p_old.gbraid)
    order by s.id for update
  loop
    -- Waits for a claim or an answer under way: what they did is seen below.
    perform from private.queue_open q where q.sale_id = v_sale.id order by q.id for update;
    continue when exists (select from public.offline_conversion_queue q
        where q.sale_id = v_sale.id and q.attempt_count > 0)
      or exists (select from public.provider_dispatches d where d.sale_id = v_sale.id);
    update public.sales s
      set gclid = p_call.gclid, wbraid = p_call.wbraid, gbraid = p_call.gbraid,
          clicked_at = p_call.clicked_at, updated_at = v_now
      where s.id = v_sale.id;
    update public.offline_conversion_queue q
      set click_expires_at = p_call.clicked_at + private.click_life(),
          not_before = greatest(q.not_before,
            p_call.clicked_at + make_interval(hours => t.click_min_age_hours)),
          updated_at = v_now
      from public.sites t
      where q.sale_id = v_sale.id and t.id = q.site_id and q.kind = 'CONVERSION'
        and q.state = any (private.waiting_states()) and q.claim_token is null;
  end loop;
end
$$;

-- 06_billing/billing_credits.sql
create table private.billing_credits (
  id uuid primary key,
  site_id uuid not null references public.sites (id),
  day date not null,
  units bigint not null,
  day_events bigint not null,
  reason_hash text not null,
  proof_id uuid not null,
  created_at timestamptz not null,
  constraint one_credit_per_day_units_and_reason unique (site_id, day, units, reason_hash),
  constraint credit_is_at_most_the_day check (units between 1 and day_events),
  constraint reason_hash_is_sha_256 check (reason_hash ~ '^[0-9a-f]{64}$')
);
create function public.credit_billed_day(
  p_public_id text, p_day date, p_units bigint, p_reason text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_site_id uuid;
  v_credit private.billing_credits;
  v_credited bigint;
  v_is_new boolean;
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  elsif p_day is null or v_from + interval '24 hours' > v_now then
    perform private.refuse_setting('day');
  elsif p_units is null or p_units < 1 then
    perform private.refuse_setting('units');
  elsif not private.is_plain_text(p_reason, 200) then
    perform private.refuse_setting('reason');
  end if;
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('invoice/' || v_site_id, 0));
  select c.* into v_credit from private.billing_credits c
    where c.site_id = v_site_id and c.day = p_day and c.units = p_units
      and c.reason_hash = private.sha256_hex(p_reason);
  v_is_new := v_credit.id is null;
  select coalesce(sum(c.units), 0) into v_credited from private.billing_credits c
    where c.site_id = v_site_id and c.day = p_day;
  if v_is_new then
    select d.events into v_credit.day_events
      from private.daily_counts(v_site_id, v_from, v_from + interval '24 hours') d;
    if v_credited + p_units > v_credit.day_events then
      perform private.fail(409, 'CREDIT_TOO_LARGE',
        jsonb_build_object('events', v_credit.day_events, 'credited', v_credited));
    end if;
    v_credited := v_credited + p_units;
    v_credit.id := private.uuid_v7();
    v_credit.site_id := v_site_id;
    v_credit.day := p_day;
    v_credit.units := p_units;
    v_credit.reason_hash := private.sha256_hex(p_reason);
    v_credit.created_at := v_now;
    v_credit.proof_id := private.prove(v_site_id, ('system', null)::private.actor,
      jsonb_build_object(
        'contract', 'credit',
        'contractVersion', 'credit/1',
        'entityId', v_credit.id,
        'to', 'credited',
        'facts', jsonb_build_object(
          'day', p_day, 'units', p_units, 'dayEvents', v_credit.day_events),
        'note', p_reason,
        'requestHash', v_credit.reason_hash));
    insert into private.billing_credits values (v_credit.*);
  end if;
  return jsonb_build_object(
    'creditId', v_credit.id,
    'proofId', v_credit.proof_id,
    'isNew', v_is_new,
    'events', v_credit.day_events,
    'credited', v_credited);
end
$$;
create function private.invoice_of_credit(p_credit private.billing_credits) returns text
language sql stable security definer set search_path = ''
as $$
  select v.year_month from public.invoices v
  where v.site_id = p_credit.site_id
    and v.credits @> jsonb_build_array(jsonb_build_object('id', p_credit.id))
$$;
create function private.credit_cents(p_line jsonb) returns bigint
language sql immutable set search_path = ''
as $$
  select private.overage_cents(private.overage_events(t.rest - t.units, t.monthly_limit), t.price)
    - private.overage_cents(private.overage_events(t.rest, t.monthly_limit), t.price)
  from (
    select (p_line ->> 'monthEvents')::bigint - (p_line ->> 'creditedBefore')::bigint as rest,
      (p_line ->> 'units')::bigint as units,
      (p_line ->> 'monthlyLimit')::bigint as monthly_limit,
      (p_line ->> 'overageCentsPer1000')::bigint as price) t
$$;

-- 06_billing/invoices.sql
create table public.invoices (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  event_count bigint not null,
  plan_name text,
  monthly_limit bigint,
  overage_cents_per_1000 bigint not null,
  currency text not null,
  base_cents bigint not null,
  overage_events bigint not null,
  overage_cents bigint not null,
  adjustments jsonb not null,
  adjustment_cents bigint not null,
  total_cents bigint not null,
  days jsonb not null,
  events_digest text not null,
  content_hash text not null,
  due_at timestamptz not null,
  frozen_at timestamptz not null,
  credits jsonb not null,
  credit_cents bigint not null,
  primary key (site_id, year_month),
  constraint invoice_is_for_a_month check (year_month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  constraint counts_are_not_negative check (
    event_count >= 0 and overage_events >= 0 and overage_events <= event_count),
  constraint total_is_the_sum_of_its_lines check (
    total_cents = base_cents + overage_cents + adjustment_cents + credit_cents),
  constraint credits_are_never_a_charge check (credit_cents <= 0),
  constraint hashes_are_sha_256 check (
    events_digest ~ '^[0-9a-f]{64}$' and content_hash ~ '^[0-9a-f]{64}$')
);

-- 06_billing/billing_credits.sql
create function private.invoice_credits(p_invoice public.invoices) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_credit record;
  v_terms public.invoices;
  v_line jsonb;
  v_lines jsonb := '[]';
begin
  for v_credit in
    select c.*, p.hash, to_char(c.day, 'YYYY-MM') as year_month
    from private.billing_credits c join public.transition_proofs p on p.id = c.proof_id
    where c.site_id = p_invoice.site_id and private.invoice_of_credit(c) is null
      and to_char(c.day, 'YYYY-MM') <= p_invoice.year_month
    order by c.day, c.id
  loop
    v_terms := p_invoice;
    if v_credit.year_month < p_invoice.year_month then
      select v.* into v_terms from public.invoices v
        where v.site_id = p_invoice.site_id and v.year_month = v_credit.year_month;
      continue when not found;
      v_terms.event_count :=
        private.events_of(private.invoice_days(p_invoice.site_id, v_credit.year_month));
    end if;
    v_line := jsonb_build_object(
      'id', v_credit.id,
      'day', v_credit.day,
      'units', v_credit.units,
      'dayEvents', v_credit.day_events,
      'monthEvents', v_terms.event_count,
      'creditedBefore', (
        select coalesce(sum((l ->> 'units')::bigint), 0) from (
          select jsonb_array_elements(v.credits) as l from public.invoices v
          where v.site_id = p_invoice.site_id
          union all select jsonb_array_elements(v_lines)) known
        where left(l ->> 'day', 7) = v_credit.year_month),
      'monthlyLimit', v_terms.monthly_limit,
      'overageCentsPer1000', case
        when v_terms.currency = p_invoice.currency then v_terms.overage_cents_per_1000
        else 0 end,
      'proofId', v_credit.proof_id,
      'proofHash', v_credit.hash);
    v_lines := v_lines || (v_line || jsonb_build_object('cents', private.credit_cents(v_line)));
  end loop;
  return v_lines;
end
$$;
create function private.listed_credits(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', t.id,
    'day', t.day,
    'units', t.units,
    'dayEvents', t.day_events,
    'reason', private.readable_note(p_site_id, t.note),
    'proofId', t.proof_id,
    'creditedAt', private.utc_text(t.created_at),
    'inInvoice', t.in_invoice) order by t.created_at desc, t.id desc), '[]')
  from (
    select c.*, n.note, private.invoice_of_credit(c) as in_invoice
    from private.billing_credits c left join private.proof_notes n on n.proof_id = c.proof_id
    where c.site_id = p_site_id order by c.created_at desc, c.id desc limit 12) t
$$;

-- 06_billing/billing_months.sql
create function private.billed_rows_kept() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;
create function private.billing_month(p_at timestamptz) returns text
language sql immutable set search_path = ''
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM')
$$;
create function private.month_start(p_year_month text) returns timestamptz
language plpgsql immutable set search_path = ''
as $$
begin
  if p_year_month is null or p_year_month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'yearMonth'));
  end if;
  return (p_year_month || '-01')::timestamp at time zone 'UTC';
end
$$;
create function private.month_end(p_year_month text) returns timestamptz
language sql immutable set search_path = ''
as $$
  select ((private.month_start(p_year_month) at time zone 'UTC') + interval '1 month')
    at time zone 'UTC'
$$;

-- 06_billing/billing_overview.sql
create function private.days_with_events(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    jsonb_agg(jsonb_build_object('day', d.day, 'events', d.events) order by d.day), '[]')
  from private.daily_counts(p_site_id, p_from, p_to) d where d.events > 0
$$;
create function public.billing_overview(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_now timestamptz := private.current_moment();
  v_month text := private.billing_month(v_now);
  v_from timestamptz := private.month_start(v_month);
  v_plan public.site_plans;
  v_usage public.site_usage_monthly;
  v_days jsonb := private.days_with_events(v_site.id, v_from, private.month_end(v_month));
begin
  select p.* into v_plan from public.site_plans p where p.site_id = v_site.id;
  select u.* into v_usage from public.site_usage_monthly u
    where u.site_id = v_site.id and u.year_month = v_month;
  return jsonb_build_object(
    'now', private.utc_text(v_now),
    'yearMonth', v_month,
    'currency', v_plan.currency,
    'plan', jsonb_build_object(
      'name', v_plan.name,
      'monthlyLimit', v_plan.monthly_limit,
      'enforcement', v_plan.enforcement,
      'capEvents', private.plan_cap(v_plan),
      'leadSharePercent', v_plan.lead_share_percent,
      'openEvents', private.open_events(v_plan),
      'signedEvents', private.signed_events(
        v_site.id, private.plan_cap(v_plan) - private.open_events(v_plan)),
      'basePriceCents', v_plan.base_price_cents,
      'overageCentsPer1000', v_plan.overage_cents_per_1000),
    'used', private.events_of(v_days),
    'days', v_days,
    -- The forecast learns weekdays from these.
    'daysBefore', private.days_with_events(v_site.id, v_from - interval '672 hours', v_from),
    'drops', private.dropped_events(v_site.id, (v_from at time zone 'UTC')::date),
    'reconciledAt', private.utc_text(v_usage.reconciled_at),
    'drift', v_usage.drift,
    'credits', private.listed_credits(v_site.id),
    'unusualDays', jsonb_path_query_array(
      private.days_json(v_site.id, (v_from at time zone 'UTC')::date,
        (v_now at time zone 'UTC')::date), '$[*] ? (@.isUnusual == true)'));
end
$$;
create function public.list_counted_events(
  p_public_id text, p_year_month text default null, p_cursor text default null,
  p_limit int default 100
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_month text := coalesce(p_year_month, private.billing_month(private.current_moment()));
  v_from timestamptz := private.month_start(v_month);
  v_to timestamptz := private.month_end(v_month);
  v_after_at timestamptz;
  v_after_key bytea;
  v_limit int := least(greatest(p_limit, 1), 500);
  v_rows jsonb;
  v_total bigint;
begin
  if p_cursor is null then
    select sum(d.events - d.purged) into v_total
      from private.daily_counts(v_site.id, v_from, v_to) d;
  elsif p_cursor !~ '^[0-9]{4}-[0-9T:.-]{15,22}Z_[0-9a-f]{64}$' then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'cursor'));
  end if;
  v_after_at := greatest(v_from, split_part(p_cursor, '_', 1)::timestamptz);
  v_after_key := decode(coalesce(split_part(p_cursor, '_', 2), ''), 'hex');
  select coalesce(jsonb_agg(jsonb_build_object(
      'at', private.exact_time(t.created_at),
      'name', t.event_name,
      'key', encode(t.idempotency_key, 'hex'))
      order by t.created_at, t.idempotency_key), '[]')
    into v_rows
    from (
      select i.created_at, i.idempotency_key, i.event_name from public.ingest_idempotency i
      where i.site_id = v_site.id and i.created_at >= v_after_at and i.created_at < v_to
        and (i.created_at, i.idempotency_key) > (v_after_at, v_after_key)
      order by i.created_at, i.idempotency_key limit v_limit) t;
  return jsonb_build_object(
    'yearMonth', v_month,
    'total', v_total,
    'events', v_rows,
    'next', case
      when jsonb_array_length(v_rows) = v_limit
        then v_rows -> -1 ->> 'at' || '_' || (v_rows -> -1 ->> 'key') end);
end
$$;

-- 06_billing/count_days.sql
create function private.count_page(p_site_id uuid, p_day date, p_until timestamptz) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_page constant int := 1000;
  v_start timestamptz := p_day::timestamp at time zone 'UTC';
  v_end timestamptz := v_start + interval '24 hours';
  v_day private.counted_days;
  v_next record;
begin
  select d.* into v_day from private.counted_days d where d.site_id = p_site_id and d.day = p_day;
  select count(*) as events, max(t.created_at) as last_at,
      string_agg(t.idempotency_key, ''::bytea order by t.created_at, t.idempotency_key) as keys
    into v_next from (
      select i.created_at, i.idempotency_key from public.ingest_idempotency i
      where i.site_id = p_site_id and i.created_at >= coalesce(v_day.last_at, v_start)
        and i.created_at < least(v_end, p_until)
        and (v_day.last_at is null
          or (i.created_at, i.idempotency_key) > (v_day.last_at, v_day.last_key))
      order by i.created_at, i.idempotency_key limit v_page) t;
  if v_next.events < v_page and p_until < v_end then
    return false;
  end if;
  if v_next.events > 0 then
    v_day.digest := sha256(coalesce(v_day.digest, '') || v_next.keys);
    v_day.last_at := v_next.last_at;
    v_day.last_key := substr(v_next.keys, octet_length(v_next.keys) - 31);
  end if;
  if v_next.events < v_page then
    v_day.closed_at := private.current_moment();
  end if;
  insert into private.counted_days as d
      (site_id, day, events, digest, last_at, last_key, closed_at)
    values (p_site_id, p_day, v_next.events, v_day.digest, v_day.last_at, v_day.last_key,
      v_day.closed_at)
    on conflict (site_id, day) do update set events = d.events + excluded.events,
      digest = excluded.digest, last_at = excluded.last_at, last_key = excluded.last_key,
      closed_at = excluded.closed_at;
  return true;
end
$$;
create function private.count_days(p_site_id uuid, p_until timestamptz, p_pages int default 10)
returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_day date;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtextextended('count_days/' || p_site_id, 0)) then
    return null;
  end if;
  perform private.reopen_changed_days(p_site_id);
  for v_turn in 1 .. p_pages + 1 loop
    select least(
        (select min(d.day) from private.counted_days d
          where d.site_id = p_site_id and d.closed_at is null),
        (select (i.created_at at time zone 'UTC')::date from public.ingest_idempotency i
          where i.site_id = p_site_id and i.created_at < p_until and i.created_at >= (
            select coalesce(max(d.day) + 1, '-infinity')::timestamp at time zone 'UTC'
            from private.counted_days d where d.site_id = p_site_id and d.closed_at is not null)
          order by i.created_at limit 1))
      into v_day;
    if v_day is null then
      return true;
    end if;
    exit when v_turn > p_pages;
    if not private.count_page(p_site_id, v_day, p_until) then
      return true;
    end if;
  end loop;
  return false;
end
$$;
create function private.daily_counts(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns table (day date, events bigint, purged bigint)
language sql stable security definer set search_path = ''
as $$
  select (g.since at time zone 'UTC')::date,
    case when d.closed_at is not null then d.events else coalesce(d.events, 0)
      + (select count(*) from public.ingest_idempotency i where i.site_id = p_site_id
           and i.created_at >= g.since and i.created_at < g.since + interval '24 hours'
           and i.created_at > coalesce(d.last_at, '-infinity'))
      + (select count(*) from public.ingest_idempotency i where i.site_id = p_site_id
           and i.created_at = d.last_at and i.idempotency_key > d.last_key) end,
    coalesce(d.purged, 0)
  from generate_series(p_from, p_to - interval '24 hours', interval '24 hours') g (since)
  left join private.counted_days d on d.site_id = p_site_id
    and d.day = (g.since at time zone 'UTC')::date
    and not exists (
      select from private.changed_days c where c.site_id = p_site_id and c.day = d.day)
$$;

-- 06_billing/counted_days.sql
create table private.counted_days (
  site_id uuid not null references public.sites (id),
  day date not null,
  events bigint not null,
  digest bytea,
  last_at timestamptz,
  last_key bytea,
  closed_at timestamptz,
  purged bigint not null default 0,
  primary key (site_id, day)
);
create table private.changed_days (
  site_id uuid not null,
  day date not null,
  written_by xid8 not null
);
create function private.note_changed_day(p_site_id uuid, p_at timestamptz) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_day date := (p_at at time zone 'UTC')::date;
begin
  insert into private.changed_days (site_id, day, written_by)
    select p_site_id, v_day, pg_catalog.pg_current_xact_id()
    where not exists (select from private.changed_days c where c.site_id = p_site_id
      and c.day = v_day and c.written_by = pg_catalog.pg_current_xact_id());
end
$$;
create function private.reopen_changed_days(p_site_id uuid) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_purgeable date :=
    ((private.current_moment() - private.billed_rows_kept()) at time zone 'UTC')::date;
begin
  with taken as (
    delete from private.changed_days c where c.site_id = p_site_id returning c.day
  )
  insert into private.counted_days (site_id, day, events)
    select distinct p_site_id, t.day, 0 from taken t
    where t.day <= (select max(d.day) from private.counted_days d where d.site_id = p_site_id)
      and (t.day > v_purgeable or not exists (select from public.invoices v
        where v.site_id = p_site_id and v.year_month = to_char(t.day, 'YYYY-MM')))
    on conflict (site_id, day) do update
      set events = 0, digest = null, last_at = null, last_key = null, closed_at = null;
end
$$;

-- 06_billing/freeze_invoices.sql
create function private.invoice_adjustments(p_site_id uuid, p_year_month text, p_currency text)
returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_lines jsonb := '[]';
  v_past record;
  v_count bigint;
  v_cents bigint;
  v_days jsonb;
begin
  for v_past in
    select v.*,
      v.event_count + coalesce(sum((a ->> 'events')::bigint), 0) as known_count,
      v.overage_cents + coalesce(sum((a ->> 'cents')::bigint), 0) as known_cents
    from public.invoices v
    left join public.invoices later on later.site_id = v.site_id and later.year_month > v.year_month
    left join jsonb_array_elements(later.adjustments) a on a ->> 'yearMonth' = v.year_month
    where v.site_id = p_site_id and v.year_month < p_year_month
      and private.month_start(v.year_month)
        > private.current_moment() - private.billed_rows_kept()
    group by v.site_id, v.year_month order by v.year_month
  loop
    v_days := private.invoice_days(p_site_id, v_past.year_month);
    v_count := private.events_of(v_days);
    continue when v_count = v_past.known_count;
    -- If the plan's currency has changed since, the count is corrected and no money is converted.
    v_cents := case
      when v_past.currency = p_currency then private.overage_cents(
        private.overage_events(v_count, v_past.monthly_limit),
        v_past.overage_cents_per_1000) - v_past.known_cents
      else 0 end;
    v_lines := v_lines || jsonb_build_object(
      'yearMonth', v_past.year_month,
      'events', v_count - v_past.known_count,
      'cents', v_cents,
      'eventCount', v_count,
      'eventsDigest', private.events_digest(v_days));
  end loop;
  return v_lines;
end
$$;
create function private.freeze_invoice(p_site public.sites, p_year_month text) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := date_trunc('second', private.current_moment());
  v_end timestamptz := private.month_end(p_year_month);
  v_plan private.plan_changes;
  v_invoice public.invoices;
begin
  select c.* into v_plan from private.plan_changes c
    where c.site_id = p_site.id and c.changed_at < v_end
    order by c.changed_at desc, c.id desc limit 1;
  v_invoice.site_id := p_site.id;
  v_invoice.year_month := p_year_month;
  v_invoice.days := private.invoice_days(p_site.id, p_year_month);
  v_invoice.events_digest := private.events_digest(v_invoice.days);
  v_invoice.event_count := private.events_of(v_invoice.days);
  v_invoice.plan_name := v_plan.name;
  v_invoice.monthly_limit := v_plan.monthly_limit;
  v_invoice.overage_cents_per_1000 := coalesce(v_plan.overage_cents_per_1000, 0);
  v_invoice.currency := coalesce(v_plan.currency, p_site.currency);
  v_invoice.base_cents := coalesce(v_plan.base_price_cents, 0);
  v_invoice.overage_events :=
    private.overage_events(v_invoice.event_count, v_plan.monthly_limit);
  v_invoice.overage_cents :=
    private.overage_cents(v_invoice.overage_events, v_invoice.overage_cents_per_1000);
  v_invoice.adjustments :=
    private.invoice_adjustments(p_site.id, p_year_month, v_invoice.currency);
  v_invoice.adjustment_cents := (
    select coalesce(sum((a ->> 'cents')::bigint), 0)
    from jsonb_array_elements(v_invoice.adjustments) a);
  v_invoice.credits := private.invoice_credits(v_invoice);
  v_invoice.credit_cents := (
    select coalesce(sum((c ->> 'cents')::bigint), 0)
    from jsonb_array_elements(v_invoice.credits) c);
  v_invoice.total_cents := v_invoice.base_cents + v_invoice.overage_cents
    + v_invoice.adjustment_cents + v_invoice.credit_cents;
  -- The 25th of the following month, and at least two weeks after the invoice is made.
  v_invoice.due_at := greatest(
    v_end + interval '24 days',
    date_trunc('day', v_now, 'UTC') + interval '14 days');
  v_invoice.frozen_at := v_now;
  v_invoice.content_hash :=
    private.sha256_hex(private.invoice_text(v_invoice, p_site.public_id));
  insert into public.invoices values (v_invoice.*);
end
$$;
create function public.freeze_invoices(p_year_month text default null, p_limit int default 20)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_month text := coalesce(p_year_month,
    private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day'));
  v_from timestamptz := private.month_start(v_month);
  v_to timestamptz := private.month_end(v_month);
  v_freezable timestamptz := v_to + interval '48 hours';
  v_started timestamptz := clock_timestamp();
  v_until timestamptz;
  v_site public.sites;
  v_found int := 0;
  v_frozen int := 0;
  v_waiting int := 0;
  v_more boolean := false;
  v_limit int := least(greatest(p_limit, 1), 500);
begin
  if v_now < v_freezable then
    return jsonb_build_object(
      'yearMonth', v_month,
      'state', 'open',
      'freezableAt', private.utc_text(v_freezable),
      'frozen', 0,
      'more', false,
      'waiting', 0);
  end if;
  for v_site in
    select s.* from public.sites s
    where not exists (
        select from public.invoices v where v.site_id = s.id and v.year_month = v_month)
      -- The first event, not exists(): the planner would read every event of every site for that.
      and ((select i.created_at from public.ingest_idempotency i
            where i.site_id = s.id and i.created_at >= v_from and i.created_at < v_to
            order by i.created_at limit 1) is not null
        or (coalesce(s.archived_at, v_to) >= v_from
            and exists (
              select from private.plan_changes c
              where c.site_id = s.id and c.changed_at < v_to
                and (c.base_price_cents > 0 or c.monthly_limit is not null)))
        or exists (
          select from private.billing_credits c
          where c.site_id = s.id and c.created_at >= v_from and c.created_at < v_to
            and c.day < (v_to at time zone 'UTC')::date
            and private.invoice_of_credit(c) is null))
    order by s.id limit v_limit
  loop
    v_found := v_found + 1;
    if clock_timestamp() > v_started + interval '3 seconds' then
      v_more := true;
      exit;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(hashtextextended('invoice/' || v_site.id, 0));
    continue when exists (
      select from public.invoices v where v.site_id = v_site.id and v.year_month = v_month);
    v_until := coalesce(v_until, private.settled_until());
    if v_until < v_to then
      v_waiting := v_waiting + 1;
    elsif private.count_days(v_site.id, v_to) then
      perform private.freeze_invoice(v_site, v_month);
      v_frozen := v_frozen + 1;
    else   -- more pages, or another cron is counting
      v_more := true;
    end if;
  end loop;
  return jsonb_build_object(
    'yearMonth', v_month,
    'state', 'closed',
    'freezableAt', private.utc_text(v_freezable),
    'frozen', v_frozen,
    'more', v_more or (v_found = v_limit and v_waiting = 0),
    'waiting', v_waiting);
end
$$;

-- 06_billing/invoices.sql
create function private.overage_events(p_events bigint, p_limit bigint) returns bigint
language sql immutable set search_path = ''
as $$ select greatest(0, p_events - coalesce(p_limit, p_events)) $$;
create function private.overage_cents(p_events bigint, p_cents_per_1000 bigint) returns bigint
language sql immutable set search_path = ''
as $$
  select (p_events * p_cents_per_1000 + 500) / 1000
$$;
create function private.invoice_days(p_site_id uuid, p_year_month text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'day', d.day,
    'events', d.events,
    'digest', encode(d.digest, 'hex')) order by d.day), '[]')
  from private.counted_days d
  where d.site_id = p_site_id and d.events > 0
    and d.day >= (private.month_start(p_year_month) at time zone 'UTC')::date
    and d.day < (private.month_end(p_year_month) at time zone 'UTC')::date
$$;
create function private.events_digest(p_days jsonb) returns text
language sql immutable set search_path = ''
as $$
  select private.sha256_hex(coalesce(string_agg(
    format(E'%s %s %s\n', d ->> 'day', d ->> 'events', d ->> 'digest'),
    '' order by d ->> 'day'), ''))
  from jsonb_array_elements(p_days) d
$$;
create function private.events_of(p_days jsonb) returns bigint
language sql immutable set search_path = ''
as $$
  select coalesce(sum((d ->> 'events')::bigint), 0) from jsonb_array_elements(p_days) d
$$;
create function private.invoice_text(p_invoice public.invoices, p_public_id text) returns text
language sql stable set search_path = ''
as $$
  select concat_ws(E'\n',
    'opsmantik invoice 1',
    'site ' || p_public_id,
    'month ' || p_invoice.year_month,
    'events ' || p_invoice.event_count,
    'events digest ' || p_invoice.events_digest,
    'plan ' || coalesce(to_json(p_invoice.plan_name)::text, 'none'),
    'limit ' || coalesce(p_invoice.monthly_limit::text, 'none'),
    'overage cents per 1000 ' || p_invoice.overage_cents_per_1000,
    'currency ' || p_invoice.currency,
    'base cents ' || p_invoice.base_cents,
    'overage events ' || p_invoice.overage_events,
    'overage cents ' || p_invoice.overage_cents,
    (select string_agg(
        format('adjustment %s events %s cents %s to %s %s', a ->> 'yearMonth', a ->> 'events',
          a ->> 'cents', a ->> 'eventCount', a ->> 'eventsDigest'),
        E'\n' order by a ->> 'yearMonth')
      from jsonb_array_elements(p_invoice.adjustments) a),
    (select string_agg(
        format(
          'credit %s units %s of %s cents %s events %s before %s limit %s at %s proof %s %s',
          c ->> 'day', c ->> 'units', c ->> 'dayEvents', c ->> 'cents', c ->> 'monthEvents',
          c ->> 'creditedBefore', coalesce(c ->> 'monthlyLimit', 'none'),
          c ->> 'overageCentsPer1000', c ->> 'proofId', c ->> 'proofHash'),
        E'\n' order by place)
      from jsonb_array_elements(p_invoice.credits) with ordinality t (c, place)),
    'total cents ' || p_invoice.total_cents,
    'due ' || private.utc_text(p_invoice.due_at),
    'frozen ' || private.utc_text(p_invoice.frozen_at)) || E'\n'
$$;
create function public.list_invoices(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'yearMonth', t.year_month,
      'eventCount', t.event_count,
      'totalCents', t.total_cents,
      'currency', t.currency,
      'contentHash', t.content_hash,
      'dueAt', private.utc_text(t.due_at)) order by t.year_month desc), '[]')
    from (
      select * from public.invoices v
      where v.site_id = v_site.id order by v.year_month desc limit 60) t);
end
$$;
create function public.get_invoice(p_public_id text, p_year_month text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v public.invoices;
begin
  select x.* into v from public.invoices x
    where x.site_id = v_site.id and x.year_month = p_year_month;
  if v.site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object(
    'site', v_site.public_id,
    'yearMonth', v.year_month,
    'eventCount', v.event_count,
    'eventsDigest', v.events_digest,
    'planName', v.plan_name,
    'monthlyLimit', v.monthly_limit,
    'overageCentsPer1000', v.overage_cents_per_1000,
    'currency', v.currency,
    'baseCents', v.base_cents,
    'overageEvents', v.overage_events,
    'overageCents', v.overage_cents,
    'adjustments', v.adjustments,
    'credits', (
      select coalesce(jsonb_agg(
        c || jsonb_build_object('reason', private.readable_note(v.site_id, n.note))
        order by place), '[]')
      from jsonb_array_elements(v.credits) with ordinality t (c, place)
      left join private.proof_notes n on n.proof_id = (c ->> 'proofId')::uuid),
    'totalCents', v.total_cents,
    'dueAt', private.utc_text(v.due_at),
    'frozenAt', private.utc_text(v.frozen_at),
    'contentHash', v.content_hash,
    'days', v.days,
    'corrections', (
      select coalesce(jsonb_agg(
        a || jsonb_build_object('inInvoice', l.year_month) order by l.year_month), '[]')
      from public.invoices l cross join jsonb_array_elements(l.adjustments) a
      where l.site_id = v_site.id and l.year_month > v.year_month
        and a ->> 'yearMonth' = v.year_month),
    -- From then on the first rows of the month may be purged.
    'eventsKeptUntil', private.utc_text(greatest(
      private.month_start(v.year_month) + private.billed_rows_kept(),
      private.month_end(v.year_month) + interval '2 months')));
end
$$;

-- 06_billing/ledger_watermark.sql
create table private.ledger_watermark (
  is_the_only_row boolean primary key default true check (is_the_only_row),
  settled_until timestamptz not null default '-infinity',
  noted_at timestamptz,
  horizon xid8
);
create function private.settled_until() returns timestamptz
language plpgsql security definer set search_path = ''
as $$
declare
  v_mark private.ledger_watermark;
begin
  select w.* into v_mark from private.ledger_watermark w for update skip locked;
  if not found then
    return (select w.settled_until from private.ledger_watermark w);
  end if;
  -- A horizon "from the future" was noted before this database was restored elsewhere.
  if v_mark.horizon is null
      or v_mark.horizon <= pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
      or v_mark.horizon > pg_catalog.pg_current_xact_id() then
    v_mark.settled_until := greatest(v_mark.settled_until, v_mark.noted_at - interval '1 minute');
    v_mark.noted_at := private.current_moment();
    v_mark.horizon := pg_catalog.pg_current_xact_id();
    if v_mark.horizon = pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) then
      v_mark.settled_until := greatest(v_mark.settled_until, v_mark.noted_at - interval '1 minute');
    end if;
    update private.ledger_watermark w set settled_until = v_mark.settled_until,
      noted_at = v_mark.noted_at, horizon = v_mark.horizon;
  end if;
  return v_mark.settled_until;
end
$$;

-- 06_billing/purge_expired_idempotency.sql
create function public.purge_expired_idempotency(p_limit int default 10000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_newest timestamptz := v_now - private.billed_rows_kept();
  v_limit int := least(greatest(p_limit, 1), 50000);
  v_purged int := 0;
  v_part int;
  v_month record;
begin
  for v_month in
    select v.site_id, private.month_start(v.year_month) as since,
      least(private.month_end(v.year_month), v_newest + interval '1 microsecond') as till
    from public.sites s
    cross join lateral (
      select i.created_at from public.ingest_idempotency i
      where i.site_id = s.id order by i.created_at limit 1) oldest
    join public.invoices v on v.site_id = s.id
      and v.year_month >= private.billing_month(oldest.created_at)
      and v.year_month <= private.billing_month(v_newest)
    where oldest.created_at <= v_newest
    order by v.year_month, v.site_id
  loop
    with gone as (
      delete from public.ingest_idempotency i
        using (
          select x.site_id, x.idempotency_key from public.ingest_idempotency x
          where x.site_id = v_month.site_id and x.created_at >= v_month.since
            and x.created_at < v_month.till and x.expires_at <= v_now
          order by x.created_at limit v_limit - v_purged for update skip locked) old
        where i.site_id = old.site_id and i.idempotency_key = old.idempotency_key
        returning i.created_at
    ), per_day as (
      select (g.created_at at time zone 'UTC')::date as day, count(*) as events
      from gone g group by 1
    ), noted as (
      update private.counted_days d set purged = d.purged + p.events
        from per_day p where d.site_id = v_month.site_id and d.day = p.day
    )
    select coalesce(sum(p.events), 0) into v_part from per_day p;
    v_purged := v_purged + v_part;
    exit when v_purged >= v_limit;
  end loop;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 06_billing/reconcile_usage.sql
create function public.reconcile_usage(p_limit int default 25) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_until timestamptz := private.settled_until();
  v_now timestamptz := private.current_moment();
  v_this text := private.billing_month(v_now);
  v_last text := private.billing_month(date_trunc('month', v_now, 'UTC') - interval '1 day');
  v_started timestamptz := clock_timestamp();
  v_limit int := least(greatest(p_limit, 1), 500);
  v_due record;
  v_counted boolean;
  v_usage public.site_usage_monthly;
  v_more boolean := false;
  v_waiting int := 0;
  v_ready jsonb := '[]';
  v_done jsonb := '[]';
begin
  for v_due in
    select s.id, s.public_id, m.year_month
    from public.sites s
    cross join (values (v_this), (v_last)) m(year_month)
    left join public.site_usage_monthly u on u.site_id = s.id and u.year_month = m.year_month
    where (u.reconciled_at is null or u.reconciled_at <= v_now - interval '5 minutes')
      and not exists (select from public.invoices v
        where v.site_id = s.id and v.year_month = m.year_month)
      -- The first event, not exists(): the planner may read every event of every site for that.
      and (u.site_id is not null or (
        select i.created_at from public.ingest_idempotency i where i.site_id = s.id
          and i.created_at >= private.month_start(m.year_month)
          and i.created_at < private.month_end(m.year_month)
        order by i.created_at limit 1) is not null)
    order by u.reconciled_at nulls first, s.id
  loop
    if jsonb_array_length(v_ready) = v_limit
        or clock_timestamp() > v_started + interval '500 milliseconds' then
      v_more := true;
      exit;
    end if;
    v_counted := private.count_days(v_due.id, v_until);
    continue when v_counted is null;
    if not v_counted then
      v_more := true;
    elsif exists (select from public.ingest_idempotency i
        where i.site_id = v_due.id and i.created_at >= v_until
        order by i.created_at offset 20000 limit 1) then
      v_waiting := v_waiting + 1;
    else
      v_ready := v_ready || to_jsonb(v_due);
    end if;
  end loop;
  for v_due in
    select r.* from jsonb_to_recordset(v_ready) r (id uuid, public_id text, year_month text)
  loop
    v_usage := private.recount_month(v_due.id, v_due.year_month);
    v_done := v_done || jsonb_build_object(
      'siteId', v_due.public_id,
      'yearMonth', v_due.year_month,
      'eventCount', v_usage.reconciled_count,
      'drift', v_usage.drift);
  end loop;
  return jsonb_build_object('reconciled', v_done, 'more', v_more, 'waiting', v_waiting);
end
$$;

-- 06_billing/site_plans.sql
create table public.site_plans (
  site_id uuid primary key references public.sites (id),
  name text not null,
  monthly_limit bigint,
  enforcement text not null,
  hard_cap_multiplier numeric(6, 2),
  base_price_cents bigint not null default 0,
  overage_cents_per_1000 bigint not null default 0,
  currency text not null,
  updated_at timestamptz not null,
  lead_share_percent smallint not null default 10,
  constraint plan_name_is_1_to_40_characters check (char_length(name) between 1 and 40),
  constraint limit_is_positive check (monthly_limit > 0),
  constraint enforcement_is_known check (enforcement in ('soft', 'hard')),
  constraint hard_plans_have_a_limit check (enforcement = 'soft' or monthly_limit is not null),
  constraint cap_is_not_below_the_limit check (hard_cap_multiplier >= 1),
  constraint prices_are_not_negative check (base_price_cents >= 0 and overage_cents_per_1000 >= 0),
  constraint plan_currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint lead_share_is_a_percentage check (lead_share_percent between 0 and 100)
);
create table private.plan_changes (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  changed_at timestamptz not null,
  name text not null,
  monthly_limit bigint,
  base_price_cents bigint not null,
  overage_cents_per_1000 bigint not null,
  currency text not null
);
create function private.note_plan_change() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.plan_changes
      (site_id, changed_at, name, monthly_limit, base_price_cents, overage_cents_per_1000,
        currency)
    values (new.site_id, new.updated_at, new.name, new.monthly_limit, new.base_price_cents,
      new.overage_cents_per_1000, new.currency);
  return null;
end
$$;
create function private.give_first_plan() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.site_plans (site_id, name, enforcement, currency, updated_at)
    values (new.id, 'Open', 'soft', new.currency, new.created_at);
  return null;
end
$$;
create function private.plan_cap(p_plan public.site_plans) returns bigint
language sql immutable set search_path = ''
as $$
  select case
    when p_plan.enforcement = 'hard' then p_plan.monthly_limit
    when p_plan.hard_cap_multiplier is not null
      then floor(p_plan.monthly_limit * p_plan.hard_cap_multiplier)::bigint end
$$;
create function private.open_events(p_plan public.site_plans) returns bigint
language sql immutable set search_path = ''
as $$
  select c.cap - floor(c.cap::numeric * p_plan.lead_share_percent / 100)::bigint
  from (select private.plan_cap(p_plan) as cap) c
$$;
create function public.set_lead_share(p_public_id text, p_percent int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_percent is null or p_percent not between 0 and 100 then
    perform private.refuse_setting('leadSharePercent');
  end if;
  update public.site_plans p set lead_share_percent = p_percent where p.site_id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;
create function public.set_site_plan(
  p_public_id text, p_name text, p_monthly_limit bigint, p_enforcement text, p_currency text,
  p_hard_cap_multiplier numeric default null, p_base_price_cents bigint default 0,
  p_overage_cents_per_1000 bigint default 0
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid;
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  perform private.check_currency(p_currency);
  insert into public.site_plans
      (site_id, name, monthly_limit, enforcement, hard_cap_multiplier, base_price_cents,
        overage_cents_per_1000, currency, updated_at)
    values (v_site_id, p_name, p_monthly_limit, p_enforcement, p_hard_cap_multiplier,
      p_base_price_cents, p_overage_cents_per_1000, p_currency, v_now)
    on conflict (site_id) do update
      set name = excluded.name,
          monthly_limit = excluded.monthly_limit,
          enforcement = excluded.enforcement,
          hard_cap_multiplier = excluded.hard_cap_multiplier,
          base_price_cents = excluded.base_price_cents,
          overage_cents_per_1000 = excluded.overage_cents_per_1000,
          currency = excluded.currency,
          updated_at = excluded.updated_at;
  perform private.recount_month(v_site_id, private.billing_month(v_now));
  return jsonb_build_object('ok', true);
end
$$;

-- 06_billing/site_usage_monthly.sql
create table public.site_usage_monthly (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  event_count bigint not null default 0,
  reconciled_count bigint,
  reconciled_at timestamptz,
  drift bigint,
  updated_at timestamptz not null,
  primary key (site_id, year_month),
  constraint year_month_is_a_month check (year_month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  constraint event_count_is_not_negative check (event_count >= 0)
);
create function private.lock_usage(p_site_id uuid, p_year_month text) returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_used bigint;
begin
  select u.event_count into v_used from public.site_usage_monthly u
    where u.site_id = p_site_id and u.year_month = p_year_month for update;
  if not found then
    insert into public.site_usage_monthly (site_id, year_month, updated_at)
      values (p_site_id, p_year_month, private.current_moment())
      on conflict do nothing;
    select u.event_count into v_used from public.site_usage_monthly u
      where u.site_id = p_site_id and u.year_month = p_year_month for update;
  end if;
  return v_used;
end
$$;
create function private.recount_month(p_site_id uuid, p_year_month text)
returns public.site_usage_monthly
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_from timestamptz := private.month_start(p_year_month);
  v_to timestamptz := private.month_end(p_year_month);
  v_usage public.site_usage_monthly;
  v_waiting uuid[];
  v_count bigint;
  v_late bigint;
begin
  select coalesce(array_agg(t.id), '{}') into v_waiting from (
    select b.id from public.ingest_fallback_buffer b
    where b.status in ('PENDING', 'PROCESSING', 'FAILED')   -- stored rows are always counted
      and not b.counted and b.site_id = p_site_id and b.created_at >= v_from and b.created_at < v_to
    for update skip locked) t;
  update public.ingest_fallback_buffer b set counted = true where b.id = any (v_waiting);
  insert into public.site_usage_monthly (site_id, year_month, updated_at)
    values (p_site_id, p_year_month, v_now) on conflict do nothing;
  perform from public.site_usage_monthly u
    where u.site_id = p_site_id and u.year_month = p_year_month for update;
  -- One statement, one snapshot: an admission that commits now is in both figures or in neither.
  select
    (select coalesce(sum(d.events), 0) from private.daily_counts(p_site_id, v_from, v_to) d),
    (select count(*) from public.ingest_fallback_buffer b
      where b.status in ('PENDING', 'PROCESSING', 'FAILED') and not b.counted
        and b.site_id = p_site_id and b.created_at >= v_from and b.created_at < v_to)
    into v_count, v_late;
  update public.site_usage_monthly u   -- the worker adds late ones when it stores them
    set drift = u.event_count + cardinality(v_waiting) + v_late - v_count,
        event_count = v_count - v_late,
        reconciled_count = v_count, reconciled_at = v_now, updated_at = v_now
    where u.site_id = p_site_id and u.year_month = p_year_month
    returning * into v_usage;
  return v_usage;
end
$$;

-- 06_billing/usage_origins.sql
create table private.usage_origins (
  site_id uuid not null references public.sites (id),
  day date not null,
  network text not null,
  browser text not null,
  units bigint not null,
  primary key (site_id, day, network, browser),
  constraint network_is_a_range check (network = '' or network ~ '/(24|48)$'),
  constraint units_are_positive check (units > 0)
);
create function private.note_origins(p_token uuid, p_rows jsonb) returns void
language sql security definer set search_path = ''
as $$
  with stored as materialized (
    select b.site_id, (b.created_at at time zone 'UTC')::date as day,
      coalesce(r ->> 'network', '') as network,
      case when r ->> 'reporter' = 'system' then 'system'
        else coalesce(r ->> 'browser', '') end as browser,
      count(*) as units
    from jsonb_array_elements(p_rows) r
    join public.ingest_fallback_buffer b on b.id = (r ->> 'id')::uuid
    where b.claim_token = p_token and not b.is_enrichment
    group by 1, 2, 3, 4
  ), full_days as materialized (
    select d.site_id, d.day from (select distinct s.site_id, s.day from stored s) d
    where (select count(*) from private.usage_origins o
      where o.site_id = d.site_id and o.day = d.day) >= 2000
  ), placed as (
    select s.site_id, s.day, s.browser, s.units,
      case when f.day is null or exists (
          select from private.usage_origins o where o.site_id = s.site_id and o.day = s.day
            and o.network = s.network and o.browser = s.browser)
        then s.network else '' end as network
    from stored s left join full_days f on f.site_id = s.site_id and f.day = s.day
  )
  insert into private.usage_origins as o (site_id, day, network, browser, units)
    select p.site_id, p.day, p.network, p.browser, sum(p.units) from placed p
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (site_id, day, network, browser) do update set units = o.units + excluded.units
$$;
create function private.judged_days(p_site_id uuid, p_from date, p_to date)
returns table (day date, units bigint, usual bigint, is_unusual boolean)
language sql stable security definer set search_path = ''
as $$
  with counted as materialized (
    select d.day, d.events,
      min(d.day) filter (where d.events > 0) over () as first_day
    from private.daily_counts(p_site_id, (p_from - 28)::timestamp at time zone 'UTC',
      (p_to + 1)::timestamp at time zone 'UTC') d
  )
  select c.day, c.events, u.usual,
    coalesce(c.events > 3 * u.usual and c.events >= u.usual + 100, false)
  from counted c
  left join lateral (
    select round(percentile_cont(0.5) within group (order by b.events))::bigint as usual
    from counted b where b.day >= greatest(c.day - 28, c.first_day) and b.day < c.day
    having count(*) >= 7) u on true
  where c.day >= p_from
  order by c.day
$$;
create function private.days_json(p_site_id uuid, p_from date, p_to date) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'day', d.day,
    'units', d.units,
    'usual', d.usual,
    'isUnusual', d.is_unusual) order by d.day), '[]')
  from private.judged_days(p_site_id, p_from, p_to) d
$$;
create function public.list_usage_origins(p_public_id text, p_day date default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'operator');
  v_today date := (private.current_moment() at time zone 'UTC')::date;
  v_days jsonb := private.days_json(v_site.id, v_today - 34, v_today);
  v_day date := coalesce(
    p_day,
    (select max((d ->> 'day')::date) from jsonb_array_elements(v_days) d
      where (d ->> 'isUnusual')::boolean),
    v_today);
  v_asked jsonb;
  v_origins jsonb;
  v_known bigint;
begin
  if v_day > v_today or v_day <= v_today - 90 then
    perform private.refuse_setting('day');
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'network', o.network,
      'browser', o.browser,
      'units', o.units) order by o.units desc, o.network, o.browser), '[]'),
      coalesce(sum(o.units), 0)
    into v_origins, v_known
    from private.usage_origins o where o.site_id = v_site.id and o.day = v_day;
  v_asked := private.days_json(v_site.id, v_day, v_day) -> 0;
  return v_asked || jsonb_build_object(
    'waiting', greatest(0, (v_asked ->> 'units')::bigint - v_known),
    'days', v_days,
    'origins', v_origins);
end
$$;
create function public.purge_usage_origins(p_limit int default 10000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from private.lead_room_taken t
    where t.year_month < private.billing_month(private.current_moment());
  delete from private.refused_origins r
    where r.last_at < private.current_moment() - interval '7 days';
  delete from private.usage_origins o using (
    select x.site_id, x.day, x.network, x.browser from private.usage_origins x
    where x.day <= ((private.current_moment() - private.billed_rows_kept())
      at time zone 'UTC')::date
    order by x.day limit least(greatest(p_limit, 1), 50000) for update skip locked) old
    where o.site_id = old.site_id and o.day = old.day and o.network = old.network
      and o.browser = old.browser;
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 07_sales/confirm_sale.sql
create function private.confirm_sale_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_moved jsonb := private.effect(p_args);
begin
  return (
    select private.external_sale_json(s)
      || jsonb_build_object('proof_id', v_moved -> 'proof_id')
    from public.sales s where s.id = (p_args ->> 'id')::uuid);
end
$$;
create function public.confirm_sale_and_enqueue(
  p_key_id uuid, p_confirm jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{sales}');
begin
  return private.answer_once(
    v_site_id, 'sale.confirm', p_key, p_request_hash, 'private.confirm_sale_effect'::regproc,
    jsonb_build_object(
      'effect', 'sale',
      'to', 'CONFIRMED',
      'id', p_confirm -> 'id',
      'separateSale', p_confirm -> 'separateSale',
      'site', v_site_id,
      'actorKind', 'api_key',
      'actorId', p_key_id,
      'requestHash', p_request_hash));
end
$$;
create function public.confirm_sale(
  p_public_id text, p_confirm jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.confirm', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'sale',
      'to', 'CONFIRMED',
      'id', p_confirm -> 'id',
      'expectedVersion', p_confirm -> 'expectedVersion',
      'separateSale', p_confirm -> 'separateSale'))
$$;

-- 07_sales/customer_hashes.sql
create function public.purge_customer_hashes() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_purged int;
begin
  update public.sales s set customer_hash = null, email_hash = null
    where s.id = any (array(
      select x.id from public.sales x
      where (x.customer_hash is not null or x.email_hash is not null)
        and x.occurred_at <= v_now - private.adjustments_end()
        and (x.occurred_at <= v_now - private.click_life()
          or exists (select from private.delivered_sales d where d.sale_id = x.id))
      order by x.occurred_at limit 5000 for update skip locked));
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
create function public.list_caller_hashes(p_key_id text, p_limit int default 500) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'kind', t.kind, 'id', t.id, 'from', t.caller_hash, 'phoneHash', t.phone_hash)), '[]')
  from (
    (select 'call' as kind, c.id, c.caller_hash,
        case when p_key_id is null then c.caller_hash else private.phone_to_send(c) end
          as phone_hash
      from public.calls c
      where c.caller_hash is not null and c.caller_key_id is not distinct from p_key_id
      order by c.id limit least(greatest(p_limit, 1), 1000))
    union all
    (select 'sale', s.id, s.caller_hash, s.customer_hash
      from public.sales s
      where s.caller_hash is not null and s.caller_key_id = p_key_id
      order by s.id limit least(greatest(p_limit, 1), 1000))
    union all
    (select 'sale', s.id, null, s.customer_hash
      from public.sales s
      where p_key_id is null and s.customer_hash is not null and s.caller_key_id is null
      order by s.id limit least(greatest(p_limit, 1), 1000))) t
$$;
create function public.rekey_caller_hashes(p_rows jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_calls int;
  v_sales int;
begin
  if jsonb_array_length(p_rows) > 2000 then
    perform private.refuse_setting('rows');
  end if;
  perform private.lock_calls(array(
    select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r where r ->> 'kind' = 'call'));
  update public.calls c
    set caller_hash = r.line ->> 'hash',
        caller_key_id = case when r.line ->> 'hash' is not null then r.line ->> 'keyId' end
    from jsonb_array_elements(p_rows) r (line)
    where r.line ->> 'kind' = 'call' and c.id = (r.line ->> 'id')::uuid
      and c.caller_hash = r.line ->> 'from';
  get diagnostics v_calls = row_count;
  perform from public.sales s
    where s.id in (
      select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r where r ->> 'kind' = 'sale')
    order by s.id for update;
  update public.sales s
    set caller_hash = r.line ->> 'hash',
        caller_key_id = case when r.line ->> 'hash' is not null then r.line ->> 'keyId' end,
        external_hash = case when s.caller_hash is not null then s.external_hash end,
        customer_hash = case when s.delivery_block is null then s.customer_hash end
    from jsonb_array_elements(p_rows) r (line)
    where r.line ->> 'kind' = 'sale' and s.id = (r.line ->> 'id')::uuid
      and s.caller_hash is not distinct from r.line ->> 'from';
  get diagnostics v_sales = row_count;
  return jsonb_build_object('rekeyed', v_calls + v_sales);
end
$$;

-- 07_sales/sales.sql
create table public.sales (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  call_id uuid references public.calls (id),
  sibling_call_id uuid,
  external_ref text,
  status text not null,
  seal_status text not null
    generated always as (case when status = 'CONFIRMED' then 'sealed' else 'unsealed' end) stored,
  version int not null default 1,
  order_id text not null unique,
  amount_cents bigint not null,
  drafted_cents bigint,
  currency text not null,
  value_source text not null,
  occurred_at timestamptz not null,
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  customer_hash text,
  email_hash text,
  delivery_block text,
  note text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  external_hash text,
  matched_by text,
  caller_hash text,
  caller_key_id text,
  constraint sale_status_is_known check (status in ('DRAFT', 'CONFIRMED', 'CANCELED')),
  constraint order_id_fits_everywhere check (char_length(order_id) between 8 and 64),
  constraint cancelled_sales_are_worth_nothing check (
    case when status = 'CANCELED' then amount_cents = 0 else amount_cents > 0 end),
  constraint sale_currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint value_source_is_known check (value_source in ('OPERATOR', 'PREDICTED', 'EXTERNAL')),
  constraint external_ref_is_plain_text
    check (external_ref is null or private.is_plain_text(external_ref, 120)),
  constraint customer_hash_is_sha_256 check (customer_hash ~ '^[0-9a-f]{64}$'),
  constraint email_hash_is_sha_256 check (email_hash ~ '^[0-9a-f]{64}$'),
  constraint sale_note_is_bounded check (char_length(note) <= 500),
  constraint delivery_block_is_known
    check (delivery_block in ('NO_CLICK_ID', 'NO_CONSENT', 'CLICK_EXPIRED', 'NO_MATCH')),
  constraint one_sale_per_external_ref unique (site_id, external_ref),
  constraint external_hash_is_sha_256 check (external_hash ~ '^[0-9a-f]{64}$'),
  constraint matched_by_is_known check (matched_by in ('click', 'phone')),
  constraint caller_hash_is_hex check (caller_hash ~ '^[0-9a-f]{64}$'),
  constraint caller_key_id_is_bounded check (char_length(caller_key_id) <= 64)
);

-- 07_sales/end_sale.sql
create function private.end_sale(p_sale_id uuid, p_actor private.actor) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id for update;
  if v_sale.status = 'DRAFT' then
    update public.sales s
      set status = 'CANCELED',
          drafted_cents = s.amount_cents,
          amount_cents = 0,
          version = s.version + 1,
          updated_at = private.current_moment()
      where s.id = p_sale_id returning * into v_sale;
    return v_sale;   -- a draft has no ledger
  end if;
  v_sale := private.write_snapshot(p_sale_id, 'CANCEL', 0, v_sale.value_source, p_actor);
  perform private.act(p_actor, 'CANCEL');
  perform private.follow_ledger(p_sale_id);
  return v_sale;
end
$$;
create function private.hold_retractions(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.sales s where s.id = any (p_sale_ids) order by s.id for update;
  perform from public.offline_conversion_queue q
    where q.sale_id = any (p_sale_ids) and q.kind = 'RETRACT' order by q.id for update;
end
$$;
create function private.may_be_retracted(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.offline_conversion_queue q
    where q.sale_id = p_sale_id and q.kind = 'RETRACT'
      and (q.attempt_count > 0 or q.state = 'COMPLETED'))
$$;
create function private.retract_after_all(p_sale public.sales, p_actor private.actor) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  perform private.act(p_actor, 'SEAL');
  update public.offline_conversion_queue q
    set state = 'QUEUED',
        status = 'QUEUED',
        next_retry_at = null,
        attempt_base = q.attempt_count,
        provider_error_code = null,
        provider_error_category = null,
        last_error = null,
        updated_at = v_now
    from public.sales s
    where s.call_id in (p_sale.call_id, p_sale.sibling_call_id) and s.status = 'CANCELED'
      and s.delivery_block is null and s.occurred_at > v_now - private.adjustments_end()
      and q.sale_id = s.id and q.kind = 'RETRACT' and q.state = 'FAILED'
      and q.provider_error_code not in ('SUPERSEDED', 'NEVER_ARRIVED')
      and not exists (
        select from public.offline_conversion_queue o
        where o.sale_id = s.id and o.kind = 'RETRACT'
          and (o.state <> 'FAILED' or o.created_at > q.created_at));
end
$$;

-- 07_sales/import_sales.sql
create function private.import_deadline() returns timestamptz
language sql volatile set search_path = ''
as $$
  select clock_timestamp() + interval '1 millisecond'
    * coalesce(nullif(current_setting('opsmantik.import_ms', true), '')::int, 1000)
$$;
create function private.vouched_lines(p_site public.sites, p_rows jsonb) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  if jsonb_typeof(p_rows) is distinct from 'array' or jsonb_array_length(p_rows) > 100 then
    return p_rows;
  end if;
  return (select coalesce(jsonb_agg(case jsonb_typeof(r.line) when 'object'
      then r.line || jsonb_build_object('callers', private.vouched(p_site.id,
        coalesce(lower(r.line ->> 'customerHash'),
          private.phone_hash(private.e164(p_site, r.line ->> 'customerPhone'))),
        r.line -> 'callers'))
      else r.line end order by r.place), '[]')
    from jsonb_array_elements(p_rows) with ordinality r (line, place));
end
$$;
create function private.lock_import(
  p_site public.sites, p_rows jsonb, p_taken uuid[] default '{}',
  out call_ids uuid[], out line_count int
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_deadline timestamptz := private.import_deadline();
  v_row jsonb;
  v_sale public.sales;
  v_call_ids uuid[] := '{}';
begin
  line_count := 0;
  if jsonb_typeof(p_rows) is distinct from 'array' or jsonb_array_length(p_rows) > 100 then
    perform private.refuse_setting('rows');
  end if;
  -- Two files of one site are read one after the other: the second sees what the first took.
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('import/' || p_site.id, 0));
  for v_row in select r.line from jsonb_array_elements(p_rows) r (line) loop
    begin
      v_sale := private.read_external_sale(p_site, v_row);
      v_call_ids := v_call_ids
        || array(select private.candidate_calls(
            p_site, v_sale, private.callers_of(v_sale, v_row)))
        || array(select s.call_id from public.sales s where s.site_id = p_site.id
            and s.external_ref = btrim(v_row ->> 'externalRef') and s.call_id is not null);
    exception when sqlstate 'PT400' or data_exception then
      null;   -- the line is refused below, with its reason
    end;
    line_count := line_count + 1;
    exit when clock_timestamp() >= v_deadline;
  end loop;
  call_ids := private.lock_calls(array(
    select distinct c from unnest(v_call_ids) c where c <> all (coalesce(p_taken, '{}'))));
end
$$;
create function private.import_row(p_site public.sites, p_row jsonb, p_call_ids uuid[])
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_result text := 'created';
  v_code text;
  v_detail text;
begin
  begin
    if exists (select from public.sales s where s.site_id = p_site.id
        and s.external_ref = btrim(p_row ->> 'externalRef')) then
      v_result := 'known';
    end if;
    v_sale := private.record_sale(p_site, private.user_actor(), p_row, p_call_ids);
  exception
    when sqlstate 'PT400' or sqlstate 'PT409' then
      get stacked diagnostics v_code = message_text, v_detail = pg_exception_detail;
    when data_exception or check_violation then
      v_code := 'VALIDATION_FAILED';
  end;
  if v_code is not null then
    return jsonb_build_object(
      'line', p_row -> 'line',
      'result', 'refused',
      'code', v_code,
      'field', nullif(v_detail, '')::jsonb ->> 'field');
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'line', p_row -> 'line',
    'result', v_result,
    'saleId', v_sale.id,
    'callId', v_sale.call_id,
    'matchedBy', v_sale.matched_by,
    'deliveryBlock', v_sale.delivery_block,
    'amountCents', v_sale.amount_cents,
    'currency', v_sale.currency));
end
$$;
create function private.seal_row(p_site public.sites, p_result jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_code text;
begin
  if not exists (select from public.sales s
      where s.id = (p_result ->> 'saleId')::uuid and s.status = 'DRAFT') then
    return p_result;
  end if;
  perform private.move_sale(p_site, private.user_actor(),
    jsonb_build_object('id', p_result -> 'saleId', 'to', 'CONFIRMED'));
  return p_result || '{"result": "sealed"}';
exception when sqlstate 'PT409' then
  get stacked diagnostics v_code = message_text;
  return p_result || jsonb_build_object('code', v_code);
end
$$;
create function public.import_sales(p_public_id text, p_rows jsonb, p_seal boolean default false)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call_ids uuid[];
  v_line_count int;
  v_deadline timestamptz;
  v_row jsonb;
  v_result jsonb;
  v_results jsonb[] := '{}';
begin
  p_rows := private.vouched_lines(v_site, p_rows);
  select l.call_ids, l.line_count into v_call_ids, v_line_count
    from private.lock_import(v_site, p_rows) l;
  v_deadline := private.import_deadline();
  if p_seal then   -- by id and before the first line, as an answer of Google's locks them
    perform private.hold_retractions(array(
      select s.id from public.sales s
      where s.call_id = any (v_call_ids) and s.status = 'CANCELED'));
  end if;
  for v_row in select r.line from jsonb_array_elements(p_rows) r (line) limit v_line_count loop
    v_result := private.import_row(v_site, v_row, v_call_ids);
    v_results := v_results
      || case when p_seal then private.seal_row(v_site, v_result) else v_result end;
    exit when clock_timestamp() >= v_deadline;
  end loop;
  return to_jsonb(v_results);
end
$$;
create function public.preview_import(p_public_id text, p_rows jsonb, p_taken uuid[] default '{}')
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call_ids uuid[];
  v_line_count int;
  v_deadline timestamptz;
  v_row jsonb;
  v_results jsonb[] := '{}';
begin
  if cardinality(p_taken) > 2000 then
    perform private.refuse_setting('taken');
  end if;
  p_rows := private.vouched_lines(v_site, p_rows);
  begin
    select l.call_ids, l.line_count into v_call_ids, v_line_count
      from private.lock_import(v_site, p_rows, p_taken) l;
    v_deadline := private.import_deadline();
    for v_row in
      select r.line from jsonb_array_elements(p_rows) r (line) limit v_line_count
    loop
      v_results := v_results || private.import_row(v_site, v_row, v_call_ids);
      exit when clock_timestamp() >= v_deadline;
    end loop;
    raise exception using errcode = 'OM000', message = 'previewed';   -- caught below
  exception when sqlstate 'OM000' then
    null;   -- variables keep what they hold; the rows are gone
  end;
  return to_jsonb(v_results);
end
$$;

-- 07_sales/lead_values.sql
create function private.intent_weight(p_site public.sites, p_stage text) returns numeric
language sql immutable set search_path = ''
as $$
  select coalesce(
    (p_site.intent_weights ->> p_stage)::numeric,
    (p_site.intent_weights ->> case p_stage
      when 'meeting' then 'qualified'
      when 'intent' then 'pending'
      when 'cancelled' then 'lost' end)::numeric,
    case
      when p_stage in ('sealed', 'won', 'purchase') then 1.0
      when p_stage in ('qualified', 'real', 'meeting') then 0.20
      when p_stage in ('pending', 'open', 'intent') then 0.02
      else 0 end)
$$;
create function private.expected_value_cents(p_site public.sites, p_stage text) returns bigint
language sql immutable set search_path = ''
as $$
  select case
    when private.currency_decimals(p_site.currency) = 0
      then round(round(p_site.default_aov_cents * w.weight) / 100) * 100
    else round(p_site.default_aov_cents * w.weight) end::bigint
  from (select private.intent_weight(p_site, p_stage) as weight) w
$$;
create function private.decayed_value(
  p_base_cents bigint, p_clicked_at timestamptz, p_at timestamptz
) returns bigint
language sql immutable set search_path = ''
as $$
  select round(p_base_cents / 100.0 * case
    when d.days <= 3 then 0.50
    when d.days <= 10 then 0.25
    else 0.10 end)::bigint
  from (
    select ceil(greatest(0, extract(epoch from p_at - p_clicked_at)) / 86400) as days) d
$$;

-- 07_sales/list_sales.sql
create function private.delivery_of_sale(p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sale.delivery_block is not null
      then jsonb_build_object('state', 'BLOCKED', 'reason', p_sale.delivery_block)
    else coalesce((
      select jsonb_build_object(
        'state', q.status,
        'kind', q.kind,
        'reason', q.provider_error_code,
        'verdict', (
          select d.verdict from public.provider_dispatches d
          where d.sale_id = q.sale_id and d.queue_id = q.id
          order by d.dispatched_at desc limit 1))
      from public.offline_conversion_queue q
      where q.sale_id = p_sale.id and (q.kind = 'CONVERSION' or q.status <> 'FAILED'
        or coalesce(q.provider_error_code, '') <> all (private.not_sent_codes()))
      order by q.created_at desc, q.id desc limit 1),
      '{"state": "NONE"}') end
$$;
create function private.sale_json(p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_sale.id,
    'externalRef', p_sale.external_ref,
    'status', p_sale.status,
    'version', p_sale.version,
    'amountCents', p_sale.amount_cents,
    'currency', p_sale.currency,
    'valueSource', p_sale.value_source,
    'occurredAt', p_sale.occurred_at,
    'note', private.readable_note(p_sale.site_id, p_sale.note),
    'callId', p_sale.call_id,
    'orderId', p_sale.order_id,
    'rowId', (
      select q.id from public.offline_conversion_queue q
      where q.sale_id = p_sale.id order by q.created_at desc, q.id desc limit 1),
    'proofId', (
      select p.id from public.transition_proofs p
      where p.entity_id in (p_sale.id, p_sale.call_id)   -- a seal is a move of the lead
        and (p.entity_id = p_sale.id or p.facts ->> 'saleId' = p_sale.id::text)
      order by p.occurred_at desc, p.id desc limit 1),
    'channel', (select c.channel from public.calls c where c.id = p_sale.call_id),
    'matchedBy', p_sale.matched_by,
    'undo', case when p_sale.updated_at > private.current_moment() - private.undo_window()
      then private.undo_sale_json(p_sale) end,
    'restoreCents', case
      when p_sale.status = 'CANCELED' and p_sale.call_id is null
        and not private.may_be_retracted(p_sale.id)
      then private.worth_before(p_sale) end,
    'delivery', private.delivery_of_sale(p_sale))
$$;
create function private.matching_sales(p_site public.sites, p_filter jsonb, p_limit int)
returns setof public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_key constant text := case when p_filter ->> 'sort' in ('largest', 'smallest')
    then 's.amount_cents' else 's.occurred_at' end;
  v_is_up constant boolean :=
    coalesce(p_filter ->> 'sort' in ('oldest', 'smallest'), false);
  v_is_operator boolean := public.has_site_role(p_site.id, 'operator');
  v_text text := nullif(btrim(left(p_filter ->> 'q', 80)), '');
  v_digits text := regexp_replace(v_text, '\D', '', 'g');
begin
  return query execute format($q$
    select s.* from public.sales s
    where s.site_id = $1
      and ($2 is null or s.occurred_at >= $2) and ($3 is null or s.occurred_at < $3)
      and s.status = coalesce($4, s.status) and ($14 is null or s.id = $14)
      and ($5 is null or ($5 = 'elsewhere') = (s.external_ref is not null))
      and ($6 is null
        or translate(lower(translate(concat_ws(E'\n', s.external_ref, s.order_id,
          case when $7 then s.note end), 'Iİ', 'ii')), 'ı', 'i') like $6
        or s.id::text = $13
        or exists (select from public.calls c where c.id = s.call_id
          and ($7 and translate(lower(translate(c.contact_name, 'Iİ', 'ii')), 'ı', 'i') like $6
            or $8 is not null and regexp_replace(c.phone, '\D', '', 'g') like $8)))
      and case $9
        when 'never' then s.delivery_block is not null or (
          not exists (select from public.provider_dispatches d where d.sale_id = s.id)
          and (s.status = 'CANCELED' or (
            select q.status = 'FAILED' and q.provider_error_code = any (private.not_sent_codes())
            from public.offline_conversion_queue q
            where q.sale_id = s.id order by q.created_at desc, q.id desc limit 1)))
        when 'sent' then exists (
          select from public.provider_dispatches d where d.sale_id = s.id)
        when 'waiting' then exists (
          select from public.offline_conversion_queue q
          where q.sale_id = s.id and q.state = any (private.waiting_states()))
        when 'failed' then exists (
            select from public.offline_conversion_queue q
            where q.sale_id = s.id and q.status = 'FAILED'
              and q.provider_error_code <> all (private.not_sent_codes()))
          and not exists (
            select from public.offline_conversion_queue q
            where q.sale_id = s.id and q.status <> 'FAILED')
        else true end
      and ($10 is null or %1$s %2$s $10::%3$s or (%1$s = $10::%3$s and s.id > $11))
    order by %1$s %4$s, s.id limit $12$q$,
    v_key, case when v_is_up then '>' else '<' end,
    case v_key when 's.amount_cents' then 'bigint' else 'timestamptz' end,
    case when v_is_up then 'asc' else 'desc' end)
    using p_site.id,
      private.start_of_day(p_site, (p_filter ->> 'from')::date),
      private.start_of_day(p_site, (p_filter ->> 'to')::date + 1),
      p_filter ->> 'status', p_filter ->> 'source',
      private.search_pattern(v_text), v_is_operator,
      -- Viewers see the last four digits of a number, and find it by those.
      case when length(v_digits) between 4 and case when v_is_operator then 15 else 4 end
        then '%' || v_digits end,
      p_filter ->> 'delivery',
      nullif(split_part(p_filter ->> 'cursor', '_', 1), ''),
      nullif(split_part(p_filter ->> 'cursor', '_', 2), '')::uuid, p_limit, v_text,
      (p_filter ->> 'sale')::uuid;
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
    perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;
create function private.sales_totals(p_site public.sites, p_filter jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('count', coalesce(sum(t.sales), 0), 'confirmedCents',
    coalesce(jsonb_object_agg(t.currency, t.cents) filter (where t.cents > 0), '{}'))
  from (
    select s.currency, count(*) as sales,
      coalesce(sum(s.amount_cents) filter (where s.status = 'CONFIRMED'), 0) as cents
    from private.matching_sales(p_site, p_filter, null) s group by 1) t
$$;
create function public.list_sales(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_limit int := least(greatest(coalesce((p_filter ->> 'limit')::int, 50), 1), 500);
  v_sales public.sales[];
  v_rows jsonb;
begin
  select array(select s from private.matching_sales(v_site, p_filter, v_limit) s) into v_sales;
  select coalesce(jsonb_agg(private.sale_json(v_sales[i]) order by i), '[]') into v_rows
    from generate_subscripts(v_sales, 1) i;
  return jsonb_build_object(
    'sales', v_rows,
    'totals', case when p_filter ->> 'cursor' is null
      then private.sales_totals(v_site, p_filter) end,
    'next', case when jsonb_array_length(v_rows) = v_limit
      then (v_rows -> -1 ->> case when p_filter ->> 'sort' in ('largest', 'smallest')
        then 'amountCents' else 'occurredAt' end)
        || '_' || (v_rows -> -1 ->> 'id') end);
end
$$;

-- 07_sales/match_sale.sql
create function private.callers_of(p_sale public.sales, p_args jsonb) returns text[]
language sql immutable set search_path = ''
as $$
  select array_append(
    array(select c ->> 'hash' from jsonb_array_elements(p_args -> 'callers') c limit 4),
    p_sale.customer_hash)
$$;
create function private.customer_calls(p_site_id uuid, p_sale public.sales, p_callers text[])
returns setof public.calls
language plpgsql stable security definer set search_path = '' rows 20
as $$
begin
  return query select c.* from public.calls c
    where c.site_id = p_site_id
      and c.called_at <= p_sale.occurred_at
      and c.called_at > p_sale.occurred_at - private.click_life()
      and (c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid or c.gbraid = p_sale.gbraid
        or c.caller_hash = any (p_callers));
end
$$;
create function private.candidate_calls(
  p_site public.sites, p_sale public.sales, p_callers text[]
) returns setof uuid
language sql stable security definer set search_path = '' rows 20
as $$
  select c.id from private.customer_calls(p_site.id, p_sale, p_callers) c
  where c.status <> 'junk'
  order by coalesce(c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid
    or c.gbraid = p_sale.gbraid, false) desc, private.awaits_person(c), c.called_at desc, c.id
  limit 20
$$;
create function private.lock_calls(p_call_ids uuid[]) returns uuid[]
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.calls c where c.id = any (p_call_ids) order by c.id for update;
  return p_call_ids;
end
$$;
create function private.match_call(
  p_site public.sites, p_sale public.sales, p_callers text[], p_call_ids uuid[]
) returns public.calls
language plpgsql security definer set search_path = ''
as $$
declare
  v_locked uuid[] := coalesce(p_call_ids,
    private.lock_calls(array(select private.candidate_calls(p_site, p_sale, p_callers))));
  v_call public.calls;
begin
  -- Checked again under the locks: their last holder may have sold the call or made it junk.
  select c.* into v_call
    from private.candidate_calls(p_site, p_sale, p_callers) with ordinality f (id, place)
    join public.calls c on c.id = f.id
    where c.id = any (v_locked)
      and not exists (select from public.sales s where s.call_id = c.id and s.status <> 'CANCELED')
    order by f.place limit 1;
  return v_call;
end
$$;
create function private.sold_call(
  p_site public.sites, p_sale public.sales, p_callers text[]
) returns uuid
language sql stable security definer set search_path = ''
as $$
  select c.id from private.customer_calls(p_site.id, p_sale, p_callers) c
  where exists (select from public.sales s where s.call_id = c.id and s.status <> 'CANCELED')
  order by c.called_at desc, c.id limit 1
$$;
create function private.refused_since(
  p_site_id uuid, p_sale public.sales, p_call public.calls
) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from (
      select p_call.visitor_id as visitor_id where p_call.id is not null
      union
      select c.visitor_id from private.click_sightings c
      where c.site_id = p_site_id
        and c.click_hash in (
          select private.click_hashes(p_sale.gclid, p_sale.wbraid, p_sale.gbraid))) v
    cross join lateral private.newest_choice(p_site_id, v.visitor_id) n
    where not 'marketing' = any (n.scopes) and n.chosen_at > p_sale.occurred_at)
    or exists (
      select from unnest(array[p_sale.gclid, p_sale.wbraid, p_sale.gbraid]) c
        join private.erased_marks m
          on m.site_id = p_site_id and m.mark = private.mark_of(p_site_id, 'click', c)
      where m.erased_at > p_sale.occurred_at)
$$;
create function private.take_click(
  p_site_id uuid, p_sale public.sales, p_call public.calls, p_consent boolean
) returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_has_own boolean := coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null;
  v_agrees boolean := coalesce(p_consent, false)
    and not private.refused_since(p_site_id, p_sale, p_call);
begin
  if not v_agrees then
    p_sale.email_hash := null;
  end if;
  p_sale.delivery_block := case
    when not p_consent then 'NO_CONSENT'
    when p_call.id is not null then private.delivery_block_of(p_call)
    when not v_has_own then 'NO_MATCH'
    else 'NO_CONSENT' end;
  if p_call.id is not null and p_sale.delivery_block is null then
    p_sale.gclid := p_call.gclid;
    p_sale.wbraid := p_call.wbraid;
    p_sale.gbraid := p_call.gbraid;
    p_sale.clicked_at := p_call.clicked_at;
  elsif v_has_own and v_agrees then
    p_sale.clicked_at := least(p_sale.occurred_at, private.current_moment());
    p_sale.delivery_block := null;
  else
    p_sale.gclid := null;
    p_sale.wbraid := null;
    p_sale.gbraid := null;
  end if;
  if p_sale.delivery_block is not null then
    p_sale.customer_hash := null;
  end if;
  return p_sale;
end
$$;

-- 07_sales/move_sale.sql
create function private.refuse_reported_twice(p_sale public.sales, p_args jsonb) returns void
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sealed public.sales;
begin
  select s.* into v_sealed
    from public.sales s join public.calls c on c.id = s.call_id
    where s.call_id = p_sale.sibling_call_id and s.status = 'CONFIRMED'
      and not coalesce((p_args ->> 'separateSale')::boolean, false)
      and (not coalesce((p_args ->> 'isUndo')::boolean, false)
        or c.status_at > p_sale.updated_at);
  if v_sealed.id is not null then
    perform private.refuse_sealed_visit(v_sealed);
  end if;
end
$$;
create function private.worth_before(p_sale public.sales) returns bigint
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select r.amount_cents from public.revenue_snapshots r
    where r.sale_id = p_sale.id and r.amount_cents > 0
    order by r.sequence desc limit 1), p_sale.drafted_cents)
$$;
create function private.seal_without_call(p_sale public.sales, p_actor private.actor)
returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_is_draft boolean := p_sale.status = 'DRAFT';
  v_after public.sales;
begin
  v_after := private.write_snapshot(
    p_sale.id,
    case when v_is_draft then 'SEAL' else 'RESTORE' end,
    case when v_is_draft then p_sale.amount_cents else private.worth_before(p_sale) end,
    p_sale.value_source, p_actor);
  perform private.act(p_actor, 'SEAL');
  perform private.follow_ledger(p_sale.id);
  return v_after;
end
$$;
create function private.hold_followed(p_sale public.sales) returns void
language sql security definer set search_path = ''
as $$
  select private.hold_retractions(array(
    select o.id from public.sales o
    where o.id = p_sale.id
      or (o.status = 'CANCELED' and o.call_id in (p_sale.call_id, p_sale.sibling_call_id))))
$$;
create function private.redraft(p_sale public.sales) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_other public.sales;
  v_after public.sales;
begin
  select s.* into v_other from public.sales s
    where s.call_id = p_sale.call_id and s.status <> 'CANCELED' and s.id <> p_sale.id;
  if v_other.id is not null then
    perform private.refuse_sealed_visit(v_other);   -- a call has one living sale
  end if;
  update public.sales s
    set status = 'DRAFT',
        amount_cents = s.drafted_cents,
        drafted_cents = null,
        version = s.version + 1,
        updated_at = private.current_moment()
    where s.id = p_sale.id returning * into v_after;
  return v_after;
end
$$;
create function private.move_sale(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_session_id uuid;
  v_after public.sales;
  v_to text := p_args ->> 'to';
  v_is_undo boolean := coalesce((p_args ->> 'isUndo')::boolean, false);
  v_version text;
  v_proof_id uuid;
begin
  -- The call, then its visit, then the sale, as everywhere.
  select c.session_id into v_session_id
    from public.calls c join public.sales s on s.call_id = c.id
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id for update of c;
  perform private.lock_visit(v_session_id);
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id;
  perform private.hold_followed(v_sale);
  v_sale := private.take_sale(p_site, p_args);
  v_version := private.require_move('sale', v_sale.status, v_to, v_is_undo);
  if v_sale.status = 'CANCELED' and private.may_be_retracted(v_sale.id) then
    perform private.fail(409, 'SALE_RETRACTED');
  end if;
  if v_sale.call_id is not null and v_to <> 'DRAFT'
     and not (v_to = 'CANCELED' and v_sale.status = 'DRAFT') then
    v_proof_id := private.move_call(p_site, p_actor,
      (p_args - 'expectedVersion') || jsonb_build_object(
        'id', v_sale.call_id,
        'to', case v_to when 'CONFIRMED' then 'sealed' else 'cancelled' end,
        'saleId', v_sale.id)) ->> 'proof_id';
  else
    if v_to = 'CANCELED' then
      v_after := private.end_sale(v_sale.id, p_actor);
    elsif v_to = 'DRAFT' then
      v_after := private.redraft(v_sale);
    else
      perform private.refuse_reported_twice(v_sale, p_args);
      v_after := private.seal_without_call(v_sale, p_actor);
    end if;
    v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
      'contract', 'sale',
      'contractVersion', v_version,
      'entityId', v_sale.id,
      'from', v_sale.status,
      'to', v_to,
      'note', p_args ->> 'reason',
      'requestHash', p_args ->> 'requestHash',
      'facts', private.sale_facts(v_after) || jsonb_build_object(
        'version', v_after.version, 'undo', case when v_is_undo then true end)));
  end if;
  return jsonb_build_object(
    'ok', true,
    'from', v_sale.status,
    'to', v_to,
    'contract_version', v_version,
    'proof_id', v_proof_id,
    'saleId', v_sale.id);
end
$$;
create function private.correct_amount(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_after public.sales;
  v_amount bigint := private.asked_cents(p_args);
  v_proof_id uuid;
begin
  v_sale := private.take_sale(p_site, p_args);
  if v_sale.status <> 'CONFIRMED' then
    perform private.fail(409, 'SALE_NOT_SEALED');
  end if;
  perform private.check_amount(v_amount, v_sale.currency);
  if v_sale.amount_cents = v_amount and v_sale.value_source <> 'PREDICTED'
     and not p_args ? 'undoes' then
    perform private.fail(409, 'AMOUNT_UNCHANGED');
  end if;
  v_after := private.write_snapshot(v_sale.id, 'CORRECT', v_amount,
    coalesce(p_args ->> 'valueSource', 'OPERATOR'), p_actor);
  perform private.act(p_actor, 'CORRECT');
  perform private.follow_ledger(v_sale.id);
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'sale',
    'contractVersion', private.contract_version('sale'),
    'entityId', v_sale.id,
    'from', v_sale.status,
    'to', v_after.status,
    'note', p_args ->> 'reason',
    'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object(
      'version', v_after.version,
      'saleId', v_sale.id,
      'callId', v_sale.call_id,
      'amountBeforeCents', v_sale.amount_cents,
      'sourceBefore', v_sale.value_source,
      'amountCents', v_after.amount_cents,
      'currency', v_after.currency,
      'undo', case when p_args ? 'undoes' then true end,
      'undoes', p_args -> 'undoes')));
  return jsonb_build_object(
    'ok', true,
    'from', v_sale.status,
    'to', v_after.status,
    'proof_id', v_proof_id,
    'saleId', v_sale.id,
    'version', v_after.version);
end
$$;
create function public.correct_sale(
  p_public_id text, p_correction jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.correct', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'correct',
      'id', p_correction -> 'id',
      'amountCents', p_correction -> 'amountCents',
      'expectedVersion', p_correction -> 'expectedVersion',
      'reason', p_correction -> 'reason'))
$$;
create function public.cancel_sale(
  p_public_id text, p_cancel jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.cancel', p_key, p_request_hash,
    jsonb_build_object(
      'effect', 'sale',
      'to', 'CANCELED',
      'id', p_cancel -> 'id',
      'expectedVersion', p_cancel -> 'expectedVersion',
      'reason', p_cancel -> 'reason'))
$$;

-- 07_sales/record_external_sale.sql
create function private.read_external_sale(p_site public.sites, p_args jsonb) returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
begin
  v_sale.external_ref := btrim(p_args ->> 'externalRef');
  if not private.is_plain_text(v_sale.external_ref, 120) then
    perform private.refuse_setting('external_ref');
  end if;
  v_sale.amount_cents := private.asked_cents(p_args);
  v_sale.currency := coalesce(p_args ->> 'currency', p_site.currency);
  perform private.check_amount(v_sale.amount_cents, v_sale.currency);
  v_sale.occurred_at := (p_args ->> 'occurredAt')::timestamptz;
  if v_sale.occurred_at is null
      or v_sale.occurred_at < v_now - private.click_life()
      or v_sale.occurred_at > v_now + interval '1 hour' then
    perform private.refuse_setting('occurred_at');
  end if;
  v_sale.customer_hash := coalesce(
    lower(p_args ->> 'customerHash'),
    private.phone_hash(private.e164(p_site, p_args ->> 'customerPhone')));
  if v_sale.customer_hash is null and p_args ->> 'customerPhone' is not null then
    perform private.refuse_setting('customer_phone');
  end if;
  if v_sale.customer_hash !~ '^[0-9a-f]{64}$' then
    perform private.refuse_setting('customer_hash');
  end if;
  v_sale.caller_hash := p_args #>> '{callers,0,hash}';
  v_sale.caller_key_id := p_args #>> '{callers,0,keyId}';
  v_sale.email_hash := lower(p_args ->> 'emailHash');
  if v_sale.email_hash !~ '^[0-9a-f]{64}$' then
    perform private.refuse_setting('customer_email_hash');
  end if;
  v_sale.gclid := nullif(btrim(p_args ->> 'gclid'), '');
  v_sale.wbraid := nullif(btrim(p_args ->> 'wbraid'), '');
  v_sale.gbraid := nullif(btrim(p_args ->> 'gbraid'), '');
  if greatest(
      char_length(v_sale.gclid), char_length(v_sale.wbraid), char_length(v_sale.gbraid)) > 512 then
    perform private.refuse_setting('gclid');
  end if;
  v_sale.note := nullif(left(btrim(p_args ->> 'note'), 500), '');
  -- Of the number only whether there is one: with the rest of the line at hand, all numbers could
  -- be tried. is_other_number compares it.
  v_sale.external_hash := private.sha256_hex(jsonb_build_array(
    v_sale.amount_cents, v_sale.currency, private.exact_time(v_sale.occurred_at),
    v_sale.customer_hash is not null, v_sale.gclid, v_sale.wbraid, v_sale.gbraid,
    p_args -> 'marketingConsent', v_sale.note, v_sale.email_hash)::text);
  return v_sale;
end
$$;
create function private.is_other_number(p_sale public.sales, p_args jsonb) returns boolean
language sql immutable set search_path = ''
as $$
  select exists (
    select from jsonb_array_elements(p_args -> 'callers') c
    where c ->> 'keyId' = p_sale.caller_key_id and c ->> 'hash' <> p_sale.caller_hash)
$$;
create function private.external_sale_json(p_sale public.sales) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'sale_id', p_sale.id,
    'external_ref', p_sale.external_ref,
    'status', p_sale.status,
    'amount_cents', p_sale.amount_cents,
    'currency', p_sale.currency,
    'occurred_at', p_sale.occurred_at,
    'matched_by', p_sale.matched_by,
    'call_id', p_sale.call_id,
    'delivery_block', p_sale.delivery_block)
$$;
create function private.record_sale(
  p_site public.sites, p_actor private.actor, p_args jsonb, p_call_ids uuid[] default null
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sent public.sales := private.read_external_sale(p_site, p_args);
  v_callers text[] := private.callers_of(v_sent, p_args);
  v_sale public.sales;
  v_call public.calls;
begin
  select s.* into v_sale from public.sales s
    where s.site_id = p_site.id and s.external_ref = v_sent.external_ref;
  if v_sale.id is null then
    v_call := private.match_call(p_site, v_sent, v_callers, p_call_ids);
    v_sale := private.take_click(
      p_site.id, v_sent, v_call, (p_args ->> 'marketingConsent')::boolean);
    v_sale.matched_by := case
      when v_call.id is null then null
      when v_call.gclid = v_sent.gclid or v_call.wbraid = v_sent.wbraid
        or v_call.gbraid = v_sent.gbraid then 'click'
      else 'phone' end;
    if v_call.id is null then
      v_sale.sibling_call_id := private.sold_call(p_site, v_sent, v_callers);
    end if;
    v_sale.id := private.uuid_v7();
    insert into public.sales
        (id, site_id, call_id, sibling_call_id, external_ref, external_hash, matched_by, status,
        version, order_id, amount_cents, currency, value_source, occurred_at, gclid, wbraid, gbraid,
        clicked_at, customer_hash, email_hash, delivery_block, note, created_at, updated_at,
        caller_hash, caller_key_id)
      values (v_sale.id, p_site.id, v_call.id, v_sale.sibling_call_id, v_sale.external_ref,
        v_sale.external_hash, v_sale.matched_by, 'DRAFT', 1, private.order_id_of(v_sale.id),
        v_sale.amount_cents, v_sale.currency, 'EXTERNAL', v_sale.occurred_at, v_sale.gclid,
        v_sale.wbraid, v_sale.gbraid, v_sale.clicked_at, v_sale.customer_hash, v_sale.email_hash,
        v_sale.delivery_block, v_sale.note, v_now, v_now, v_sale.caller_hash, v_sale.caller_key_id)
      on conflict (site_id, external_ref) do nothing
      returning * into v_sale;
    if v_sale.id is not null then
      perform private.prove(p_site.id, p_actor, jsonb_build_object(
        'contract', 'sale',
        'contractVersion', private.contract_version('sale'),
        'entityId', v_sale.id,
        'to', 'DRAFT',
        'requestHash', p_args ->> 'requestHash',
        'facts', private.sale_facts(v_sale)
          || jsonb_build_object('version', 1, 'callId', v_sale.call_id)));
      return v_sale;
    end if;
    select s.* into v_sale from public.sales s
      where s.site_id = p_site.id and s.external_ref = v_sent.external_ref;
  end if;
  -- Null: the customer was erased since. The till gets its sale, and nothing is stored again.
  if v_sale.external_hash <> v_sent.external_hash or private.is_other_number(v_sale, p_args) then
    perform private.fail(409, 'EXTERNAL_REF_CONFLICT', jsonb_build_object('saleId', v_sale.id));
  end if;
  return v_sale;
end
$$;
create function private.record_sale_effect(p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.external_sale_json(private.record_sale(
    s, ('api_key', (p_args ->> 'actorId')::uuid)::private.actor, p_args))
  from public.sites s where s.id = (p_args ->> 'site')::uuid
$$;
create function public.record_external_sale(
  p_key_id uuid, p_sale jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{sales}');
begin
  return private.answer_once(
    v_site_id, 'sale.record', p_key, p_request_hash, 'private.record_sale_effect'::regproc,
    p_sale || jsonb_build_object(
      'site', v_site_id, 'actorId', p_key_id, 'requestHash', p_request_hash));
end
$$;

-- 07_sales/revenue_snapshots.sql
create table public.revenue_snapshots (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null references public.sales (id),
  sequence int not null,
  kind text not null,
  amount_cents bigint not null,
  delta_cents bigint not null,
  currency text not null,
  value_source text not null,
  actor_kind text not null,
  actor_id uuid,
  created_at timestamptz not null,
  constraint one_snapshot_per_step unique (sale_id, sequence),
  constraint snapshot_kind_is_known check (kind in ('SEAL', 'CORRECT', 'CANCEL', 'RESTORE')),
  constraint snapshot_amounts_are_not_negative check (amount_cents >= 0)
);
create function private.has_ledger(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$ select exists (select from public.revenue_snapshots r where r.sale_id = p_sale_id) $$;
create function private.write_snapshot(
  p_sale_id uuid, p_kind text, p_amount_cents bigint, p_value_source text, p_actor private.actor
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_before bigint;
  v_lines int;
begin
  select coalesce(sum(r.delta_cents), 0), count(*) into v_before, v_lines
    from public.revenue_snapshots r where r.sale_id = p_sale_id;
  update public.sales s
    set amount_cents = p_amount_cents,
        value_source = p_value_source,
        version = s.version + 1,
        updated_at = v_now,
        status = case p_kind when 'CANCEL' then 'CANCELED' else 'CONFIRMED' end
    where s.id = p_sale_id returning * into v_sale;
  insert into public.revenue_snapshots
      (site_id, sale_id, sequence, kind, amount_cents, delta_cents, currency, value_source,
        actor_kind, actor_id, created_at)
    values (v_sale.site_id, p_sale_id, v_lines + 1, p_kind, p_amount_cents,
      p_amount_cents - v_before, v_sale.currency, p_value_source,
      p_actor.kind, p_actor.id, v_now);
  if p_kind in ('SEAL', 'RESTORE') then
    perform private.retract_after_all(v_sale, p_actor);
  end if;
  return v_sale;
end
$$;
create function private.newest_snapshot(p_sale_id uuid) returns public.revenue_snapshots
language sql stable security definer set search_path = ''
as $$
  select r.* from public.revenue_snapshots r
  where r.sale_id = p_sale_id order by r.sequence desc limit 1
$$;

-- 07_sales/sales.sql
create function private.order_id_of(p_sale_id uuid) returns text
language sql immutable set search_path = ''
as $$ select 'om_' || replace(p_sale_id::text, '-', '') $$;
create function private.sale_facts(p_sale public.sales) returns jsonb
language sql stable
as $$
  select pg_catalog.jsonb_build_object(
    'saleId', p_sale.id,
    'amountCents', p_sale.amount_cents,
    'currency', p_sale.currency,
    'valueSource', p_sale.value_source,
    'deliveryBlock', p_sale.delivery_block)
$$;

-- 07_sales/seal_sale.sql
create function private.refuse_sealed_visit(p_sale public.sales) returns void
language sql set search_path = ''
as $$
  select private.fail(409, 'VISIT_ALREADY_SEALED', jsonb_build_object(
    'callId', p_sale.call_id,
    'saleId', p_sale.id,
    'amountCents', p_sale.amount_cents,
    'currency', p_sale.currency))
$$;
create function private.lock_visit(p_session_id uuid) returns void
language sql set search_path = ''
as $$
  select pg_catalog.pg_advisory_xact_lock(hashtextextended('visit/' || p_session_id, 0))
  where p_session_id is not null
$$;
create function private.take_sale(p_site public.sites, p_args jsonb) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
begin
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id for update;
  if v_sale.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_sale.version <> coalesce((p_args ->> 'expectedVersion')::int, v_sale.version) then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object(
      'status', v_sale.status,
      'version', v_sale.version,
      'amountCents', v_sale.amount_cents,
      'currency', v_sale.currency));
  end if;
  return v_sale;
end
$$;
create function private.refuse_second_sale(p_call public.calls, p_is_undo boolean) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_sibling public.sales;
begin
  perform private.lock_visit(p_call.session_id);
  select s.* into v_sibling
    from public.calls c join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
    where c.session_id = p_call.session_id and c.id <> p_call.id
      -- An undo restores sales that existed side by side before.
      and (not p_is_undo or c.status_at > p_call.status_at)
    limit 1;
  if v_sibling.id is not null then
    perform private.refuse_sealed_visit(v_sibling);
  end if;
end
$$;
create function private.sale_to_seal(p_call_id uuid, p_args jsonb) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_other public.sales;
begin
  perform private.hold_retractions(array(
    select s.id from public.sales s where s.call_id = p_call_id and s.status = 'CANCELED'));
  select s.* into v_sale from public.sales s
    where s.call_id = p_call_id
      and s.id = coalesce((p_args ->> 'saleId')::uuid, s.id)
      and (s.status = 'DRAFT'
        or (s.status = 'CANCELED'
          and (p_args ? 'saleId' or private.has_ledger(s.id))
          and not private.may_be_retracted(s.id)))
    order by s.status = 'DRAFT' desc, s.created_at desc limit 1 for update;
  if p_args ? 'saleId' then
    select s.* into v_other from public.sales s
      where s.call_id = p_call_id and s.status <> 'CANCELED' and s.id is distinct from v_sale.id;
    if v_other.id is not null then
      perform private.refuse_sealed_visit(v_other);
    end if;
  end if;
  return v_sale;
end
$$;
create function private.known_worth(p_site public.sites, p_call_id uuid, p_sale public.sales)
returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_last public.revenue_snapshots;
begin
  if p_sale.status = 'DRAFT' then
    return p_sale;
  end if;
  select r.* into v_last
    from public.revenue_snapshots r join public.sales s on s.id = r.sale_id
    where s.call_id = p_call_id and s.id = coalesce(p_sale.id, s.id) and r.amount_cents > 0
    order by s.created_at desc, r.sequence desc limit 1;
  if v_last.id is not null then
    p_sale.amount_cents := v_last.amount_cents;
    p_sale.value_source := v_last.value_source;
    p_sale.currency := v_last.currency;
  elsif p_sale.drafted_cents is not null then
    p_sale.amount_cents := p_sale.drafted_cents;
  else
    p_sale.amount_cents := private.expected_value_cents(p_site, 'sealed');
    p_sale.value_source := 'PREDICTED';
    p_sale.currency := p_site.currency;
  end if;
  return p_sale;
end
$$;
create function private.seal_sale(
  p_site public.sites, p_actor private.actor, p_call public.calls, p_args jsonb
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_asked bigint := private.asked_cents(p_args);
  v_worth public.sales;   -- amount_cents, currency and value_source
  v_kind text := 'SEAL';
begin
  if p_call.session_id is not null
      and not coalesce((p_args ->> 'separateSale')::boolean, false) then
    perform private.refuse_second_sale(p_call, coalesce((p_args ->> 'isUndo')::boolean, false));
  end if;
  v_sale := private.sale_to_seal(p_call.id, p_args);
  if v_asked is not null then
    v_worth.amount_cents := v_asked;
    v_worth.value_source := 'OPERATOR';
    v_worth.currency := coalesce(p_args ->> 'currency', v_sale.currency, p_site.currency);
  else
    v_worth := private.known_worth(p_site, p_call.id, v_sale);
    if v_worth.currency <> coalesce(p_args ->> 'currency', v_worth.currency) then
      -- The amount that we know is in another currency.
      perform private.fail(400, 'INVALID_CURRENCY');
    end if;
  end if;
  perform private.check_amount(v_worth.amount_cents, v_worth.currency);
  if v_sale.id is null then
    v_sale.id := private.uuid_v7();
    insert into public.sales
        (id, site_id, call_id, status, version, order_id, amount_cents, currency, value_source,
        occurred_at, gclid, wbraid, gbraid, clicked_at, delivery_block, created_at, updated_at)
      values (v_sale.id, p_site.id, p_call.id, 'CONFIRMED', 0, private.order_id_of(v_sale.id),
        v_worth.amount_cents, v_worth.currency, v_worth.value_source, p_call.called_at,
        p_call.gclid, p_call.wbraid, p_call.gbraid, p_call.clicked_at,
        private.delivery_block_of(p_call), v_now, v_now);
  else
    if private.has_ledger(v_sale.id) then
      v_kind := 'RESTORE';
      if v_sale.currency <> v_worth.currency then
        -- One ledger, one currency: its lines must add up.
        perform private.fail(400, 'INVALID_CURRENCY');
      end if;
    end if;
    update public.sales s set currency = v_worth.currency where s.id = v_sale.id;
  end if;
  v_sale := private.write_snapshot(
    v_sale.id, v_kind, v_worth.amount_cents, v_worth.value_source, p_actor);
  if p_args ? 'note' then
    update public.sales s set note = left(p_args ->> 'note', 500) where s.id = v_sale.id;
  end if;
  -- The sale of an old lead is as old as the lead; its note and clicks are not to outlive it.
  perform private.reopen_retention(p_site.id, 'sales', v_sale.occurred_at);
  perform private.act(p_actor, v_kind);
  perform private.follow_ledger(v_sale.id);
  return v_sale;
end
$$;
create function public.seal_call(
  p_public_id text, p_seal jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'call.seal', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object(
      'effect', 'call',
      'to', 'sealed',
      'id', p_seal -> 'id',
      'amountCents', p_seal -> 'amountCents',
      'currency', p_seal -> 'currency',
      'note', p_seal -> 'note',
      'expectedVersion', p_seal -> 'expectedVersion',
      'separateSale', p_seal -> 'separateSale')))
$$;

-- 07_sales/undo_sale.sql
create function private.last_sale_step(p_sale public.sales) returns public.transition_proofs
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_move public.transition_proofs;
  v_step public.transition_proofs;
begin
  if p_sale.call_id is not null and private.has_ledger(p_sale.id) then
    return null;
  end if;
  -- Not by time: a step that waited for another one began before it.
  select p.* into v_move from public.transition_proofs p
    where p.entity_id = p_sale.id and p.contract = 'sale'
      and p.from_state is distinct from p.to_state
    order by (p.facts ->> 'version')::int desc limit 1;
  select p.* into v_step from public.transition_proofs p
    where p.entity_id = p_sale.id and p.contract = 'sale' and p.from_state = p.to_state
      and (p.facts ->> 'version')::int > (v_move.facts ->> 'version')::int
      and not p.facts ? 'undo'
      and not exists (select from public.transition_proofs u
        where u.entity_id = p_sale.id and u.facts ->> 'undoes' = p.id::text)
    order by (p.facts ->> 'version')::int desc limit 1;
  if v_step.id is not null then
    return v_step;
  end if;
  if v_move.from_state is null or v_move.facts ? 'undo' then
    return null;
  end if;
  return v_move;
end
$$;
create function private.undo_sale_json(p_sale public.sales) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  if p_sale.call_id is not null and private.has_ledger(p_sale.id) then
    return (select private.undo_json(c) from public.calls c where c.id = p_sale.call_id);
  end if;
  if p_sale.status = 'CANCELED' and private.may_be_retracted(p_sale.id) then
    return null;
  end if;
  return private.step_json(private.last_sale_step(p_sale));
end
$$;
create function private.undo_sale_step(p_site public.sites, p_actor private.actor, p_args jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_session_id uuid;
  v_step public.transition_proofs;
begin
  select s.* into v_sale from public.sales s
    where s.id = (p_args ->> 'id')::uuid and s.site_id = p_site.id;
  if v_sale.call_id is not null and private.has_ledger(v_sale.id) then
    return private.undo_step(p_site, p_actor,
      p_args - 'expectedVersion' || jsonb_build_object('id', v_sale.call_id));
  end if;
  -- The call, then its visit, then the sale, as everywhere.
  select c.session_id into v_session_id
    from public.calls c where c.id = v_sale.call_id for update;
  perform private.lock_visit(v_session_id);
  perform private.hold_followed(v_sale);
  v_sale := private.take_sale(p_site, p_args);
  v_step := private.last_sale_step(v_sale);
  if v_step.id is null then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_step.occurred_at < private.current_moment() - private.undo_window() then
    perform private.fail(409, 'UNDO_EXPIRED');
  end if;
  if v_step.id is distinct from coalesce((p_args ->> 'proofId')::uuid,
       case when v_step.actor_id is not distinct from p_actor.id then v_step.id end) then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object(
      'status', v_sale.status, 'version', v_sale.version));
  end if;
  if v_step.from_state = v_step.to_state then
    return private.correct_amount(p_site, p_actor, jsonb_build_object(
      'id', v_sale.id,
      'amountCents', v_step.facts -> 'amountBeforeCents',
      'valueSource', coalesce(v_step.facts ->> 'sourceBefore', 'OPERATOR'),
      'undoes', v_step.id,
      'requestHash', p_args ->> 'requestHash'));
  end if;
  return private.move_sale(p_site, p_actor, p_args || jsonb_build_object(
    'to', case v_step.to_state when 'CONFIRMED' then 'CANCELED' else v_step.from_state end,
    'isUndo', true));
end
$$;
create function public.undo_sale(
  p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(
    private.require_open_site(p_public_id, 'operator'), 'sale.undo', p_key, p_request_hash,
    jsonb_strip_nulls(jsonb_build_object(
      'effect', 'undoSale',
      'id', p_undo -> 'id',
      'proofId', p_undo -> 'proofId',
      'expectedVersion', p_undo -> 'expectedVersion')))
$$;

-- 08_queue/enqueue.sql
create function private.enqueue(
  p_sale public.sales, p_kind text, p_by_hand_reason text default null,
  p_not_before timestamptz default null
) returns void
language sql security definer set search_path = ''
as $$
  with salted as materialized (select gen_random_uuid() as salt),
  queued as (insert into public.offline_conversion_queue (site_id, sale_id, call_id, kind, order_id,
      snapshot_id, value_cents, currency, conversion_time, conversion_name, conversion_action,
      may_have_arrived, handed_value_cents, handed_values_differ, handed_via, handed_vias_differ,
      click_expires_at, not_before, by_hand_reason, created_at, updated_at, identifiers_hash,
      click_kind)
    select p_sale.site_id, p_sale.id, p_sale.call_id, p_kind, p_sale.order_id,
      r.id, r.amount_cents, r.currency, p_sale.occurred_at,
      (select o.conversion_name from public.offline_conversion_queue o
       where o.sale_id = p_sale.id and o.conversion_name is not null
       order by o.created_at, o.id limit 1),
      case when d.id is not null then d.conversion_action else o.conversion_action end,
      o.id is not null, o.handed_value_cents,
      coalesce(o.handed_values_differ, false), o.handed_via, coalesce(o.handed_vias_differ, false),
      case when p_kind = 'CONVERSION'   -- the sale's time if the click was erased
        then coalesce(p_sale.clicked_at, p_sale.occurred_at) + private.click_life()
        else p_sale.occurred_at + private.adjustments_end() end,
      greatest(n.now + make_interval(mins => s.send_delay_minutes), p_sale.occurred_at,
        p_not_before,
        case p_kind when 'CONVERSION'
          then p_sale.clicked_at + make_interval(hours => s.click_min_age_hours) end),
      -- A correction that waited for an answer is not older than what it corrects.
      p_by_hand_reason, greatest(n.now, d.dispatched_at), n.now,
      case p_kind when 'CONVERSION' then private.identifiers_hash(
        t.salt, p_sale.gclid, p_sale.wbraid, p_sale.gbraid, null, null) end,
      case p_kind when 'CONVERSION' then private.click_kind(p_sale) end
    from public.sites s cross join salted t
      cross join private.newest_snapshot(p_sale.id) r
      cross join (select private.current_moment() as now) n
      left join private.standing_dispatches d
        on d.sale_id = p_sale.id and d.provider_key = 'google_ads'
      left join lateral (
        select x.* from public.offline_conversion_queue x
        where p_kind = 'CONVERSION' and x.sale_id = p_sale.id and x.kind = 'CONVERSION'
          and x.may_have_arrived
        order by x.created_at desc, x.id desc limit 1) o on true
    where s.id = p_sale.site_id
    -- A row of this kind went back to waiting at this moment: its claim takes the newest snapshot.
    on conflict do nothing
    returning id, created_at)
  insert into public.dispatch_identifiers (queue_id, site_id, gclid, wbraid, gbraid, salt,
      handed_at)
    select q.id, p_sale.site_id, p_sale.gclid, p_sale.wbraid, p_sale.gbraid, t.salt, q.created_at
    from queued q cross join salted t where p_kind = 'CONVERSION'
$$;
create function private.click_kind(p_sale public.sales) returns text
language sql immutable
as $$
  select case when p_sale.gclid is not null then 'gclid'
    when p_sale.gbraid is not null then 'gbraid' when p_sale.wbraid is not null then 'wbraid' end
$$;
create function private.close_waiting(
  p_sale_id uuid, p_kinds text[], p_code text, p_message text
) returns void
language sql security definer set search_path = ''
as $$
  update public.offline_conversion_queue q
    set state = 'FAILED', status = 'FAILED', next_retry_at = null, last_error = p_message,
        provider_error_code = p_code,
        provider_error_category =
          case p_code when 'ADJUSTMENT_EXPIRED' then 'VALIDATION' else 'DETERMINISTIC_SKIP' end,
        updated_at = private.current_moment()
    where q.sale_id = p_sale_id and q.kind = any (p_kinds)
      and q.claim_token is null
      and (q.state = any (private.waiting_states()) or (q.state = 'FAILED'
        and (q.next_retry_at is not null or q.provider_error_category = 'AUTH')))
$$;
create function private.adjustment_expired_message() returns text
language sql immutable set search_path = ''
as $$
  select 'Google takes no correction 54 days after the sale; it keeps the last value it was sent.'
$$;
create function private.may_send(p_sale public.sales, p_kind text) returns boolean
language sql immutable
as $$
  select p_sale.delivery_block is null and (p_kind <> 'CONVERSION'
    or coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null)
$$;
create function public.get_pending_conversions_for_worker(p_site_id uuid, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', t.id,
      'kind', t.kind,
      'orderId', t.order_id,
      'valueCents', t.value_cents,
      'currency', t.currency,
      'conversionTime', t.conversion_time,
      'attemptCount', t.attempt_count)
    order by t.eligible_at, t.created_at, t.id), '[]')
  from (
    select q.*, coalesce(q.next_retry_at, '-infinity') as eligible_at
    from public.offline_conversion_queue q join public.sales s on s.id = q.sale_id
    where q.site_id = p_site_id and q.provider_key = 'google_ads'
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and (s.seal_status = 'sealed' or q.kind = 'RETRACT')
      and q.not_before <= private.current_moment()
      and coalesce(q.next_retry_at, '-infinity') <= private.current_moment()
      and q.click_expires_at > private.current_moment()
    order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id
    limit least(greatest(p_limit, 1), 1000)) t
$$;

-- 08_queue/fold_queue_counts.sql
create function public.fold_queue_counts() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('queue_counts')) then
    return jsonb_build_object('folded', 0);
  end if;
  with taken as (
    delete from private.queue_count_deltas d where d.ctid = any (array(
      select x.ctid from private.queue_count_deltas x limit 50000))
    returning d.*),
  lines as (
    select t.site_id, t.provider_key, x.state, t.currency, x.code, x.category,
      x.sign * t.row_count as row_count, x.sign * t.value_cents as value_cents, t.hour
    from taken t cross join lateral (values
      (t.state, t.code, t.category, 1), (t.from_state, '', '', -1)) x (state, code, category, sign)
    where x.state is not null),
  added as (
    insert into private.queue_counts as c
      select l.site_id, l.provider_key, l.state, l.currency, l.code, l.category,
        sum(l.row_count), sum(l.value_cents)
      from lines l group by 1, 2, 3, 4, 5, 6
      on conflict (site_id, provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  checked as (
    insert into private.queue_check_counts as c
      select l.provider_key, l.state, l.currency, l.code, l.category,
        sum(l.row_count), sum(l.value_cents)
      from lines l join private.queue_check k on k.site_id = l.site_id and l.hour < k.through
      group by 1, 2, 3, 4, 5
      on conflict (provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  noted as (
    insert into private.queue_outcomes as o
      select t.site_id, private.quarter_of(t.outcome_at), t.state, t.code, sum(t.outcome_count)
      from taken t where t.outcome_count > 0 group by 1, 2, 3, 4
      on conflict (site_id, quarter, outcome, code)
      do update set row_count = o.row_count + excluded.row_count),
  metered as (
    insert into private.upload_metric_deltas (site_id, provider_key, attempts, completed, failed,
        retry, at)
      select t.site_id, t.provider_key, sum(t.arrived_tries), sum(t.arrived_tries), 0, 0,
        max(t.outcome_at)
      from taken t where t.arrived_tries > 0 group by 1, 2)
  select count(*) into v_folded from taken;
  delete from private.queue_counts c where c.row_count = 0 and c.value_cents = 0;
  perform private.fold_upload_metrics();
  return jsonb_build_object('folded', v_folded);
end
$$;

-- 08_queue/queue_domains.sql
create domain private.row_count as int
  constraint counts_are_not_negative check (value >= 0);
create domain private.free_waits as int
  constraint free_waits_are_bounded check (value between 0 and 20);
create domain private.queue_kind as text
  constraint kind_is_known check (value in ('CONVERSION', 'RESTATE', 'RETRACT'));
create domain private.error_message as text
  constraint error_messages_are_bounded check (char_length(value) <= 1024);
create domain private.error_code as text
  constraint error_codes_are_bounded check (char_length(value) <= 64);
create domain private.error_category as text
  constraint error_category_is_known check (value in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT', 'DETERMINISTIC_SKIP'));
create domain private.by_hand_reason as text
  constraint by_hand_reason_is_known check (value in
    ('NO_ADS_API_ACCESS', 'SENT_BY_SCRIPT', 'WBRAID_ONLY', 'NO_VERDICT', 'OTHER_ACCOUNT'));
create domain private.transport as text
  constraint transport_is_known check (value in ('script', 'data_manager', 'ads_api', 'by_hand'));
create domain private.provider_text as text
  constraint provider_texts_are_bounded check (char_length(value) <= 256);
create domain private.verdict as text
  constraint verdict_is_known check (value in ('CONFIRMED', 'REJECTED', 'DUPLICATE', 'UNKNOWN'));

-- 08_queue/offline_conversion_queue.sql
create table public.offline_conversion_queue (
  id uuid not null default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null,
  snapshot_id uuid not null,
  value_cents bigint not null,
  conversion_time timestamptz not null,
  click_expires_at timestamptz not null,
  not_before timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  attempt_base private.row_count not null default 0,
  free_waits private.free_waits not null default 0,
  tries int not null default 0,
  is_plain boolean not null default false,
  may_have_arrived boolean not null default false,
  is_certain boolean not null default true,
  is_retryable boolean not null default false,
  provider_key text not null default 'google_ads',
  kind private.queue_kind not null default 'CONVERSION',
  state text not null default 'QUEUED',
  currency text not null,
  order_id text not null,
  call_id uuid,
  channel text,
  click_kind text,
  next_retry_at timestamptz,
  last_error private.error_message,
  provider_error_code private.error_code,
  provider_error_category private.error_category,
  attempt_error private.error_message,
  attempt_error_code private.error_code,
  attempt_error_category private.error_category,
  by_hand_reason private.by_hand_reason,
  uploaded_at timestamptz,
  transport private.transport,
  provider_request_id private.provider_text,
  record_index int,
  verdict private.verdict,
  verdict_reason private.provider_text,
  verdict_at timestamptz,
  delivered_in bigint,
  identifiers_hash text,
  attempt_count int not null default 0,
  claimed_at timestamptz,
  claim_token uuid,
  claimed_in bigint,
  claimed_from text,
  handed_snapshot_id uuid,
  handed_value_cents bigint,
  handed_values_differ boolean not null default false,
  handed_vias_differ boolean not null default false,
  handed_via text,
  conversion_name text,
  conversion_action text,
  claims uuid[] not null default '{}',
  status text not null default 'QUEUED'
) partition by list (state);

-- 08_queue/queue_delivered.sql
create table private.queue_delivered partition of public.offline_conversion_queue (
  primary key (id),
  uploaded_at not null,
  status default 'COMPLETED',
  conversion_name not null,
  constraint data_manager_cannot_retract check (kind <> 'RETRACT' or transport <> 'data_manager')
) for values in ('COMPLETED')
with (autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

-- 11_delivery/provider_dispatches.sql
create table private.assumed_dispatches (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  queue_id uuid not null,
  sale_id uuid not null,
  snapshot_id uuid not null,
  kind text not null,
  provider_key text not null,
  transport text not null,
  order_id text not null,
  conversion_name text not null,
  conversion_action text,
  conversion_time timestamptz not null,
  value_cents bigint not null,
  currency text not null,
  identifiers_hash text,
  click_kind text,
  is_certain boolean not null,
  dispatched_at timestamptz not null,
  verdict text not null,
  verdict_reason text not null,
  verdict_at timestamptz not null,
  constraint assumed_verdict_is_known check (verdict in ('UNKNOWN', 'REJECTED'))
);
create view public.provider_dispatches with (security_invoker = true) as
  select q.id, q.site_id, q.id as queue_id, q.sale_id, q.snapshot_id, q.kind::text, q.provider_key,
    q.transport::text, q.order_id, q.conversion_name, q.conversion_action, q.conversion_time,
    q.value_cents, q.currency,
    case when q.transport <> 'by_hand' then q.identifiers_hash end as identifiers_hash,
    case when q.transport <> 'by_hand' then q.click_kind end as click_kind,
    q.is_certain, q.provider_request_id::text, q.record_index, q.uploaded_at as dispatched_at,
    q.verdict::text, q.verdict_reason::text, q.verdict_at, q.is_retryable
  from private.queue_delivered q
  union all
  select a.id, a.site_id, a.queue_id, a.sale_id, a.snapshot_id, a.kind, a.provider_key,
    a.transport, a.order_id, a.conversion_name, a.conversion_action, a.conversion_time,
    a.value_cents, a.currency, a.identifiers_hash, a.click_kind, a.is_certain, null, null,
    a.dispatched_at, a.verdict, a.verdict_reason, a.verdict_at, false
  from private.assumed_dispatches a;
create view private.standing_dispatches as
  select distinct on (d.sale_id, d.provider_key) d.*
  from public.provider_dispatches d where d.verdict is distinct from 'REJECTED'
    and (d.transport <> 'by_hand' or exists (select from public.provider_dispatches c
      where c.sale_id = d.sale_id and c.provider_key = d.provider_key and c.kind = 'CONVERSION'
        and c.verdict is distinct from 'REJECTED'))
  order by d.sale_id, d.provider_key, d.dispatched_at desc, d.id desc;

-- 08_queue/follow_ledger.sql
create function private.needed_kind(
  p_sale public.sales, p_standing private.standing_dispatches, p_again text
) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  -- One that may have arrived is sent again with its order id, if it still can be: automatically if
  -- nobody answered, otherwise when a person asks for it.
  v_is_again boolean := p_standing.verdict is not distinct from 'UNKNOWN'
    and (p_standing.kind = p_again or exists (select from public.offline_conversion_queue q
      where q.sale_id = p_sale.id and q.kind = p_standing.kind
        and q.state = any (private.waiting_states()) and q.created_at >= p_standing.dispatched_at));
  v_is_resendable boolean := p_standing.id is null
    or (coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null
      and p_standing.verdict is not distinct from 'UNKNOWN'
      and (p_standing.verdict_reason is not distinct from 'NEVER_ANSWERED'
        or v_is_again and p_standing.kind = 'CONVERSION'));
begin
  return case
    when v_is_resendable and p_sale.status = 'CONFIRMED' then 'CONVERSION'
    when p_standing.id is null or p_standing.kind = 'RETRACT' then null
    when p_sale.status = 'CANCELED' then 'RETRACT'
    when p_standing.value_cents <> p_sale.amount_cents or not p_standing.is_certain
      or v_is_again and p_standing.kind = 'RESTATE'
      -- One that was handed out since and never completed may have arrived.
      or exists (select from public.offline_conversion_queue q
        where q.sale_id = p_sale.id and q.kind = 'RESTATE' and q.state <> 'COMPLETED'
          and q.created_at >= p_standing.dispatched_at
          and (q.handed_value_cents <> p_sale.amount_cents or q.handed_values_differ))
      then 'RESTATE' end;
end
$$;
create function private.follow_ledger(
  p_sale_id uuid, p_again text default null, p_not_before timestamptz default null
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_standing private.standing_dispatches;
  v_newest public.revenue_snapshots := private.newest_snapshot(p_sale_id);
  v_needed text;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id;
  -- An in-flight row returned after consent was withdrawn.
  if v_sale.delivery_block is not null then
    perform private.close_waiting(p_sale_id, '{CONVERSION,RESTATE,RETRACT}', v_sale.delivery_block,
      'The visitor withdrew consent before Google was told.');
    perform private.forget_identifiers(array[p_sale_id]);
    if not private.assume_arrival(p_sale_id) then
      return;
    end if;
    -- As with a late success: changes of the sale must be sent to Google.
    update public.sales s set delivery_block = null, updated_at = v_now
      where s.id = p_sale_id returning s.* into v_sale;
  end if;
  -- Rows are for Google Ads.
  select d.* into v_standing from private.standing_dispatches d
    where d.sale_id = p_sale_id and d.provider_key = 'google_ads';
  if v_standing.id is null and v_sale.status = 'CANCELED' and private.assume_arrival(p_sale_id) then
    select d.* into v_standing from private.standing_dispatches d
      where d.sale_id = p_sale_id and d.provider_key = 'google_ads';
  end if;
  v_needed := private.needed_kind(v_sale, v_standing, p_again);

  if v_needed is distinct from 'CONVERSION' then
    perform private.close_waiting(p_sale_id, '{CONVERSION}',
      case when v_sale.status = 'CANCELED' then 'SALE_CANCELLED'
        when v_standing.verdict_reason = 'NEVER_ANSWERED' then 'NO_CONSENT' else 'SUPERSEDED' end,
      'The sale changed before Google was told.');
  end if;
  perform private.close_waiting(
    p_sale_id, array_remove('{RESTATE,RETRACT}', v_needed), 'SUPERSEDED',
    case when v_standing.id is null
      then 'Google rejected the conversion: there is nothing to adjust.'
      else 'A later change of the sale made this one needless.' end);
  if v_needed is null then
    return;
  end if;
  if v_needed <> 'CONVERSION' and v_sale.occurred_at <= v_now - private.adjustments_end() then
    perform private.close_waiting(p_sale_id, array[v_needed], 'ADJUSTMENT_EXPIRED',
      private.adjustment_expired_message());
    return;
  end if;
  update public.offline_conversion_queue q
    set snapshot_id = v_newest.id, value_cents = v_newest.amount_cents, updated_at = v_now
    where q.sale_id = p_sale_id and q.kind = v_needed
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and q.snapshot_id <> v_newest.id;
  if v_needed = 'CONVERSION' then
    -- The row of a sale that was cancelled and sealed again is queued again: the same conversion
    -- with the same order id.
    update public.offline_conversion_queue q
      set state = 'QUEUED', status = 'QUEUED', snapshot_id = v_newest.id,
          value_cents = v_newest.amount_cents, next_retry_at = null, attempt_base = q.attempt_count,
          provider_error_code = null, provider_error_category = null, last_error = null,
          updated_at = v_now,
          not_before = greatest(q.not_before, v_now + (
            select make_interval(mins => s.send_delay_minutes)
            from public.sites s where s.id = q.site_id))
      where q.id = (select x.id from public.offline_conversion_queue x
        where x.sale_id = p_sale_id and x.kind = 'CONVERSION' and x.state = 'FAILED'
          and x.provider_error_code = 'SALE_CANCELLED'
        order by x.created_at desc, x.id desc limit 1);
  end if;
  if v_needed = p_again
     -- Google rejected it temporarily while the sale was cancelled; the sale came back.
     or (v_needed = 'CONVERSION' and exists (select from public.provider_dispatches d
           where d.sale_id = p_sale_id and d.kind = 'CONVERSION' and d.verdict = 'REJECTED'
           having count(*) < 5 and (array_agg(d.is_retryable
             order by d.dispatched_at desc, d.id desc))[1])
         and not exists (select from public.offline_conversion_queue q
           where q.sale_id = p_sale_id and q.kind = 'CONVERSION' and q.state <> 'COMPLETED'))
     or not exists (select from public.offline_conversion_queue q
       where q.sale_id = p_sale_id and q.kind = v_needed
         and (q.state = any (private.waiting_states()) or v_needed = 'CONVERSION'
           -- An operator retries one that failed with this value: retried automatically, it
           -- would fail for ever.
           or (q.state = 'FAILED' and q.snapshot_id = v_newest.id
             and q.provider_error_code <> 'SUPERSEDED')
           -- So is one that Google rejected.
           or (q.snapshot_id = v_newest.id and exists (
             select from public.provider_dispatches d where d.sale_id = p_sale_id
               and d.queue_id = q.id and d.verdict = 'REJECTED')))) then
    perform private.enqueue(v_sale, v_needed,
      case when v_needed = 'CONVERSION' then null
        when exists (select from public.provider_dispatches d
          where d.sale_id = p_sale_id and d.kind = 'CONVERSION' and d.click_kind = 'wbraid'
            and d.verdict is distinct from 'REJECTED') then 'WBRAID_ONLY'
        when private.is_elsewhere(v_sale.site_id, v_standing.conversion_action)
          then 'OTHER_ACCOUNT' end,
      greatest(case when v_needed = p_again then p_not_before end,
        case when v_needed = 'RESTATE' then (
          select v_now + interval '1 day' from public.offline_conversion_queue q
          where q.id = v_standing.queue_id and q.handed_vias_differ
            and q.handed_values_differ) end));
  end if;
end
$$;
create function private.assume_arrival(p_sale_id uuid) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  with assumed as (
    update public.offline_conversion_queue q set may_have_arrived = false, updated_at = v_now
      where q.sale_id = p_sale_id and q.kind = 'CONVERSION' and q.may_have_arrived
        and (q.status in ('QUEUED', 'RETRY', 'FAILED') or q.status = 'COMPLETED'
          and not exists (select from public.provider_dispatches d where d.sale_id = p_sale_id
            and d.queue_id = q.id and d.verdict is distinct from 'REJECTED'))
      returning q.*)
  insert into private.assumed_dispatches (site_id, queue_id, sale_id, snapshot_id, kind,
      provider_key, transport, order_id, conversion_name, conversion_action, conversion_time,
      value_cents, currency, identifiers_hash, click_kind, is_certain, dispatched_at, verdict,
      verdict_reason, verdict_at)
    select a.site_id, a.id, a.sale_id, a.handed_snapshot_id, a.kind, a.provider_key,
      coalesce(a.handed_via, 'script'), a.order_id, a.conversion_name, a.conversion_action,
      a.conversion_time, a.handed_value_cents, a.currency, a.identifiers_hash, a.click_kind,
      not exists (select from assumed o where o.handed_values_differ
        or o.handed_value_cents <> a.handed_value_cents),
      v_now, 'UNKNOWN', 'NEVER_ANSWERED', v_now
    from assumed a where a.handed_snapshot_id is not null
    order by a.created_at desc, a.id desc limit 1;   -- one: they have one order id and action
  return found;
end
$$;

-- 08_queue/judge_queue_rows.sql
create function private.operator_actions() returns text[]
language sql immutable set search_path = ''
as $$ select '{RETRY_SELECTED,RESET_TO_QUEUED,MARK_FAILED}'::text[] $$;
create function private.action_statuses(p_action text) returns text[]
language sql immutable set search_path = ''
as $$
  select case p_action
    when 'RETRY_SELECTED' then '{FAILED,RETRY}'::text[]
    when 'RESET_TO_QUEUED' then '{QUEUED,RETRY,PROCESSING,FAILED}'
    when 'MARK_FAILED' then private.open_states() end
$$;
create function private.waits_for_person(
  p_kind text, p_status text, p_by_hand_reason text, p_sync_method text
) returns boolean
language sql immutable
as $$
  select p_kind <> 'CONVERSION' and p_status = any (private.waiting_states())
    and (p_sync_method = 'script' or p_by_hand_reason is not null)
$$;
create function private.api_never_adjusts(p_by_hand_reason text) returns boolean
language sql immutable
as $$ select coalesce(p_by_hand_reason in ('WBRAID_ONLY', 'OTHER_ACCOUNT'), false) $$;
create function private.is_followed(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.sales s
      join public.sales o on o.status = 'CONFIRMED' and o.id <> s.id
        and (o.call_id = s.call_id or o.sibling_call_id = s.call_id)
    where s.id = p_sale_id)
$$;
create function private.judge_queue_rows(
  p_site_id uuid, p_action text, p_undoes uuid, p_ids uuid[], p_versions bigint[],
  p_over_api boolean default false, p_alone boolean default false
)
returns table (id uuid, place int, from_status text, to_status text, skipped text)
language plpgsql stable security definer set search_path = ''
  set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query with given as (
    select g.id, min(g.place)::int as place, min(g.version) as version
    from rows from (unnest(p_ids), unnest(p_versions)) with ordinality g (id, version, place)
    group by 1),
  moves as (
    select m.from_state, m.to_state
    from public.contract_moves m
      join public.contracts c
        on c.contract = m.contract and c.contract_version = m.contract_version
    where m.contract = 'conversion' and (p_action = 'UNDO' or not m.undo_only)),
  aimed as (
    select g.id, g.place, g.version, q.version as version_now, q.status, q.kind, q.sale_id,
      q.provider_key, q.created_at, s.status as sale_status,
      -- An adjustment that a later one replaced would undo what Google was sent since.
      coalesce(q.provider_error_code in ('SUPERSEDED', 'NO_CONSENT', 'NEVER_ARRIVED'), false)
        -- Google no longer takes it.
        or q.kind <> 'CONVERSION' and q.click_expires_at <= private.current_moment()
        -- Nothing may be sent of a sale whose visitor withdrew consent.
        or not private.may_send(s, q.kind)
        -- A retraction of a confirmed sale.
        or q.kind = 'RETRACT' and s.status <> 'CANCELED' as is_over,
      private.waits_for_person(q.kind, q.status, q.by_hand_reason, t.oci_sync_method)
        and not (p_over_api and t.oci_sync_method = 'api'
          and not private.api_never_adjusts(q.by_hand_reason)) as is_by_hand,
      case p_action
        when 'UNDO' then u.before ->> 'status'
        when 'MARK_FAILED' then 'FAILED'
        else 'QUEUED' end as to_status
    from given g
      left join private.versioned_queue q on q.id = g.id and q.site_id = p_site_id
      left join public.sales s on s.id = q.sale_id
      left join public.sites t on t.id = q.site_id
      left join private.queue_action_rows u on u.action_id = p_undoes and u.queue_id = g.id),
  judged as materialized (   -- it is read three times
    select a.*, case
      when a.status is null then 'NOT_FOUND'
      when a.version <> a.version_now then 'CHANGED_SINCE'
      when p_action = 'SEND_AGAIN' then (
        select private.why_not_again(q) from public.offline_conversion_queue q where q.id = a.id)
      when p_action <> 'UNDO'
        and a.status <> all ((select private.action_statuses(p_action))::text[])
        then 'ILLEGAL_MOVE'
      when (a.status, a.to_status) not in (select m.from_state, m.to_state from moves m)
        then 'ILLEGAL_MOVE'
      when a.to_status = 'FAILED' then case
        when a.kind = 'RETRACT' and (select private.is_followed(a.sale_id))
        then 'ILLEGAL_MOVE' end
      when a.kind <> 'RETRACT' and a.sale_status = 'CANCELED' then 'SALE_CANCELLED'
      when a.is_over then 'ILLEGAL_MOVE'
      -- Another row of the sale brought it to Google, perhaps to another conversion action.
      when a.status = 'FAILED' and a.kind = 'CONVERSION'
        and exists (select from private.delivered_sales d
          where d.sale_id = a.sale_id and d.provider_key = a.provider_key offset 0)
        then 'ILLEGAL_MOVE'
      when p_action <> 'UNDO' and a.is_by_hand then 'BY_HAND'
      when a.status = 'FAILED'
        and exists (select from public.offline_conversion_queue o
          where o.sale_id = a.sale_id and o.provider_key = a.provider_key and o.kind = a.kind
            and o.state = any (private.waiting_states()) offset 0)
        then 'ALREADY_QUEUED' end as why
    from aimed a)
  -- Two closed rows of one sale cannot both be opened: the newest is.
  select j.id, j.place, j.status, j.to_status, coalesce(j.why, case
      when not p_alone and j.status = 'FAILED' and j.to_status <> 'FAILED' and row_number() over (
          partition by j.sale_id, j.provider_key, j.kind, j.why is null and j.status = 'FAILED'
          order by j.created_at desc, j.id desc) > 1
        then 'ALREADY_QUEUED' end)
  from judged j;
end
$$;
create function private.allowed_actions(p_site_id uuid, p_ids uuid[])
returns table (id uuid, actions jsonb)
language sql stable security definer set search_path = ''
as $$
  select j.id, jsonb_agg(a.action order by a.place)
  from unnest(private.operator_actions()) with ordinality a (action, place)
    cross join lateral private.judge_queue_rows(
      p_site_id, a.action, null, p_ids, null, p_alone => true) j
  where j.skipped is null
  group by 1
$$;

-- 08_queue/move_conversion.sql
create function private.move_conversion(
  p_site public.sites, p_actor private.actor, p_args jsonb
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_row public.offline_conversion_queue;
  v_to text := p_args ->> 'to';
  v_version text;
  v_why text;
  v_proof_id uuid;
begin
  perform private.lock_with_sales(
    private.of_this_site(p_site.id, array[(p_args ->> 'id')::uuid]));
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = (p_args ->> 'id')::uuid and q.site_id = p_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  v_version := private.require_move('conversion', v_row.status, v_to);
  select j.skipped into v_why from private.judge_queue_rows(p_site.id,
    case v_to when 'FAILED' then 'MARK_FAILED' else 'RESET_TO_QUEUED' end,
    null, array[v_row.id], null) j;
  if v_why in ('SALE_CANCELLED', 'ALREADY_QUEUED') then
    perform private.fail(409, v_why);
  elsif v_why is not null then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', v_row.status,
      'to', v_to,
      'contract_version', v_version,
      'allowed', case v_why when 'BY_HAND' then '["FAILED"]'::jsonb else '[]' end));
  end if;
  perform private.act(p_actor, case
    when v_to = 'FAILED' then 'MARK_FAILED'
    when v_row.status in ('FAILED', 'RETRY') then 'RETRY_SELECTED'
    else 'RESET_TO_QUEUED' end);
  update public.offline_conversion_queue q
    set state = v_to, status = v_to, tries = q.attempt_count, claimed_at = null,
        claim_token = null, next_retry_at = null,
        updated_at = v_now, is_plain = q.is_plain and q.attempt_count = 0,
        attempt_base = case v_to when 'QUEUED' then q.attempt_count else q.attempt_base end,
        may_have_arrived = q.may_have_arrived or q.status = 'PROCESSING',
        provider_error_code =
          case when v_to = 'FAILED' then 'MANUAL_FAIL' else q.provider_error_code end,
        provider_error_category =
          case v_to when 'FAILED' then 'PERMANENT' else q.provider_error_category end,
        last_error = case v_to
          when 'FAILED' then left(coalesce(p_args ->> 'reason', 'MANUALLY_MARKED_FAILED'), 1024)
          else q.last_error end
    where q.id = v_row.id;
  if v_row.status = 'PROCESSING' then
    -- It may have arrived, and the sale may have been cancelled meanwhile.
    perform private.follow_ledger(v_row.sale_id);
  end if;
  v_proof_id := private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'conversion',
    'contractVersion', v_version,
    'entityId', v_row.id,
    'from', v_row.status,
    'to', v_to,
    'note', p_args ->> 'reason',
    'requestHash', p_args ->> 'requestHash',
    'facts', jsonb_build_object('saleId', v_row.sale_id, 'attemptCount', v_row.attempt_count)));
  return jsonb_build_object(
    'ok', true,
    'from', v_row.status,
    'to', v_to,
    'contract_version', v_version,
    'proof_id', v_proof_id);
end
$$;

-- 08_queue/offline_conversion_queue.sql
create function private.check_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
  set enable_nestloop = off
as $$
declare
  v_broken text := (
    select case
      when n.state <> 'COMPLETED' and num_nonnulls(n.uploaded_at, n.delivered_in) > 0
        then 'open_rows_were_not_uploaded'
      when n.state = 'COMPLETED' and num_nonnulls(
          n.claim_token, n.provider_error_code, n.provider_error_category, n.last_error) > 0
        then 'completed_rows_are_over'
      when n.state = 'FAILED' and num_nulls(n.provider_error_code, n.provider_error_category) > 0
        then 'failed_rows_say_why'
      when not case n.kind when 'RETRACT' then n.value_cents = 0 else n.value_cents > 0 end
        then 'values_are_sendable'
      when n.by_hand_reason is not null and n.kind = 'CONVERSION'
        then 'only_adjustments_are_made_by_hand'
      when (n.claimed_at is null) <> (n.claim_token is null)
          -- The end of a claim without a delivery makes the row not plain.
          or n.claim_token is null and n.state <> 'COMPLETED' and n.attempt_count > 0 and n.is_plain
          or n.claim_token is not null and n.state not in ('QUEUED', 'RETRY')
        then 'processing_rows_have_a_claim'
      when n.status <> case when n.claim_token is null then n.state else 'PROCESSING' end
        then 'status_is_the_state_and_the_claim'
      when n.state <> 'COMPLETED' and n.tries <> n.attempt_count - (n.claim_token is not null)::int
        then 'tries_are_the_claims_that_ended'
      when n.attempt_count < n.attempt_base then 'attempts_only_grow'
      when n.conversion_name is null and (n.kind <> 'CONVERSION' or n.attempt_count > 0)
        then 'handed_out_rows_have_a_name' end as broken
    from after_rows n order by 1 limit 1);
begin
  if v_broken is not null then
    perform private.refuse_row(tg_table_name, v_broken);
  end if;
  -- One order id is always one conversion at Google: its name stays that of the first hand-out.
  if tg_op = 'UPDATE' then
    if exists (
        select from before_rows b join after_rows n on n.id = b.id
        where b.conversion_name is not null
          and b.conversion_name is distinct from n.conversion_name) then
      perform private.fail(409, 'RECORD_IS_PERMANENT',
        jsonb_build_object('table', tg_table_name, 'operation', tg_op));
    end if;
  end if;
  return null;
end
$$;

-- 08_queue/queue_check.sql
create table private.queue_check (
  is_the_only_row boolean primary key default true check (is_the_only_row),
  site_id uuid,
  through timestamptz,
  rows_counted bigint not null default 0,
  drift jsonb not null default '[]'
);
create table private.queue_check_counts (
  provider_key text not null,
  state text not null,
  currency text not null,
  code text not null,
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  primary key (provider_key, state, currency, code, category)
);
create table private.queue_count_checks (
  id bigint generated always as identity primary key,
  checked_at timestamptz not null,
  rows_counted bigint not null,
  drift jsonb not null
);

-- 08_queue/queue_counts.sql
create table private.queue_counts (
  site_id uuid not null,
  provider_key text not null,
  state text not null,
  currency text not null,
  code text not null,
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  primary key (site_id, provider_key, state, currency, code, category)
);
create table private.queue_count_deltas (
  site_id uuid not null,
  provider_key text not null,
  from_state text,
  state text not null,
  currency text not null,
  code text not null,
  category text not null,
  row_count bigint not null,
  value_cents numeric not null,
  hour timestamptz not null,
  outcome_count bigint not null default 0,
  outcome_at timestamptz,
  arrived_tries bigint not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create function private.count_new_queue_rows() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_count_deltas (site_id, provider_key, state, currency, code, category,
      row_count, value_cents, hour)
    select n.site_id, n.provider_key, n.state, n.currency,
      case n.state when 'FAILED' then n.provider_error_code else '' end,
      case n.state when 'FAILED' then n.provider_error_category else '' end,
      count(*), sum(n.value_cents), private.hour_of(n.created_at)
    from after_rows n group by 1, 2, 3, 4, 5, 6, 9;
  return null;
end
$$;
create function private.count_changed_queue_rows() returns trigger
language plpgsql security definer set search_path = '' set enable_nestloop = off
as $$
begin
  insert into private.queue_count_deltas (site_id, provider_key, state, currency, code, category,
      row_count, value_cents, hour, outcome_count, outcome_at)
    select d.site_id, d.provider_key, d.state, d.currency,
      case d.state when 'FAILED' then d.provider_error_code else '' end,
      case d.state when 'FAILED' then d.provider_error_category else '' end,
      sum(d.n), sum(d.n * d.value_cents), private.hour_of(d.created_at),
      count(d.outcome_at), d.outcome_at
    from (
      select 1 as n, a.site_id, a.provider_key, a.state, a.currency, a.provider_error_code,
        a.provider_error_category, a.value_cents, a.created_at,
        case when a.status in ('COMPLETED', 'FAILED', 'RETRY') and a.status <> b.status
          then a.updated_at end as outcome_at
      from after_rows a join before_rows b on b.id = a.id
      union all
      select -1, b.site_id, b.provider_key, b.state, b.currency, b.provider_error_code,
        b.provider_error_category, b.value_cents, b.created_at, null from before_rows b) d
    group by 1, 2, 3, 4, 5, 6, 9, 11
    having sum(d.n) <> 0 or sum(d.n * d.value_cents) <> 0 or count(d.outcome_at) > 0;
  return null;
end
$$;
create function private.queue_totals(p_site_ids uuid[])
returns table (
  provider_key text, status text, currency text, code text, category text, row_count bigint,
  value_cents bigint
)
language plpgsql stable security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
    select t.provider_key, t.status, t.currency, t.code, t.category,
      sum(t.row_count)::bigint, sum(t.value_cents)::bigint
    from (
      select c.provider_key, c.state as status, c.currency, c.code, c.category, c.row_count,
        c.value_cents
      from private.queue_counts c where c.site_id = any (p_site_ids)
      union all
      select d.provider_key, x.state, d.currency, x.code, x.category, x.sign * d.row_count,
        x.sign * d.value_cents
      from private.queue_count_deltas d cross join lateral (values
          (d.state, d.code, d.category, 1), (d.from_state, '', '', -1))
        x (state, code, category, sign)
      where d.site_id = any (p_site_ids) and x.state is not null
      union all
      select q.provider_key, x.status, q.currency, '', '', x.sign, x.sign * q.value_cents
      from private.queue_leases l
        cross join lateral unnest(l.row_ids) i (id)
        join private.queue_open q on q.id = i.id and q.claim_token = l.token
        cross join lateral (values (q.state, -1), ('PROCESSING', 1)) x (status, sign)
      where l.site_id = any (p_site_ids)) t
    group by 1, 2, 3, 4, 5 having sum(t.row_count) <> 0 or sum(t.value_cents) <> 0;
end
$$;

-- 08_queue/queue_domains.sql
create domain private.request_id as text
  constraint request_id_is_bounded check (char_length(value) between 1 and 256);
create domain private.attempt_category as text
  constraint attempt_category_is_known
    check (value in ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT'));
create domain private.upload_pipeline as text
  constraint pipeline_is_known check (value in ('seals', 'signals'));
create domain private.request_status as text
  constraint request_status_is_known
    check (value in ('PROCESSING', 'SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'LOST'));

-- 08_queue/queue_leases.sql
create table private.queue_leases (
  token uuid primary key,
  site_id uuid not null,
  claimed_at timestamptz not null,
  row_ids uuid[] not null,
  provider_key text,
  pipeline private.upload_pipeline,
  claimed_count int,
  started_in bigint
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create view private.queue_in_flight as
  select q.*, l.claimed_at as leased_at
  from private.queue_leases l
    cross join lateral unnest(l.row_ids) i (id)
    join public.offline_conversion_queue q on q.id = i.id and q.claim_token = l.token
      and q.site_id = l.site_id and q.state in ('QUEUED', 'RETRY');
create view private.open_upload_batches as
  select l.token as batch_id, l.site_id, l.provider_key, l.pipeline, l.claimed_count,
    l.claimed_at as started_at
  from private.queue_leases l where l.claimed_count is not null;
create function private.end_leases(p_tokens uuid[]) returns void
language plpgsql security definer set search_path = ''
  set enable_seqscan = off
as $$
declare
  v_tokens uuid[] := array(
    select l.token from private.queue_leases l where l.token = any (p_tokens)
    for update skip locked);
begin
  delete from private.queue_leases l
    where l.token = any (v_tokens) and l.claimed_count is null and not exists (
      select from private.queue_open q where q.id = any (l.row_ids) and q.claim_token = l.token);
end
$$;
create function private.end_leases_of(p_ids uuid[]) returns void
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
begin
  perform private.end_leases(array(
    select distinct q.claims[1] from public.offline_conversion_queue q where q.id = any (p_ids)));
end
$$;

-- 08_queue/queue_open.sql
create table private.queue_open partition of public.offline_conversion_queue (
  primary key (id)
) for values in ('QUEUED', 'RETRY', 'FAILED')
with (
  fillfactor = 33, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.02
);
create function private.require_sealed_sale() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (select from public.sales s
      where s.id = new.sale_id and s.site_id = new.site_id and s.delivery_block is null
        and case new.kind when 'RETRACT' then exists (
              select from private.standing_dispatches d where d.sale_id = s.id)
            else s.seal_status = 'sealed' end) then
    perform private.fail(409, 'SALE_NOT_SEALED');
  end if;
  return new;
end
$$;
create function private.complete_new_row() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  new.channel := (select c.channel from public.calls c where c.id = new.call_id);
  new.is_plain := new.kind = 'CONVERSION' and new.handed_value_cents is null
    and not new.may_have_arrived
    and not exists (select from public.offline_conversion_queue q where q.sale_id = new.sale_id)
    and not exists (select from public.provider_dispatches d where d.sale_id = new.sale_id)
    -- It may be held until an earlier sale of the lead is taken back.
    and not exists (select from public.sales s
        join public.sales o on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
          and o.status = 'CANCELED'
      where s.id = new.sale_id);
  if not new.is_plain then
    perform private.end_plain_rows(new.sale_id);
  end if;
  return new;
end
$$;
create function private.end_plain_rows(p_sale_id uuid) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  update private.queue_open q set is_plain = false where q.sale_id = p_sale_id and q.is_plain;
end
$$;
create function private.mark_changed_sale() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_others uuid[];
begin
  perform private.end_plain_rows(new.id);
  if new.status = 'CANCELED' and new.call_id is not null then
    v_others := array(
      select s.id from public.sales s where s.call_id = new.call_id and s.id <> new.id
      union select s.id from public.sales s where s.sibling_call_id = new.call_id);
    perform from private.queue_open q where q.sale_id = any (v_others) and q.is_plain
      order by q.id for update;   -- as everybody locks them
    perform private.end_plain_rows(o) from unnest(v_others) o;
  end if;
  return null;
end
$$;

-- 08_queue/queue_outcomes.sql
create table private.queue_outcomes (
  site_id uuid not null,
  quarter timestamptz not null,
  outcome text not null,
  code text not null,
  row_count bigint not null,
  primary key (site_id, quarter, outcome, code)
);
create function private.outcomes_since(p_site_id uuid, p_from timestamptz)
returns table (quarter timestamptz, outcome text, code text, row_count bigint)
language sql stable security definer set search_path = ''
as $$
  select o.quarter, o.outcome, o.code, o.row_count from private.queue_outcomes o
  where o.site_id = p_site_id and o.quarter >= p_from
  union all
  select private.quarter_of(d.outcome_at), d.state, d.code, d.outcome_count
  from private.queue_count_deltas d
  where d.site_id = p_site_id and private.quarter_of(d.outcome_at) >= p_from
    and d.outcome_count > 0
$$;

-- 08_queue/queue_states.sql
create function private.queue_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY', 'PROCESSING', 'COMPLETED', 'FAILED'] $$;
create function private.waiting_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY'] $$;
create function private.open_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY', 'PROCESSING'] $$;
create function private.resting_states() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['QUEUED', 'RETRY', 'COMPLETED', 'FAILED'] $$;

-- 08_queue/queue_transitions.sql
create table private.queue_moves (
  id bigint generated always as identity,
  queue_id uuid not null,
  site_id uuid not null,
  from_status text,
  to_status text not null,
  reason text not null,
  actor_kind text not null,
  actor_id uuid,
  attempt_count int not null,
  provider_error_code text,
  created_at timestamptz not null,
  primary key (queue_id, id)
);
create table private.queue_batch_moves (
  id bigint primary key,
  site_id uuid not null,
  from_status text not null,
  to_status text not null,
  reason text not null,
  actor_kind text not null,
  actor_id uuid,
  created_at timestamptz not null
);
create function private.next_move_id() returns bigint
language sql volatile
as $$ select pg_catalog.nextval('private.queue_moves_id_seq') $$;

-- 11_delivery/provider_upload_attempts.sql
create table private.finished_batches (
  batch_id uuid primary key,
  site_id uuid not null,
  provider_key text not null,
  started_in bigint not null unique,
  finished_in bigint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  claimed_count private.row_count not null,
  completed_count private.row_count not null,
  failed_count private.row_count not null,
  retry_count private.row_count not null,
  duration_ms private.row_count,
  provider_request_id private.provider_text,
  error_code private.error_code,
  error_category private.attempt_category
);

-- 08_queue/queue_transitions.sql
create view public.queue_transitions with (security_invoker = true) as
  select m.id, m.queue_id, m.site_id, m.from_status, m.to_status, m.reason, m.actor_kind,
    m.actor_id, m.attempt_count, m.provider_error_code, m.created_at
  from private.queue_moves m
  union all
  select b.started_in, q.id, q.site_id, q.claimed_from, 'PROCESSING', 'WORKER_CLAIM', 'system',
    null, 1, null, b.started_at
  from public.offline_conversion_queue q
    join private.finished_batches b on b.started_in = q.claimed_in
  union all
  select l.started_in, q.id, q.site_id, q.claimed_from, 'PROCESSING', 'WORKER_CLAIM', 'system',
    null, 1, null, l.claimed_at
  from public.offline_conversion_queue q
    join private.queue_leases l on l.token = any (q.claims) and l.started_in = q.claimed_in
      and l.claimed_count is not null
  union all
  select b.finished_in, q.id, q.site_id, 'PROCESSING', 'COMPLETED', 'WORKER_SETTLE', 'system',
    null, q.attempt_count, null, b.finished_at
  from private.queue_delivered q
    join private.finished_batches b
      on b.started_in = q.claimed_in and b.finished_in = q.delivered_in
  union all
  select b.id, q.id, q.site_id, b.from_status, b.to_status, b.reason, b.actor_kind,
    b.actor_id, q.attempt_count, null, b.created_at
  from private.queue_delivered q join private.queue_batch_moves b on b.id = q.delivered_in;
create function private.act(p_actor private.actor, p_reason text) returns void
language plpgsql set search_path = ''
as $$
begin
  perform set_config('opsmantik.actor_kind', p_actor.kind, true),
    set_config('opsmantik.actor_id', coalesce(p_actor.id::text, ''), true),
    set_config('opsmantik.reason', p_reason, true);
end
$$;
create function private.record_queue_moves() returns trigger
language plpgsql security definer set search_path = '' set enable_nestloop = off
as $$
declare
  v_reason text := coalesce(nullif(current_setting('opsmantik.reason', true), ''), 'UNSTATED');
  v_kind text := coalesce(nullif(current_setting('opsmantik.actor_kind', true), ''), 'system');
  v_actor uuid := nullif(current_setting('opsmantik.actor_id', true), '')::uuid;
begin
  if tg_op = 'INSERT' then
    insert into private.queue_moves (queue_id, site_id, from_status, to_status, reason,
        actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, null, n.status, v_reason,
        v_kind, v_actor, n.attempt_count, n.provider_error_code, n.updated_at
      from after_rows n;
  else
    insert into private.queue_moves (queue_id, site_id, from_status, to_status, reason,
        actor_kind, actor_id, attempt_count, provider_error_code, created_at)
      select n.id, n.site_id, o.status, n.status, v_reason,
        v_kind, v_actor, n.attempt_count, n.provider_error_code,
        greatest(n.updated_at, n.claimed_at)   -- a claim leaves updated_at
      from after_rows n join before_rows o on o.id = n.id;
  end if;
  return null;
end
$$;

-- 08_queue/reconcile_queue_counts.sql
create function private.part_end(p_site_id uuid, p_from timestamptz, p_rows int) returns timestamptz
language sql stable security definer set search_path = '' set enable_sort = off
as $$
  select case when count(*) <= p_rows then 'infinity'
    else greatest(private.hour_of(max(t.created_at)),
      private.hour_of(min(t.created_at)) + interval '1 hour') end
  from (
    select x.created_at from (
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'COMPLETED' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)
      union all
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'FAILED' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)
      union all
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'QUEUED' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)
      union all
      (select q.created_at from public.offline_conversion_queue q
        where q.site_id = p_site_id and q.state = 'RETRY' and q.created_at >= p_from
        order by q.created_at limit p_rows + 1)) x
    order by x.created_at limit p_rows + 1) t
$$;
create function private.count_part(p_site_id uuid, p_from timestamptz, p_to timestamptz)
returns bigint
language sql security definer set search_path = '' set enable_seqscan = off
as $$
  with counted as (
    select q.provider_key, q.state, q.currency,
      case q.state when 'FAILED' then q.provider_error_code else '' end as code,
      case q.state when 'FAILED' then q.provider_error_category else '' end as category,
      count(*) as row_count, sum(q.value_cents) as value_cents
    from unnest(private.resting_states()) s (state)
      cross join lateral (
        select x.* from public.offline_conversion_queue x
        where x.site_id = p_site_id and x.created_at >= p_from and x.created_at < p_to
          and x.state = s.state) q   -- an index holds these
    group by 1, 2, 3, 4, 5),
  taken as (
    delete from private.queue_count_deltas d
      where d.site_id = p_site_id and d.hour >= p_from and d.hour < p_to returning d.*),
  lines as (
    select t.site_id, t.provider_key, x.state, t.currency, x.code, x.category,
      x.sign * t.row_count as row_count, x.sign * t.value_cents as value_cents, t.hour
    from taken t cross join lateral (values
      (t.state, t.code, t.category, 1), (t.from_state, '', '', -1)) x (state, code, category, sign)
    where x.state is not null),
  folded as (
    insert into private.queue_counts as c
      select l.site_id, l.provider_key, l.state, l.currency, l.code, l.category,
        sum(l.row_count), sum(l.value_cents)
      from lines l group by 1, 2, 3, 4, 5, 6
      on conflict (site_id, provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  put_back as (   -- for the fold: what the lines say besides
    insert into private.queue_count_deltas
      select t.site_id, t.provider_key, null, t.state, t.currency, t.code, t.category, 0, 0, t.hour,
        t.outcome_count, t.outcome_at, t.arrived_tries
      from taken t where t.outcome_count > 0),
  summed as (
    insert into private.queue_check_counts as c select t.* from counted t
      on conflict (provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents)
  select coalesce(sum(t.row_count), 0)::bigint from counted t
$$;
create function private.correct_counts(p_site_id uuid) returns jsonb
language sql security definer set search_path = ''
as $$
  with wrong as (
    select p_site_id as site_id, d.provider_key, d.state, d.currency, d.code, d.category,
      sum(d.row_count)::bigint as n, sum(d.value_cents) as v
    from (
      select t.* from private.queue_check_counts t
      union all
      select c.provider_key, c.state, c.currency, c.code, c.category, -c.row_count, -c.value_cents
      from private.queue_counts c where c.site_id = p_site_id) d
    group by 2, 3, 4, 5, 6 having sum(d.row_count) <> 0 or sum(d.value_cents) <> 0),
  put_right as (
    insert into private.queue_counts as c select w.* from wrong w
      on conflict (site_id, provider_key, state, currency, code, category) do update
        set row_count = c.row_count + excluded.row_count,
            value_cents = c.value_cents + excluded.value_cents),
  done as (delete from private.queue_check_counts)
  select coalesce(jsonb_agg(to_jsonb(w)), '[]') from wrong w
$$;
create function public.reconcile_queue_counts(p_limit int default 5000) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_check private.queue_check;
  v_left int := least(greatest(p_limit, 1), 50000);
  v_end timestamptz;
  v_rows bigint;
  v_more boolean := true;
begin
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('queue_counts')) then
    return jsonb_build_object('rowsCounted', null, 'drift', 0, 'more', true);
  end if;
  select k.* into v_check from private.queue_check k;
  for v_turn in 1 .. 100 loop
    if v_check.through is null then   -- the next site; an id is never all zeroes
      select s.id, '-infinity' into v_check.site_id, v_check.through from public.sites s
        where s.id > coalesce(v_check.site_id, '00000000-0000-0000-0000-000000000000')
        order by s.id limit 1;
      v_more := found;
      exit when not found;
    end if;
    v_end := private.part_end(v_check.site_id, v_check.through, v_left);
    v_rows := private.count_part(v_check.site_id, v_check.through, v_end);
    v_check.rows_counted := v_check.rows_counted + v_rows;
    v_check.through := v_end;
    if v_end = 'infinity' then
      v_check.drift := v_check.drift || private.correct_counts(v_check.site_id);
      delete from private.queue_outcomes o where o.site_id = v_check.site_id
        and o.quarter < private.current_moment() - interval '100 days';   -- charts go back 90
      v_check.through := null;
    end if;
    v_left := v_left - v_rows;
    exit when v_left <= 0;
  end loop;
  if not v_more then
    insert into private.queue_count_checks (checked_at, rows_counted, drift)
      values (private.current_moment(), v_check.rows_counted, v_check.drift);
  end if;
  update private.queue_check k set
    site_id = case when v_more then v_check.site_id end, through = v_check.through,
    rows_counted = case when v_more then v_check.rows_counted else 0 end,
    drift = case when v_more then v_check.drift else '[]' end;
  return jsonb_build_object('rowsCounted', v_check.rows_counted,
    'drift', jsonb_array_length(v_check.drift), 'more', v_more);
end
$$;

-- 09_claims/claim_conversions.sql
create function public.claim_offline_conversion_rows_for_script_export(
  p_ids uuid[], p_site_id uuid, p_max_attempts int default private.max_attempts(),
  p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_name text;
  v_is_paused boolean;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  select private.conversion_name(s, 'seal'), private.is_paused(s) into v_name, v_is_paused
    from public.sites s where s.id = p_site_id and s.oci_sync_method = 'script' for share;
  if v_name is null then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  if cardinality(p_ids) > 1000 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
  end if;
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from private.queue_open q
    where q.id = any (p_ids) and q.site_id = p_site_id and not v_is_paused
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and q.kind = 'CONVERSION' and q.not_before <= v_now
      and coalesce(q.next_retry_at, '-infinity') <= v_now
      and q.click_expires_at > v_now
      and q.attempt_count - q.attempt_base < p_max_attempts
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id
    for update skip locked) t;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_EXPORT');
  return jsonb_build_object('token', v_token,
    'rows', private.hand_out(v_ids, v_sale_ids, null, v_token, v_name));
end
$$;
create function private.lock_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, p_transport text,
  p_plain_too boolean, out row_ids uuid[], out sale_ids uuid[], out vias text[]
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
as $$
begin
  if p_plain_too then
    select array_agg(t.id), array_agg(t.sale_id), array_agg(t.via)
      into row_ids, sale_ids, vias from (
        select q.id, q.sale_id,
          case when q.adjusts_via = 'ads_api' then 'ads_api' else p_transport end as via
        from private.sendable_queue q
        where q.site_id = p_site_id and q.provider_key = p_provider_key
          and q.attempt_count - q.attempt_base < p_max_attempts
        order by q.eligible_at, q.created_at, q.id limit p_limit for update skip locked) t;
  else
    select array_agg(t.id), array_agg(t.sale_id), array_agg(t.via)
      into row_ids, sale_ids, vias from (
        select q.id, q.sale_id,
          case when q.adjusts_via = 'ads_api' then 'ads_api' else p_transport end as via
        from private.sendable_queue q
        where q.site_id = p_site_id and q.provider_key = p_provider_key
          and q.attempt_count - q.attempt_base < p_max_attempts
          and not q.is_plain
        order by q.eligible_at, q.created_at, q.id limit p_limit for update skip locked) t;
  end if;
end
$$;
create function private.their_turn(
  p_site_id uuid, p_provider_key text, p_row_ids uuid[], p_limit int
) returns int
language sql stable security definer set search_path = ''
as $$
  select count(*) from (
    select t.is_plain from (
      (select true as is_plain, coalesce(q.next_retry_at, '-infinity') as eligible_at,
         q.created_at, q.id
       from private.queue_open q
       where q.site_id = p_site_id and q.provider_key = p_provider_key
         and q.state in ('QUEUED', 'RETRY') and q.claim_token is null
         and q.is_plain
         and coalesce(q.next_retry_at, '-infinity') <= private.current_moment()
         and q.not_before <= private.current_moment()
         and q.click_expires_at > private.current_moment()
       order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit p_limit)
      union all
      select false, coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id
      from private.queue_open q
      where q.id = any (p_row_ids)) t
    order by t.eligible_at, t.created_at, t.id limit p_limit) first
  where not first.is_plain
$$;

-- 09_claims/claim_plain.sql
create type private.handing as (
  token uuid,
  transport text,
  name text,
  action text,
  timezone text
);

-- 09_claims/claim_conversions.sql
create function private.claim_due(
  p_site_id uuid, p_provider_key text, p_limit int, p_max_attempts int, p_by private.handing,
  p_after jsonb, out claimed int, out rows jsonb, out plain json, out last json
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_due record;
  v_turn int;
  v_plain record;
begin
  claimed := 0;
  rows := '[]';
  -- The first in the order of the index: nothing tells the planner how many of them are due.
  if (select coalesce(q.next_retry_at, '-infinity') from private.queue_open q
      where q.site_id = p_site_id and q.provider_key = p_provider_key
        and q.state in ('QUEUED', 'RETRY') and not q.is_plain and q.claim_token is null
      order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit 1)
      <= private.current_moment() then
    v_due := private.lock_due(
      p_site_id, p_provider_key, p_limit, p_max_attempts, p_by.transport, false);
    if v_due.row_ids is not null then
      v_turn := case when p_by.action is null then cardinality(v_due.row_ids)
        else private.their_turn(p_site_id, p_provider_key, v_due.row_ids, p_limit) end;
      perform private.act(('system', null)::private.actor, 'WORKER_CLAIM');
      rows := private.hand_out(v_due.row_ids[1:v_turn], v_due.sale_ids[1:v_turn],
        v_due.vias[1:v_turn], p_by.token, p_by.name);
      claimed := jsonb_array_length(rows);
    end if;
  end if;
  if p_by.action is not null and claimed < p_limit and p_max_attempts > 0 then
    v_plain := private.claim_plain(
      p_site_id, p_provider_key, p_limit - claimed, p_by, p_after, claimed);
    claimed := claimed + v_plain.claimed;
    plain := v_plain.plain;
    last := v_plain.last;
  elsif claimed > 0 then
    perform private.start_batch(p_site_id, p_provider_key, p_by.token, 'seals', claimed);
  end if;
end
$$;
create function public.claim_offline_conversion_jobs_v2(
  p_site_id uuid, p_provider_key text, p_limit int,
  p_max_attempts int default private.max_attempts()
) returns json
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_token uuid := gen_random_uuid();
  v_gate record;
  v_by private.handing;
  v_claimed int;
  v_rows jsonb := '[]';
  v_plain json;
  v_last json;
begin
  select * into v_gate from private.pass_gate(p_site_id, p_provider_key, v_token);
  if v_gate.gate in ('CLOSED', 'HALF_OPEN') then
    select v_token, v_gate.transport, n.name, a.action, s.timezone into v_by
      from public.sites s
        cross join lateral (select private.conversion_name(s, 'seal') as name) n
        left join public.provider_conversion_actions a
          on a.site_id = s.id and a.provider_key = p_provider_key and a.conversion_name = n.name
            and a.blocked_at is null
      where s.id = p_site_id;
    select c.* into v_claimed, v_rows, v_plain, v_last
      from private.claim_due(p_site_id, p_provider_key,
        least(greatest(p_limit, 0), 1000,
          case v_gate.gate when 'HALF_OPEN' then v_gate.probe_limit end),
        p_max_attempts, v_by, null) c;
    if v_claimed = 0 and v_gate.gate = 'HALF_OPEN' then
      perform private.return_probe(p_site_id, p_provider_key, v_token);
    end if;
  end if;
  return json_build_object(
    'token', v_token,
    'gate', v_gate.gate,
    'rows', v_rows,
    'plain', v_plain,
    'batch', json_build_object('credentialsVersion', v_gate.credentials_version),
    'last', v_last);
end
$$;

-- 09_claims/claim_plain.sql
create function private.claim_plain(
  p_site_id uuid, p_provider_key text, p_limit int, p_by private.handing, p_after jsonb,
  p_others int, out claimed int, out plain json, out last json
)
language plpgsql security definer set search_path = ''
  set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
  set enable_seqscan = off set enable_memoize = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_after_at timestamptz := coalesce((p_after ->> 'eligibleAt')::timestamptz, '-infinity');
  v_after_created timestamptz := coalesce((p_after ->> 'createdAt')::timestamptz, '-infinity');
  v_after_id uuid := coalesce(
    (p_after ->> 'id')::uuid, '00000000-0000-0000-0000-000000000000');
  v_claims uuid[] := array[p_by.token];
  v_due record;
  v_line bigint;
  v_written int;
begin
  -- In the order of the index: here nothing hashes or sorts. If it were not, the next claim would
  -- begin elsewhere, and go back to the start within seconds. The inner select stays one: once per
  -- row a salt is drawn and a number hashed.
  select count(*) filter (where d.may_go) as claimed,
      array_agg(d.eligible_at) filter (where d.may_go) as eligible_ats,
      array_agg(d.created_at) filter (where d.may_go) as created_ats,
      array_agg(d.tid) filter (where d.may_go is not true) as left_tids,
      array_agg(d.tid) filter (where d.may_go) as tids,
      array_agg(case when d.salt is not null then private.identifiers_hash(
          d.salt, d.gclid, d.wbraid, d.gbraid, d.phone, d.email) end)
        filter (where d.may_go) as hashes,
      array_agg(row(d.id, p_site_id, d.gclid, d.wbraid, d.gbraid, d.phone, d.email, d.salt,
          v_now)::public.dispatch_identifiers)
        filter (where d.may_go and d.salt is not null) as identified,
      array_agg(d.id) filter (where d.may_go) as row_ids,
      json_build_object(
        'id', json_agg(d.id) filter (where d.may_go),
        'saleId', json_agg(d.sale_id) filter (where d.may_go),
        'orderId', json_agg(d.order_id) filter (where d.may_go),
        'valueCents', json_agg(d.value_cents) filter (where d.may_go),
        'currency', json_agg(d.currency) filter (where d.may_go),
        'conversionTime', json_agg(d.conversion_time) filter (where d.may_go),
        'gclid', json_agg(d.gclid) filter (where d.may_go),
        'wbraid', json_agg(d.wbraid) filter (where d.may_go),
        'gbraid', json_agg(d.gbraid) filter (where d.may_go),
        'customerHash', json_agg(d.phone) filter (where d.may_go),
        'emailHash', json_agg(d.email) filter (where d.may_go),
        'channel', json_agg(d.channel) filter (where d.may_go),
        'consent', json_agg(d.consent) filter (where d.may_go)) as columns
    into v_due
    from (
      select q.*, s.gclid, s.wbraid, s.gbraid,
        case when said.is_given then 'GRANTED' end as consent,
        case when said.is_given then coalesce(s.customer_hash,
          case when c.phone is not null then private.phone_to_send(c) end) end as phone,
        case when said.is_given then s.email_hash end as email,
        case when said.is_given and coalesce(s.customer_hash, c.phone, s.email_hash) is not null
          then gen_random_uuid() end as salt,
        s.status = 'CONFIRMED' and private.may_send(s, 'CONVERSION')
          -- The visitor's choice since then.
          and coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true)
          -- Another sale of the lead that was cancelled at the moment in which this one was queued.
          and not exists (select from public.sales o
            where o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
              and o.status = 'CANCELED') as may_go
      from (
        select q.ctid as tid, q.id, q.sale_id, q.created_at, q.order_id, q.value_cents,
          q.currency, q.conversion_time, q.channel,
          coalesce(q.next_retry_at, '-infinity') as eligible_at
        from private.queue_open q
        where q.site_id = p_site_id and q.provider_key = p_provider_key
          and q.state in ('QUEUED', 'RETRY') and q.claim_token is null and q.is_plain
          and coalesce(q.next_retry_at, '-infinity') <= v_now
          and q.not_before <= v_now and q.click_expires_at > v_now
          and (coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id)
            > (v_after_at, v_after_created, v_after_id)
        order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit p_limit
        for update skip locked) q
        join public.sales s on s.id = q.sale_id
        left join public.calls c on c.id = s.call_id
        left join lateral (
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given
          from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
        cross join lateral (select
          s.call_id is null or s.email_hash is not null or choice.is_given as is_given) said) d;
  claimed := v_due.claimed;
  if claimed > 0 then
    last := json_build_object('eligibleAt', v_due.eligible_ats[claimed],
      'createdAt', v_due.created_ats[claimed], 'id', v_due.row_ids[claimed]);
  end if;
  if v_due.left_tids is not null then   -- from now on lock_due's, which knows why they wait
    update private.queue_open q set is_plain = false where q.ctid = any (v_due.left_tids);
  end if;
  if claimed = 0 and p_others = 0 then
    return;
  end if;
  v_line := private.next_move_id();   -- once all rows are locked: it tells the order of their moves
  if claimed > 0 then
    plain := json_build_object('each', json_build_object('kind', 'CONVERSION',
      'conversionName', p_by.name, 'conversionAction', p_by.action, 'via', p_by.transport,
      'timezone', p_by.timezone, 'attemptCount', 1, 'mayHaveArrived', false),
      'columns', v_due.columns);
    update private.queue_open q
      set status = 'PROCESSING', claimed_at = v_now, claim_token = p_by.token,
          claims = v_claims, attempt_count = 1,
          handed_snapshot_id = q.snapshot_id, handed_value_cents = q.value_cents,
          conversion_name = p_by.name, conversion_action = p_by.action,
          handed_via = p_by.transport, claimed_in = v_line, claimed_from = q.state,
          identifiers_hash = coalesce(t.hash, q.identifiers_hash)
      from unnest(v_due.tids, v_due.hashes) t (tid, hash) where q.ctid = t.tid;
    get diagnostics v_written = row_count;
    if v_written <> claimed then
      raise exception 'A claim locked % rows and wrote %.', claimed, v_written;
    end if;
  end if;
  if v_due.identified is not null then   -- the click ids are there since enqueue
    insert into public.dispatch_identifiers as d select i.* from unnest(v_due.identified) i
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at;
  end if;
  if p_others = 0 then
    insert into private.queue_leases (token, site_id, claimed_at, row_ids, provider_key, pipeline,
        claimed_count, started_in)
      values (p_by.token, p_site_id, v_now, v_due.row_ids, p_provider_key, 'seals', claimed,
        v_line);
  else   -- hand_out claimed others under the same token
    update private.queue_leases l
      set row_ids = l.row_ids || coalesce(v_due.row_ids, '{}'), provider_key = p_provider_key,
          pipeline = 'seals', claimed_count = p_others + claimed, started_in = v_line
      where l.token = p_by.token;
  end if;
end
$$;
create function private.identifiers_hash(
  p_salt uuid, p_gclid text, p_wbraid text, p_gbraid text, p_phone text, p_email text
) returns text
language sql stable
as $$
  select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
    p_salt, p_gclid, p_wbraid, p_gbraid, p_phone, p_email)::text, 'UTF8')), 'hex')
$$;

-- 09_claims/complete_rows.sql
create function private.complete_rows(
  p_site_id uuid, p_done jsonb, p_transport text, p_token uuid default null,
  p_first_poll_seconds int default null, p_customer_id text default null
) returns int
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
declare
  v_group record;
  v_moved record;
  v_known record;
  v_by_hand public.revenue_snapshots;
  v_count int := 0;
  v_rows uuid[] := '{}';
  v_changed uuid[];
  v_unblocked uuid[];
  v_sale_id uuid;
begin
  for v_group in
    select array_agg(g.id) as ids, array_agg(g."recordIndex") as indexes,
      coalesce(g.transport, p_transport) as transport, left(g."requestId", 256) as request_id,
      g.verdict
    from jsonb_to_recordset(p_done)
      g (id uuid, "requestId" text, transport text, "recordIndex" int, verdict text)
    group by 3, 4, 5 order by 4   -- as everybody locks requests
  loop
    perform from private.queue_open q where q.id = any (v_group.ids) order by q.id for update;
    if v_group.transport = 'by_hand' then   -- one row
      v_by_hand := (select private.newest_snapshot(q.sale_id) from private.queue_open q
        where q.id = v_group.ids[1]);
    end if;
    -- Which value Google kept is certain if only one was sent, or if Google confirms it.
    select array_agg((select max(d.dispatched_at) from public.provider_dispatches d
        where d.sale_id = q.sale_id) order by i.place) as after,
      array_agg(v_group.transport = 'by_hand' or not q.handed_values_differ and (
        v_group.verdict is not distinct from 'CONFIRMED' or q.kind <> 'CONVERSION'
        or not exists (select from public.provider_dispatches d where d.sale_id = q.sale_id
          and d.kind = 'CONVERSION'
          and d.value_cents <> coalesce(q.handed_value_cents, q.value_cents)))
        order by i.place) as is_certain
      into v_known
      from unnest(v_group.ids) with ordinality i (id, place)
        left join private.queue_open q on q.id = i.id;
    v_moved := private.deliver_rows(p_site_id, v_group.ids, v_group.indexes,
      (v_group.transport, v_group.request_id, v_group.verdict, p_first_poll_seconds,
        p_customer_id)::private.sent, p_token, v_by_hand, v_known.after, v_known.is_certain);
    v_count := v_count + v_moved.moved;
    v_rows := v_rows || v_moved.row_ids;
  end loop;
  -- Most sales are worth what was sent, with nothing else waiting: follow_ledger is skipped for
  -- them.
  select array_agg(distinct q.sale_id) filter (where q.kind = 'RETRACT' or not q.is_certain
        or s.status <> 'CONFIRMED' or s.amount_cents <> q.value_cents
        or exists (select from private.queue_open o where o.sale_id = q.sale_id
          and o.claim_token is null
          and (o.state = any (private.waiting_states()) or o.next_retry_at is not null))),
      array_agg(distinct q.sale_id) filter (where s.delivery_block is not null)
    into v_changed, v_unblocked
    from private.queue_delivered q join public.sales s on s.id = q.sale_id
    where q.id = any (v_rows);
  -- It arrived although consent was withdrawn meanwhile: changes of the sale must be sent.
  if v_unblocked is not null then
    update public.sales s set delivery_block = null, updated_at = private.current_moment()
      where s.id = any (v_unblocked);
    perform private.forget_identifiers(v_unblocked);
  end if;
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return v_count;
end
$$;
create function public.complete_adjustment_by_hand(p_public_id text, p_done jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_row public.offline_conversion_queue;
  v_newest public.revenue_snapshots;
  v_holds boolean;
  v_proof_id uuid;
begin
  perform private.lock_with_sales(private.of_this_site(v_site.id, array[(p_done ->> 'id')::uuid]));
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = (p_done ->> 'id')::uuid and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_row.status = 'COMPLETED' and v_row.value_cents = (p_done ->> 'valueCents')::bigint then
    return jsonb_build_object('ok', true);
  end if;
  v_holds := v_row.kind = 'RETRACT' and exists (select from private.held_sales h
    join public.sales s on s.id = h.sale_id and s.status = 'CONFIRMED'
    where h.by_row_id = v_row.id);
  if not (private.waits_for_person(
         v_row.kind, v_row.status, v_row.by_hand_reason, v_site.oci_sync_method)
       or v_row.status = 'FAILED' and v_holds)
     or v_row.click_expires_at <= private.current_moment() and not v_holds
     or (v_row.kind = 'RETRACT') <> exists (select from public.sales s
       where s.id = v_row.sale_id and s.status = 'CANCELED') then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', v_row.status,
      'to', 'COMPLETED',
      'allowed', '[]'::jsonb));
  end if;
  v_newest := private.newest_snapshot(v_row.sale_id);
  if v_newest.amount_cents is distinct from (p_done ->> 'valueCents')::bigint then
    perform private.fail(409, 'STALE_VERSION', jsonb_build_object(
      'status', v_row.status,
      'amountCents', v_newest.amount_cents,
      'currency', v_row.currency));
  end if;
  perform private.act(private.user_actor(), 'DONE_BY_HAND');
  perform private.complete_rows(v_site.id,
    jsonb_build_array(jsonb_build_object('id', v_row.id)), 'by_hand');
  v_proof_id := private.prove(v_site.id, private.user_actor(), jsonb_build_object(
    'contract', 'conversion',
    'contractVersion', (
      select c.contract_version from public.contracts c where c.contract = 'conversion'),
    'entityId', v_row.id,
    'from', v_row.status,
    'to', 'COMPLETED',
    'facts', jsonb_build_object(
      'saleId', v_row.sale_id,
      'kind', v_row.kind,
      'valueCents', v_newest.amount_cents,
      'byHand', true)));
  return jsonb_build_object('ok', true, 'proof_id', v_proof_id);
end
$$;

-- 09_claims/deliver_rows.sql
create type private.sent as (
  transport text,
  request_id text,
  verdict text,
  first_poll_seconds int,
  customer_id text
);

-- 09_claims/deliver_plain.sql
create function private.deliver_plain(
  p_site_id uuid, p_provider_key text, p_token uuid, p_ids uuid[], p_indexes int[],
  p_sent private.sent, p_batch jsonb, out moved int, out is_finished boolean
)
language plpgsql security definer set search_path = '' set opsmantik.delivers = 'yes'
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_memoize = off set lock_timeout = '500ms'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_verdict_at timestamptz := case when p_sent.verdict is not null then v_now end;
  v_claims uuid[] := array[p_token];
  v_line bigint := private.next_move_id();
  v_by_place boolean := p_indexes is null and p_sent.transport = 'data_manager';
begin
  -- A plain row was handed out once, as it says, and nothing was known of its sale before.
  with gone as (
    delete from private.queue_open q using unnest(p_ids) with ordinality i (id, place)
      where q.id = i.id and q.site_id = p_site_id and q.provider_key = p_provider_key
        and q.is_plain and q.claim_token = p_token
      returning q.id, q.sale_id, q.snapshot_id, q.value_cents, q.conversion_time,
        q.click_expires_at, q.not_before, q.created_at, q.currency, q.order_id, q.call_id,
        q.channel, q.click_kind, q.identifiers_hash, q.claimed_in, q.claimed_from, q.handed_via,
        q.conversion_name, q.conversion_action,
        case when v_by_place then i.place - 1 else p_indexes[i.place] end as index),
  kept as (
    insert into private.queue_delivered (id, site_id, sale_id, snapshot_id, value_cents,
        conversion_time, click_expires_at, not_before, created_at, updated_at, is_plain,
        provider_key, state, status, currency, order_id, call_id, channel, click_kind, uploaded_at,
        transport, provider_request_id, record_index, verdict, verdict_at, delivered_in,
        identifiers_hash, attempt_count, claimed_in, claimed_from, handed_snapshot_id,
        handed_value_cents, handed_via, conversion_name, conversion_action, claims)
      select g.id, p_site_id, g.sale_id, g.snapshot_id, g.value_cents,
        g.conversion_time, g.click_expires_at, g.not_before, g.created_at, v_now, true,
        p_provider_key, 'COMPLETED', 'COMPLETED', g.currency, g.order_id, g.call_id, g.channel,
        g.click_kind,
        v_now, p_sent.transport, p_sent.request_id, g.index, p_sent.verdict, v_verdict_at, v_line,
        g.identifiers_hash, 1, g.claimed_in, g.claimed_from, g.snapshot_id, g.value_cents,
        g.handed_via, g.conversion_name, g.conversion_action, v_claims
      from gone g),
  sums as materialized (
    select g.claimed_from, g.currency, private.hour_of(g.created_at) as hour, count(*) as n,
      sum(g.value_cents) as value_cents
    from gone g group by 1, 2, 3),
  whole as materialized (
    select sum(s.n)::int as n, sum(s.n)::int = cardinality(p_ids) as is_whole from sums s),
  asked as (
    insert into public.provider_requests as r (site_id, request_id, provider_key, pipeline,
        row_count, row_ids, customer_id, sent_at, next_poll_at)
      select p_site_id, p_sent.request_id, p_provider_key, 'seals', cardinality(p_ids),
        case when w.is_whole then p_ids else array(select g.id from gone g) end,
        p_sent.customer_id, v_now,
        v_now + make_interval(secs => coalesce(p_sent.first_poll_seconds, 1800))
      from whole w
      where w.n > 0 and p_sent.transport = 'data_manager' and p_sent.request_id is not null
        and p_sent.verdict is null
      on conflict (site_id, request_id) do update   -- the rest of a batch: Google is asked again
        set row_ids = r.row_ids || excluded.row_ids, finished_at = null,
            next_poll_at = coalesce(r.next_poll_at, excluded.next_poll_at)),
  over as (
    delete from private.queue_leases l using whole w
      where w.is_whole and l.token = p_token and l.site_id = p_site_id
        and l.claimed_count is not null
      returning w.n, l.started_in, l.claimed_at, l.claimed_count),
  ended as (
    insert into private.finished_batches (batch_id, site_id, provider_key, started_in,
        finished_in, started_at, finished_at, claimed_count, completed_count, failed_count,
        retry_count, duration_ms, provider_request_id)
      select p_token, p_site_id, p_provider_key, o.started_in, v_line, o.claimed_at, v_now,
        o.claimed_count, o.n, 0, 0,
        (p_batch ->> 'durationMs')::int, left(p_batch ->> 'requestId', 256)
      from over o),
  counted as (
    insert into private.queue_count_deltas (site_id, provider_key, from_state, state, currency,
        code, category, row_count, value_cents, hour, outcome_count, outcome_at, arrived_tries)
      select p_site_id, p_provider_key, s.claimed_from, 'COMPLETED', s.currency,
        '', '', s.n, s.value_cents, s.hour, s.n, v_now, case when o.n is null then 0 else s.n end
      from sums s left join over o on true)
  select coalesce(w.n, 0), exists (select from over) into moved, is_finished from whole w;
  if moved > 0 and not is_finished then   -- a line of its own: the batch's comes later, or came
    insert into private.queue_batch_moves (id, site_id, from_status, to_status, reason, actor_kind,
        created_at)
      values (v_line, p_site_id, 'PROCESSING', 'COMPLETED', 'WORKER_SETTLE', 'system', v_now);
  end if;
end
$$;

-- 09_claims/deliver_rows.sql
create function private.deliver_rows(
  p_site_id uuid, p_ids uuid[], p_indexes int[], p_sent private.sent, p_token uuid,
  p_by_hand public.revenue_snapshots, p_after timestamptz[], p_certain boolean[],
  out moved int, out row_ids uuid[]
)
language plpgsql security definer set search_path = '' set opsmantik.delivers = 'yes'
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set lock_timeout = '500ms'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_is_by_hand boolean := p_sent.transport = 'by_hand';
  v_reason text := coalesce(nullif(current_setting('opsmantik.reason', true), ''), 'UNSTATED');
  v_kind text := coalesce(nullif(current_setting('opsmantik.actor_kind', true), ''), 'system');
  v_actor uuid := nullif(current_setting('opsmantik.actor_id', true), '')::uuid;
  -- One line of the ledger for each state that rows leave.
  v_states text[] := '{PROCESSING,QUEUED,RETRY,FAILED}';
  v_lines bigint[] := array(select private.next_move_id() from generate_series(1, 4));
begin
  with gone as (
    delete from private.queue_open q
      using unnest(p_ids, p_indexes, p_after, p_certain) i (id, index, after, is_certain)
      where q.id = i.id and q.site_id = p_site_id
        and (q.attempt_count > 0 or v_is_by_hand) and (p_token is null or p_token = any (q.claims))
      returning q.*, i.index, i.after, i.is_certain as sent_certainly,
        -- A person entered what the sale is worth; everybody else sends what was handed out.
        coalesce((p_by_hand).id, q.handed_snapshot_id, q.snapshot_id) as sent_snapshot_id,
        coalesce((p_by_hand).amount_cents, q.handed_value_cents, q.value_cents) as sent_cents),
  kept as (
    insert into private.queue_delivered (id, site_id, sale_id, call_id, is_plain, provider_key,
        kind, state, status, order_id, snapshot_id, value_cents, currency, conversion_time,
        conversion_name, conversion_action, click_expires_at, not_before, attempt_count,
        attempt_base, free_waits, claims, identifiers_hash, click_kind, handed_snapshot_id,
        handed_value_cents, handed_values_differ, handed_via, handed_vias_differ,
        may_have_arrived, by_hand_reason, uploaded_at, transport, provider_request_id,
        record_index, is_certain, verdict, verdict_at, created_at, updated_at, claimed_in,
        claimed_from, delivered_in, channel)
      select g.id, g.site_id, g.sale_id, g.call_id, g.is_plain, g.provider_key,
        g.kind, 'COMPLETED', 'COMPLETED', g.order_id, g.sent_snapshot_id, g.sent_cents, g.currency,
        g.conversion_time, g.conversion_name, g.conversion_action, g.click_expires_at,
        g.not_before, g.attempt_count, g.attempt_base, g.free_waits, g.claims, g.identifiers_hash,
        g.click_kind, g.handed_snapshot_id, g.handed_value_cents, g.handed_values_differ,
        g.handed_via, g.handed_vias_differ,
        -- This is the answer to the only hand-out, so none is left open.
        g.may_have_arrived and g.attempt_count > 1,
        g.by_hand_reason,
        -- After the newest that is known of the sale, also when this transaction began before
        -- another that it waited for (assume_arrival), so that what Google has is read from it.
        greatest(v_now, g.after + interval '1 microsecond'),
        p_sent.transport, p_sent.request_id, g.index,
        coalesce(g.sent_certainly, true),
        p_sent.verdict, case when p_sent.verdict is not null then v_now end,
        g.created_at, v_now, g.claimed_in, g.claimed_from,
        v_lines[array_position(v_states, g.status)], g.channel
      from gone g),
  sums as materialized (
    select g.provider_key, g.status, g.state, g.currency,
      case g.state when 'FAILED' then g.provider_error_code else '' end as code,
      case g.state when 'FAILED' then g.provider_error_category else '' end as category,
      private.hour_of(g.created_at) as hour,
      count(*) as n, sum(g.value_cents) as value_cents, sum(g.sent_cents) as sent_cents
    from gone g group by 1, 2, 3, 4, 5, 6, 7),
  counted as (
    insert into private.queue_count_deltas (site_id, provider_key, state, currency, code,
        category, row_count, value_cents, hour, outcome_count, outcome_at)
      select p_site_id, s.provider_key, s.state, s.currency, s.code, s.category, -s.n,
        -s.value_cents, s.hour, 0, null from sums s
      union all
      select p_site_id, s.provider_key, 'COMPLETED', s.currency, '', '', s.n, s.sent_cents, s.hour,
        s.n, v_now
      from sums s),
  asked as (
    insert into public.provider_requests as r (site_id, request_id, provider_key, pipeline,
        row_count, row_ids, customer_id, sent_at, next_poll_at)
      select p_site_id, p_sent.request_id, g.provider_key, 'seals', cardinality(p_ids),
        array_agg(g.id), p_sent.customer_id, v_now,
        v_now + make_interval(secs => coalesce(p_sent.first_poll_seconds, 1800))
      from gone g
      where p_sent.transport = 'data_manager' and p_sent.request_id is not null
        and p_sent.verdict is null
      group by g.provider_key
      on conflict (site_id, request_id) do update   -- the rest of a batch: Google is asked again
        set row_ids = r.row_ids || excluded.row_ids, finished_at = null,
            next_poll_at = coalesce(r.next_poll_at, excluded.next_poll_at)),
  recorded as (
    insert into private.queue_batch_moves (id, site_id, from_status, to_status, reason, actor_kind,
        actor_id, created_at)
      select v_lines[array_position(v_states, s.status)], p_site_id, s.status, 'COMPLETED',
        v_reason, v_kind, v_actor, v_now
      from sums s group by s.status)
  select coalesce(sum(s.n), 0), array(select g.id from gone g) into moved, row_ids from sums s;
end
$$;

-- 09_claims/due_conversions.sql
create function public.list_offline_conversion_groups(
  p_limit_groups int default 50, p_max_attempts int default private.max_attempts()
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with due as (
    select g.site_id, g.provider_key, d.queued_count, d.min_next_retry_at, d.min_created_at,
      g.state, g.probe_limit, g.next_probe_at,
      g.state = 'OPEN' and g.next_probe_at <= private.current_moment() as is_probe_due,
      g.served_at
    from private.open_connections g
    cross join lateral (
      select count(*) as queued_count,
        case when bool_or(r.next_retry_at is null) then null else min(r.next_retry_at) end
          as min_next_retry_at,
        min(r.created_at) as min_created_at
      from private.sendable_queue r
      where r.site_id = g.site_id and r.provider_key = g.provider_key
        and r.attempt_count - r.attempt_base < p_max_attempts) d
    where d.queued_count > 0
    order by d.min_next_retry_at nulls first, d.min_created_at, g.site_id
    limit least(greatest(p_limit_groups, 1), 10000))
  select coalesce(jsonb_agg(to_jsonb(due.*)
    order by due.min_next_retry_at nulls first, due.min_created_at, due.site_id), '[]') from due
$$;
create function public.defer_offline_conversion_jobs(
  p_site_id uuid, p_provider_key text, p_limit int, p_until timestamptz, p_code text,
  p_message text, p_jitter_seconds int default 0, p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_due record;
  v_deferred int;
begin
  if not exists (select from private.open_connections c
      where c.site_id = p_site_id and c.provider_key = p_provider_key) then
    return '{"deferred": 0}';
  end if;
  v_due := private.lock_due(p_site_id, p_provider_key, least(greatest(p_limit, 0), 5000),
    p_max_attempts, null, true);
  perform private.act(('system', null)::private.actor, 'DEFERRED');
  update public.offline_conversion_queue q
    set state = 'RETRY',
        status = 'RETRY',
        next_retry_at = p_until + random() * make_interval(secs => p_jitter_seconds),
        provider_error_code = left(p_code, 64), provider_error_category = 'TRANSIENT',
        last_error = left(p_message, 1024), updated_at = private.current_moment()
    where q.id = any (v_due.row_ids);
  get diagnostics v_deferred = row_count;
  if v_deferred > 0 then
    perform private.record_deferral(p_site_id, p_provider_key, v_deferred, p_code);
  end if;
  return jsonb_build_object('deferred', v_deferred);
end
$$;
create function public.conversion_job(p_site_id uuid, p_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', q.id,
    'saleId', q.sale_id,
    'kind', q.kind,
    'orderId', q.order_id,
    'conversionName', n.name,
    'conversionAction', coalesce(q.conversion_action, a.action),
    'isChosenAction', coalesce(a.conversion_name = n.name
      and a.action = coalesce(q.conversion_action, a.action), false),
    'via', case
      when q.kind = 'CONVERSION' or q.kind = 'RESTATE' and coalesce(b.takes_restatements, false)
      then c.transport else 'ads_api' end,
    'valueCents', r.amount_cents,
    'currency', q.currency,
    'conversionTime', q.conversion_time,
    'timezone', t.timezone,
    'attemptCount', q.attempt_count + 1,
    'gclid', s.gclid,
    'wbraid', s.wbraid,
    'gbraid', s.gbraid,
    'customerHash', case when said.consent is not null
      then coalesce(s.customer_hash, private.phone_to_send(l)) end,
    'emailHash', case when said.consent is not null then s.email_hash end,
    'channel', q.channel,
    'consent', said.consent,
    'mayHaveArrived', q.may_have_arrived or q.status = 'PROCESSING' or exists (
      select from public.provider_dispatches d where d.sale_id = q.sale_id))
  from public.offline_conversion_queue q
    join public.sites t on t.id = q.site_id
    join public.sales s on s.id = q.sale_id
    join public.provider_credentials c on c.site_id = q.site_id and c.provider_key = q.provider_key
    cross join lateral (
      select coalesce(q.conversion_name, private.conversion_name(t, 'seal')) as name) n
    left join lateral (   -- an adjustment takes the seal's where its name has none
      select x.conversion_name, x.action from public.provider_conversion_actions x
      where x.site_id = q.site_id and x.provider_key = q.provider_key
        and (x.conversion_name = n.name or q.kind <> 'CONVERSION'
          and x.conversion_name = private.conversion_name(t, 'seal'))
      order by x.conversion_name = n.name desc limit 1) a on true
    cross join lateral private.newest_snapshot(q.sale_id) r
    left join private.adjustment_bases b
      on b.sale_id = q.sale_id and b.provider_key = q.provider_key
    left join public.calls l on l.id = s.call_id
    left join lateral (
      select 'marketing' = any (x.scopes) as is_given from public.consent_choices x
      where x.site_id = l.site_id and x.visitor_id = l.visitor_id
      order by x.chosen_at desc, x.id desc limit 1) choice on true
    cross join lateral (
      select case when s.call_id is null or s.email_hash is not null or choice.is_given
        then 'GRANTED' end as consent) said
  where q.id = p_id and q.site_id = p_site_id
    and coalesce(q.conversion_action, a.action) is not null
$$;

-- 09_claims/end_claims.sql
create function private.retry_delay(p_attempts int) returns interval
language sql volatile
as $$
  select least(interval '1 hour', interval '2 minutes'
      * pg_catalog.power(2, least(greatest(p_attempts, 1), 10) - 1))
    * (0.75 + pg_catalog.random() * 0.5)
$$;
create function private.may_be_under_another(p_row public.offline_conversion_queue) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (select from public.provider_dispatches d
      where d.sale_id = p_row.sale_id and d.provider_key = p_row.provider_key
        and d.verdict is distinct from 'REJECTED'
        and d.conversion_action is distinct from p_row.conversion_action)
    or exists (select from public.offline_conversion_queue q
        join private.queue_moves t on t.queue_id = q.id and t.reason = 'SCRIPT_EXPORT'
      where q.sale_id = p_row.sale_id and q.kind = 'CONVERSION')
$$;
create function private.disprove_arrival(p_row public.offline_conversion_queue) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update private.assumed_dispatches d
    set verdict = 'REJECTED', verdict_reason = 'CONVERSION_NOT_FOUND', verdict_at = v_now
    where d.sale_id = p_row.sale_id and d.verdict = 'UNKNOWN'
      and d.verdict_reason = 'NEVER_ANSWERED' and d.dispatched_at <= v_now - interval '1 day'
      and not exists (select from private.standing_dispatches s
        where s.sale_id = d.sale_id and s.verdict_reason is distinct from 'NEVER_ANSWERED');
  if found then
    update public.offline_conversion_queue q
      set provider_error_code = 'NEVER_ARRIVED', provider_error_category = 'DETERMINISTIC_SKIP',
          last_error = 'Google never had the conversion: there is nothing to adjust.',
          updated_at = v_now
      where q.id = p_row.id;
    perform private.follow_rejection(p_row.sale_id, 'CONVERSION', false, null);
  end if;
end
$$;
create function private.end_claims(p_token uuid, p_results jsonb, p_max_attempts int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_answer jsonb;
  v_changed uuid[];
  v_missing uuid[];
  v_sale_id uuid;
begin
  with ended as (
    update public.offline_conversion_queue q
      set claimed_at = null, claim_token = null, tries = q.attempt_count, is_plain = false,
          updated_at = v_now, state = b.to_state, status = b.to_state,
          next_retry_at = case when b.is_again then coalesce(o.retry_at,
            v_now + private.retry_delay(q.attempt_count - q.attempt_base
              + case when o.code is null then q.free_waits else 0 end)) end,
          attempt_base = case when b.by_hand is not null then q.attempt_count
            when b.is_free then q.attempt_base + 1 else q.attempt_base end,
          free_waits = q.free_waits + b.is_free::int,
          by_hand_reason = coalesce(b.by_hand, q.by_hand_reason),
          -- A script says what it did not send; a worker whose call failed cannot know.
          may_have_arrived = q.may_have_arrived or b.is_unanswered,
          provider_error_code = case when b.is_over then 'MAX_ATTEMPTS'
            when b.by_hand is null and (o.outcome <> 'RETRY' or not b.is_again)
              then coalesce(left(o.code, 64), 'UNKNOWN') else left(o.code, 64) end,
          provider_error_category = case when b.is_over then 'PERMANENT' else o.category end,
          last_error = left(case when b.is_over
            then concat_ws(': ', 'MAX_ATTEMPTS_EXCEEDED', o.message) else o.message end, 1024),
          attempt_error = left(o.message, 1024), attempt_error_code = left(o.code, 64),
          attempt_error_category = o.category,
          -- Refused, or asked to wait: a conversion of which no other hand-out can be at Google
          -- may go under another action next, or to another account.
          conversion_action = case when q.kind <> 'CONVERSION' or b.is_unanswered
              or q.may_have_arrived or exists (select from public.provider_dispatches d
                where d.sale_id = q.sale_id and d.verdict is distinct from 'REJECTED')
            then q.conversion_action end
      from (
          select r.id, r.outcome, r.message, r."retryAt" as retry_at, r.code,
            coalesce(r.category, 'TRANSIENT') as category,
            coalesce(r.free, false) and r.outcome = 'RETRY' as asks_to_wait,
            r."byHand" as by_hand
          from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text, category text,
            message text, "retryAt" timestamptz, free boolean, "byHand" text)) o
        join public.offline_conversion_queue w on w.id = o.id
        cross join lateral (select
          o.asks_to_wait and w.free_waits < private.max_free_waits() as is_free,
          o.asks_to_wait or o.category in ('TRANSIENT', 'RATE_LIMIT') as is_passing,
          case when w.kind = 'CONVERSION' then null
            when o.by_hand is null and o.code = 'CONVERSION_NOT_FOUND'
                and w.attempt_count - w.attempt_base >= p_max_attempts
                and private.may_be_under_another(w) then 'SENT_BY_SCRIPT'
            else o.by_hand end as by_hand) f
        cross join lateral (select f.by_hand is null and f.is_passing as is_passing,
          f.is_free or w.attempt_count - w.attempt_base < p_max_attempts as may_go_on) g
        cross join lateral (select f.is_free, f.by_hand,
          g.is_passing and g.may_go_on as is_again, g.is_passing and not g.may_go_on as is_over,
          case when f.by_hand is not null or g.is_passing and g.may_go_on and o.outcome = 'RETRY'
            then 'RETRY' else 'FAILED' end as to_state,
          p_token is not null and o.category = 'TRANSIENT'
            and (not o.asks_to_wait or o.code is null) as is_unanswered) b
      where q.id = o.id and q.state in ('QUEUED', 'RETRY')
        and case when p_token is null then q.claim_token is not null
          else q.claim_token = p_token end
      returning q.id, q.status, q.kind, q.sale_id,
        b.is_over and o.code = 'CONVERSION_NOT_FOUND' as is_not_there)
  select array_agg(e.id) filter (where e.is_not_there),
      jsonb_build_object(
        'failed', count(*) filter (where e.status = 'FAILED'),
        'retried', count(*) filter (where e.status = 'RETRY')),
      array_agg(distinct e.sale_id) filter (where e.kind <> 'CONVERSION'
        or s.status <> 'CONFIRMED' or s.delivery_block is not null)
    into v_missing, v_answer, v_changed from ended e join public.sales s on s.id = e.sale_id;
  perform private.disprove_arrival(q) from public.offline_conversion_queue q
    where q.id = any (v_missing);
  -- A row whose sale changed while it was in flight must not be tried again.
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return v_answer;
end
$$;

-- 09_claims/hand_out.sql
create function private.hand_out(
  p_ids uuid[], p_sale_ids uuid[], p_vias text[], p_token uuid, p_name text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rows jsonb;
begin
  with claimed as (
    update public.offline_conversion_queue q
      set status = 'PROCESSING', claimed_at = v_now, claim_token = p_token,
          attempt_count = q.attempt_count + 1,
          snapshot_id = r.id, value_cents = r.amount_cents,
          handed_snapshot_id = r.id, handed_value_cents = r.amount_cents,
          handed_values_differ = q.handed_values_differ
            or coalesce(q.handed_value_cents <> r.amount_cents, false),
          conversion_name = coalesce(q.conversion_name, p_name),
          conversion_action = case
            when i.via is not null then coalesce(q.conversion_action, (
              select a.action from public.provider_conversion_actions a
              where a.site_id = q.site_id and a.provider_key = q.provider_key
                and a.conversion_name = coalesce(
                  case when q.kind = 'CONVERSION' or exists (
                      select from public.provider_conversion_actions b where b.site_id = q.site_id
                        and b.provider_key = q.provider_key
                        and b.conversion_name = q.conversion_name) then q.conversion_name end,
                  p_name)))
            when q.conversion_action is not null and (q.may_have_arrived
                or exists (select from public.provider_dispatches d
                  where d.sale_id = q.sale_id and d.verdict is distinct from 'REJECTED'))
              then q.conversion_action end,
          claims = (p_token || q.claims)[1:50], handed_via = i.via,
          handed_vias_differ = q.handed_vias_differ or coalesce(q.handed_via <> i.via, false),
          click_kind = private.click_kind(s),
          identifiers_hash = private.identifiers_hash(
            i.salt, s.gclid, s.wbraid, s.gbraid, person.phone, person.email)
      -- Each row has its own salt: one for the batch would stay with the rows that are kept.
      from (
          select u.*, gen_random_uuid() as salt
          from unnest(p_ids, p_sale_ids, p_vias) with ordinality u (id, sale_id, via, position)) i
        join public.sales s on s.id = i.sale_id
        cross join lateral (
          select x.id, x.amount_cents from public.revenue_snapshots x
          where x.sale_id = s.id order by x.sequence desc limit 1) r
        left join public.calls c on c.id = s.call_id
        left join lateral (
          select x.chosen_at, 'marketing' = any (x.scopes) as is_given from public.consent_choices x
          where x.site_id = c.site_id and x.visitor_id = c.visitor_id
          order by x.chosen_at desc, x.id desc limit 1) choice on true
        -- A click without a call, or the hash of an e-mail address, is kept only where the customer
        -- of a sale from elsewhere agreed.
        cross join lateral (select case
          when s.call_id is null or s.email_hash is not null or choice.is_given then 'GRANTED'
          end as consent) said
        cross join lateral (select
          case when said.consent is not null
            then coalesce(s.customer_hash, private.phone_to_send(c)) end as phone,
          case when said.consent is not null then s.email_hash end as email) person
      where q.id = i.id and q.state = any (private.waiting_states()) and q.claim_token is null
        and s.delivery_block is null
        -- The visitor's choice since then; what Google has may still be corrected.
        and (q.kind <> 'CONVERSION'
          or coalesce(choice.is_given or choice.chosen_at <= s.occurred_at, true))
        and (s.status = 'CONFIRMED') = (q.kind <> 'RETRACT')
        and (r.amount_cents > 0) = (q.kind <> 'RETRACT')
      returning i.position, i.salt, i.via, q.id, q.site_id, q.provider_key, q.kind, q.order_id,
        q.conversion_name, q.conversion_action, q.value_cents, q.currency, q.conversion_time,
        q.attempt_count, q.may_have_arrived, q.sale_id, q.channel, s.gclid, s.wbraid, s.gbraid,
        said.consent, person.phone, person.email),
  identified as (
    insert into public.dispatch_identifiers as d
        (queue_id, site_id, gclid, wbraid, gbraid, customer_hash, email_hash, salt, handed_at)
      select c.id, c.site_id, c.gclid, c.wbraid, c.gbraid, c.phone, c.email, c.salt, v_now
      from claimed c
      on conflict (queue_id) do update
        set gclid = excluded.gclid, wbraid = excluded.wbraid, gbraid = excluded.gbraid,
            customer_hash = excluded.customer_hash, email_hash = excluded.email_hash,
            salt = excluded.salt, handed_at = excluded.handed_at),
  leased as (
    insert into private.queue_leases (token, site_id, claimed_at, row_ids)
      select p_token, c.site_id, v_now, array_agg(c.id) from claimed c group by c.site_id)
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', c.id,
      'saleId', c.sale_id,
      'kind', c.kind,
      'orderId', c.order_id,
      'conversionName', coalesce(n.google_name, c.conversion_name),
      'conversionAction', c.conversion_action,
      'via', c.via,
      'valueCents', c.value_cents,
      'currency', c.currency,
      'conversionTime', c.conversion_time,
      'timezone', t.timezone,
      'attemptCount', c.attempt_count,
      'gclid', c.gclid,
      'wbraid', c.wbraid,
      'gbraid', c.gbraid,
      'customerHash', c.phone,
      'emailHash', c.email,
      'channel', c.channel,
      'consent', c.consent,
      'mayHaveArrived', c.may_have_arrived or exists (
        select from public.provider_dispatches d where d.sale_id = c.sale_id))
    order by c.position), '[]')
  into v_rows from claimed c join public.sites t on t.id = c.site_id
    left join private.action_names n
      on c.via is null and n.site_id = c.site_id and n.action = c.conversion_action;
  return v_rows;
end
$$;

-- 09_claims/lock_sales.sql
create function private.lock_sales_of(p_ids uuid[]) returns void
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
begin
  perform from public.sales s
    where s.id in (
      select q.sale_id from public.offline_conversion_queue q where q.id = any (p_ids))
    order by s.id for no key update;
end
$$;
create function private.lock_with_sales(p_ids uuid[]) returns void
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
begin
  perform private.lock_sales_of(p_ids);
  perform from public.offline_conversion_queue q where q.id = any (p_ids) order by q.id for update;
end
$$;
create function private.of_this_site(p_site_id uuid, p_ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
begin
  return array(
    select q.id from public.offline_conversion_queue q
    where q.id = any (p_ids) and q.site_id = p_site_id);
end
$$;

-- 09_claims/script_answers.sql
create function public.ack_offline_conversions(
  p_site_id uuid, p_ids uuid[], p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_ids uuid[] := private.of_this_site(p_site_id, p_ids);
begin
  perform private.lock_sales_of(v_ids);
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_ACK');
  perform private.complete_rows(p_site_id,
    (select coalesce(jsonb_agg(jsonb_build_object('id', i)), '[]') from unnest(v_ids) i), 'script');
  perform private.end_leases_of(v_ids);
  return (
    select jsonb_build_object(
      'updated', count(q.id),
      'refused', coalesce(jsonb_agg(i.id order by i.id) filter (where q.id is null), '[]'))
    from (select distinct u.id from unnest(p_ids) u (id)) i
      left join public.offline_conversion_queue q
        on q.id = i.id and q.site_id = p_site_id and q.state = 'COMPLETED');
end
$$;
create function private.reserved_codes() returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array['SALE_CANCELLED', 'SUPERSEDED', 'NEVER_ARRIVED', 'NEVER_ANSWERED', 'MAX_ATTEMPTS',
    'NO_CONSENT', 'NO_CLICK_ID', 'CLICK_EXPIRED', 'ADJUSTMENT_EXPIRED', 'MANUAL_FAIL',
    'CIRCUIT_OPEN', 'CONCURRENCY_LIMIT', 'REFUSED_WITH_OTHERS', 'CREDENTIALS_CHANGED',
    'CREDENTIALS_UNREADABLE', 'VAULT_KEY_MISSING', 'VAULT_KEY_MISMATCH']
$$;
create function private.code_of_script(p_code text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_code !~ '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$'
      or upper(p_code) = any (private.reserved_codes())
    then 'VALIDATION_FAILED' else p_code end
$$;
create function public.fail_offline_conversions(
  p_site_id uuid, p_ids uuid[], p_code text, p_category text, p_message text,
  p_max_attempts int default private.max_attempts(), p_key_id uuid default null,
  p_claims jsonb default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
  set enable_seqscan = off
as $$
declare
  v_ids uuid[] := private.of_this_site(p_site_id, p_ids);
  v_reasons jsonb;
begin
  -- Locks the rows too: the claim must not change before it is ended.
  perform private.lock_with_sales(v_ids);
  select coalesce(array_agg(j.id) filter (where j.reason is null), '{}'),
      coalesce(jsonb_object_agg(j.id, j.reason) filter (where j.reason is not null), '{}')
    into v_ids, v_reasons
    from (select q.id, case
        when p_claims ->> q.id::text <> coalesce(q.claims[1]::text, '') then 'STALE_CLAIM'
        when p_claims ? q.id::text or q.status <> 'PROCESSING' then null
        -- An operator's undo moves a row back under the claim it had: only claims count attempts.
        when (select count(distinct t.attempt_count) > 1 from public.queue_transitions t
              where t.queue_id = q.id and t.to_status = 'PROCESSING'
                and t.created_at > private.current_moment() - private.claim_doubt())
          then 'CLAIMED_TWICE' end as reason
      from public.offline_conversion_queue q where q.id = any (v_ids)) j;
  perform private.act(('api_key', p_key_id)::private.actor, 'SCRIPT_ACK_FAILED');
  perform private.end_claims(null, (
    select coalesce(jsonb_agg(jsonb_build_object(
      'id', i,
      'outcome', 'FAILED',
      'code', private.code_of_script(p_code),
      'category', p_category,
      'message', p_message)), '[]')
    from unnest(v_ids) i), p_max_attempts);
  perform private.end_leases_of(v_ids);
  return jsonb_build_object(
    'updated', (
      select count(*) from public.offline_conversion_queue q
      where q.id = any (v_ids) and q.status in ('FAILED', 'RETRY') and q.attempt_count > 0),
    'refused', (
      select coalesce(jsonb_agg(distinct i), '[]') from unnest(p_ids) i where i <> all (v_ids)),
    'reasons', v_reasons);
end
$$;
create function public.fail_unexportable_rows(
  p_site_id uuid, p_rows jsonb, p_key_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_failed int;
begin
  perform private.act(('api_key', p_key_id)::private.actor, 'UNEXPORTABLE');
  with given as materialized (
    select r.id, r.code, r.message
    from jsonb_to_recordset(p_rows) r (id uuid, code text, message text)),
  free as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id in (select g.id from given g) and q.site_id = p_site_id
      and q.state = any (private.waiting_states()) and q.claim_token is null
    for update skip locked)
  update public.offline_conversion_queue q
    set state = 'FAILED', status = 'FAILED', next_retry_at = null,
        provider_error_code = left(g.code, 64),
        provider_error_category = 'VALIDATION', last_error = left(g.message, 1024),
        updated_at = private.current_moment()
    from free f join given g on g.id = f.id where q.id = f.id;
  get diagnostics v_failed = row_count;
  return jsonb_build_object('failed', v_failed);
end
$$;

-- 09_claims/sendable_queue.sql
create view private.held_sales as
  select s.id as sale_id, r.provider_key, o.id as by_sale_id, r.id as by_row_id
  from public.sales s
    join public.sales o
      on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id and o.status = 'CANCELED'
    join public.offline_conversion_queue r on r.sale_id = o.id
  where (r.kind = 'CONVERSION' and r.status = 'PROCESSING')
    or (r.kind = 'RETRACT' and 'RETRACT' <> (select d.kind from private.standing_dispatches d
      where d.sale_id = o.id and d.provider_key = r.provider_key));

-- 11_delivery/provider_dispatches.sql
create view private.adjustment_bases as
  select d.sale_id, d.provider_key,
    case
      when d.transport = 'data_manager' and d.verdict is null then 'VERDICT'
      when d.transport in ('script', 'by_hand')
        and d.dispatched_at > private.current_moment() - interval '1 day'
        then 'DAY' end as waits_for,
    case when d.transport in ('script', 'by_hand')
      then d.dispatched_at + interval '1 day' end as waits_until,
    d.transport = 'data_manager' and d.verdict in ('CONFIRMED', 'DUPLICATE')
      and exists (select from public.sales s where s.id = d.sale_id
        and coalesce(s.gclid, s.wbraid, s.gbraid) is not null) as takes_restatements
  from private.standing_dispatches d;

-- 10_connections/provider_conversion_actions.sql
create table public.provider_conversion_actions (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  conversion_name text not null,
  action text not null,
  google_name text,
  counting_type text,
  blocked_at timestamptz,
  blocked_code text,
  blocked_message text,
  tested_at timestamptz,
  updated_at timestamptz not null,
  primary key (site_id, provider_key, conversion_name),
  constraint action_name_is_plain_text check (private.is_plain_text(conversion_name, 100)),
  constraint action_is_a_resource_name
    check (action ~ '^customers/[0-9]{1,20}/conversionActions/[0-9]{1,20}$'),
  constraint counting_type_is_plain_text
    check (counting_type is null or private.is_plain_text(counting_type, 40)),
  constraint google_name_is_bounded check (char_length(google_name) <= 256),
  constraint blocked_actions_say_why check (
    num_nonnulls(blocked_at, blocked_code) in (0, 2)
    and (blocked_message is null or blocked_at is not null)),
  constraint action_block_is_bounded
    check (char_length(blocked_code) <= 64 and char_length(blocked_message) <= 1024)
);

-- 10_connections/site_delivery.sql
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

-- 09_claims/sendable_queue.sql
create view private.sendable_queue as
  select x.* from (
    select q.*, coalesce(q.next_retry_at, '-infinity') as eligible_at,
      (select case when q.kind = 'RESTATE' and b.takes_restatements then 'data_manager'
         else 'ads_api' end
       from private.adjustment_bases b
       where q.kind <> 'CONVERSION' and b.sale_id = q.sale_id
         and b.provider_key = q.provider_key and b.waits_for is null) as adjusts_via
    from private.queue_open q) x
  where x.state = any (private.waiting_states()) and x.claim_token is null
    and x.eligible_at <= (select private.current_moment())
    and x.not_before <= (select private.current_moment())
    and (x.click_expires_at > (select private.current_moment())) is true
    and x.by_hand_reason is null
    and (x.kind = 'CONVERSION' or x.adjusts_via is not null)
    and exists (select from public.sales s where s.id = x.sale_id and private.may_send(s, x.kind)
      and (s.status = 'CANCELED') = (x.kind = 'RETRACT') offset 0)
    and (x.kind <> 'CONVERSION'
      or not exists (select from public.sales s join public.sales o
          on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
            and o.status = 'CANCELED'
        where s.id = x.sale_id offset 0)
      or not exists (select from private.held_sales h
        where h.sale_id = x.sale_id and h.provider_key = x.provider_key offset 0))
    and exists (select from public.provider_conversion_actions a
      where a.site_id = x.site_id and a.provider_key = x.provider_key and case
        when x.conversion_action is not null
          then split_part(x.conversion_action, '/', 2) = split_part(a.action, '/', 2)
            and not exists (select from public.provider_conversion_actions b
              where b.site_id = x.site_id and b.provider_key = x.provider_key
                and b.action = x.conversion_action and b.blocked_at is not null)
        else a.blocked_at is null and a.conversion_name = coalesce(
            case when x.kind = 'CONVERSION' or exists (
                select from public.provider_conversion_actions b where b.site_id = x.site_id
                  and b.provider_key = x.provider_key and b.conversion_name = x.conversion_name)
              then x.conversion_name end,
            (select coalesce(s.conversion_names ->> 'seal', private.default_conversion_name('seal'))
             from public.sites s where s.id = x.site_id))
          and (a.google_name is null or a.google_name = a.conversion_name
            or x.kind <> 'CONVERSION'
            or not (x.may_have_arrived or exists (select from public.provider_dispatches d
              where d.sale_id = x.sale_id and d.verdict is distinct from 'REJECTED')))
        end);

-- 09_claims/settle_and_claim.sql
create function public.settle_and_claim_conversion_jobs(
  p_site_id uuid, p_provider_key text, p_token uuid, p_sent jsonb, p_batch jsonb,
  p_limit int default 0, p_max_attempts int default private.max_attempts(),
  p_after jsonb default null, p_ids uuid[] default null, p_indexes int[] default null
) returns json
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
  set enable_seqscan = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ids uuid[];
  v_given int;
  v_at record;
  v_done record;
  v_moved int := 0;
  v_is_whole boolean := false;
  v_token uuid;
  v_claim record;
begin
  perform pg_advisory_xact_lock_shared(private.provider_lock(p_site_id, p_provider_key));
  -- A statement of its own, after the lock: connecting, switching and pausing hold it alone.
  select s.timezone, c.transport, n.name, a.action, l.row_ids, l.claimed_count,
      coalesce(h.quota_until > v_now, false) as is_quota,
      coalesce(h.last_success_at < v_now - interval '1 minute', true) as is_new,
      coalesce(s.paused_until > v_now, false) as is_paused,
      coalesce(t.served_at between v_now - interval '1 second' and v_now, false) as is_noted
    into v_at
    from public.provider_health_state h
      join public.sites s on s.id = h.site_id
      join public.provider_credentials c
        on c.site_id = h.site_id and c.provider_key = p_provider_key
          and c.version = (p_batch ->> 'credentialsVersion')::int
      join private.queue_leases l on l.token = p_token and l.site_id = h.site_id
      cross join lateral (select coalesce(s.conversion_names ->> 'seal',
        private.default_conversion_name('seal')) as name) n
      left join public.provider_conversion_actions a
        on a.site_id = h.site_id and a.provider_key = p_provider_key
          and a.conversion_name = n.name and a.blocked_at is null
      left join private.delivery_turns t
        on t.site_id = h.site_id and t.provider_key = p_provider_key and t.pipeline = 'seals'
    where h.site_id = p_site_id and h.provider_key = p_provider_key
      and h.state = 'CLOSED' and h.failure_count = 0 and h.blocked_at is null
      and s.oci_sync_method = 'api' and s.archived_at is null;
  v_ids := coalesce(p_ids, v_at.row_ids, '{}');
  v_given := cardinality(v_ids);
  if v_at.claimed_count = v_given then
    v_done := private.deliver_plain(p_site_id, p_provider_key, p_token, v_ids, p_indexes,
      (p_sent ->> 'transport', left(p_sent ->> 'requestId', 256), p_sent ->> 'verdict',
        (p_sent ->> 'firstPollSeconds')::int, left(p_sent ->> 'customerId', 20))::private.sent,
      p_batch);
    v_moved := v_done.moved;
    v_is_whole := v_moved = v_given;
  end if;
  if v_is_whole then
    if v_at.is_new and v_done.is_finished then
      -- At most once a minute, by one of them.
      update public.provider_health_state h set last_success_at = v_now, updated_at = v_now
        where h.ctid = (
          select x.ctid from public.provider_health_state x
          where x.site_id = p_site_id and x.provider_key = p_provider_key
          for no key update skip locked);
    end if;
    if p_limit > 0 and not v_at.is_quota and not v_at.is_paused then
      v_token := gen_random_uuid();
      v_claim := private.claim_due(p_site_id, p_provider_key, least(p_limit, 1000), p_max_attempts,
        (v_token, v_at.transport, v_at.name, v_at.action, v_at.timezone)::private.handing,
        p_after);
      if not v_at.is_noted then
        perform private.note_turn(p_site_id, p_provider_key, 'seals');
      end if;
      return json_build_object('completed', v_moved, 'left', 0, 'claim', json_build_object(
        'token', v_token,
        'gate', 'CLOSED',
        'rows', v_claim.rows,
        'plain', v_claim.plain,
        'batch', json_build_object('credentialsVersion', p_batch -> 'credentialsVersion'),
        'last', v_claim.last));
    end if;
  end if;
  return json_build_object('completed', v_moved,
    'left', case when v_is_whole then 0 else greatest(v_given - v_moved, 1) end,
    'claim', null);
end
$$;

-- 09_claims/settle_conversions.sql
create function public.settle_offline_conversion_jobs(
  p_site_id uuid, p_token uuid, p_results jsonb, p_transport text default 'data_manager',
  p_max_attempts int default private.max_attempts(), p_batch jsonb default null
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_results jsonb := p_results;
  v_ids uuid[] := private.of_this_site(p_site_id,
    array(select (r ->> 'id')::uuid from jsonb_array_elements(p_results) r));
  v_completed int;
  v_ended jsonb := '{"retried": 0, "failed": 0}';
  v_retried int;
  v_failed int;
  v_before int;   -- what settle_and_claim_conversion_jobs settled of the batch
begin
  if p_token is null then   -- below, null is any claim
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "token"}');
  end if;
  -- Always before the sales: a new connection holds it while it requeues rows that were refused
  -- access.
  if p_batch is not null and (private.hold_provider(p_site_id, p_batch ->> 'provider')
        is distinct from (p_batch ->> 'credentialsVersion')::int
      or exists (select from public.sites s
        where s.id = p_site_id and s.oci_sync_method = 'script')) then
    select coalesce(jsonb_agg(case
        when r ->> 'category' = 'AUTH' and r ->> 'outcome' = 'FAILED' and not r ? 'byHand'
        then r || '{"outcome": "RETRY", "category": "TRANSIENT", "free": true}'
        when r ->> 'category' = 'RATE_LIMIT' then r - 'retryAt' else r end), '[]')
      into v_results from jsonb_array_elements(p_results) r;
  end if;
  perform private.lock_sales_of(v_ids);
  select count(*) into v_before from private.queue_delivered q
    where q.id = any (v_ids) and p_token = any (q.claims);
  if jsonb_typeof(p_batch -> 'blockActions') = 'array' then   -- before a row forgets its action
    p_batch := private.with_refused_actions(p_batch, (
      select jsonb_agg(jsonb_build_object('conversionName', q.conversion_name,
        'action', q.conversion_action, 'code', coalesce(r.code, 'UNKNOWN')))
      from jsonb_to_recordset(v_results) r (id uuid, outcome text, code text)
        join public.offline_conversion_queue q on q.id = r.id
      where r.outcome = 'FAILED' and q.id = any (v_ids)));
  end if;
  perform private.act(('system', null)::private.actor, 'WORKER_SETTLE');
  select private.complete_rows(p_site_id, coalesce(jsonb_agg(r), '[]'), p_transport, p_token,
      (p_batch ->> 'firstPollSeconds')::int, left(p_batch ->> 'customerId', 20))
    into v_completed
    from jsonb_array_elements(v_results) r
    where r ->> 'outcome' = 'COMPLETED' and (r ->> 'id')::uuid = any (v_ids);
  if exists (
      select from jsonb_array_elements(v_results) r where r ->> 'outcome' <> 'COMPLETED') then
    v_ended := private.end_claims(p_token, (
      select coalesce(jsonb_agg(r), '[]') from jsonb_array_elements(v_results) r
      where r ->> 'outcome' <> 'COMPLETED' and (r ->> 'id')::uuid = any (v_ids)), p_max_attempts);
  end if;
  perform private.end_leases(array[p_token]);
  v_retried := (v_ended ->> 'retried')::int;
  v_failed := (v_ended ->> 'failed')::int;
  if p_batch is not null then
    perform private.finish_batch(p_site_id, p_token, p_batch,
      v_completed + v_before, v_failed, v_retried);
  end if;
  return jsonb_build_object(
    'completed', v_completed,
    'retried', v_retried,
    'failed', v_failed,
    'stale', jsonb_array_length(p_results) - v_completed - v_retried - v_failed);
end
$$;

-- 09_claims/sweeps.sql
create function private.stuck_after() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '15 minutes' $$;
create function public.oci_attempt_cap(
  p_max_attempts int default private.max_attempts(), p_min_age_minutes int default 0
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_age interval := make_interval(mins => greatest(p_min_age_minutes, 0));
  v_claim_age interval := greatest(make_interval(mins => p_min_age_minutes), private.stuck_after());
  v_capped int;
  v_changed uuid[];
  v_sale_id uuid;
  v_lost uuid[];
  v_sale_ids uuid[];
begin
  perform private.act(('system', null)::private.actor, 'ATTEMPT_CAP');
  select array_agg(t.id), array_agg(t.sale_id) into v_lost, v_sale_ids from (
    select q.id, q.sale_id from private.queue_in_flight q
    where q.leased_at <= v_now - v_claim_age
      and q.attempt_count - q.attempt_base >= p_max_attempts
    order by q.leased_at limit 5000) t;
  v_sale_ids := private.free_sales(v_sale_ids);
  with waiting as materialized (
    select q.id from public.offline_conversion_queue q
    where q.state = any (private.waiting_states()) and q.claim_token is null
      and q.tries > q.attempt_base and q.tries - q.attempt_base >= p_max_attempts
      and q.updated_at <= v_now - v_age
    order by q.updated_at limit 5000 for update skip locked),
  lost as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id = any (v_lost) and q.sale_id = any (v_sale_ids)
      and q.claim_token is not null and q.attempt_count - q.attempt_base >= p_max_attempts
      and q.claimed_at <= v_now - v_claim_age
    for update skip locked),
  capped as (
    update public.offline_conversion_queue q
      set state = 'FAILED', status = 'FAILED', tries = q.attempt_count, claimed_at = null,
          claim_token = null, next_retry_at = null,
          provider_error_code = 'MAX_ATTEMPTS', provider_error_category = 'PERMANENT',
          last_error = 'MAX_ATTEMPTS_EXCEEDED', updated_at = v_now, is_plain = false,
          may_have_arrived = q.may_have_arrived or q.status = 'PROCESSING'
      from (select w.id from waiting w union all select l.id from lost l) t
      where q.id = t.id returning q.id, q.sale_id, q.kind)
  select count(*), array_agg(distinct c.sale_id) filter (where c.id in (select l.id from lost l)
      and (c.kind <> 'CONVERSION' or s.status <> 'CONFIRMED' or s.delivery_block is not null))
    into v_capped, v_changed from capped c join public.sales s on s.id = c.sale_id;
  -- A failed row may have arrived, or been in flight with an older value than the sale's.
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  return jsonb_build_object('capped', v_capped);
end
$$;
create function private.free_sales(p_sale_ids uuid[]) returns uuid[]
language plpgsql security definer set search_path = ''
as $$
begin
  return array(
    select s.id from public.sales s where s.id = any (p_sale_ids)
    order by s.id for no key update skip locked);
end
$$;
create function public.recover_stuck_offline_conversion_jobs(p_min_age_minutes int default 15)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_age interval := make_interval(mins => greatest(p_min_age_minutes, 1));
  -- First, while no sale is locked: finishing a batch takes locks that come before sales.
  v_batches jsonb := private.end_dead_batches(v_age);
  v_recovered int := private.recover_claims(v_age);
  v_retried int := private.retry_due();
  v_expired int := private.expire_waiting();
begin
  return jsonb_build_object(
    'recovered', v_recovered,
    'retried', v_retried,
    'expired', v_expired,
    'endedBatches', v_batches -> 'ended');
end
$$;
create function private.recover_claims(p_age interval) returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_recovered int;
  v_changed uuid[];
  v_sale_id uuid;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  perform private.act(('system', null)::private.actor, 'RECOVERED');
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from private.queue_in_flight q where q.leased_at <= v_now - p_age
    order by q.leased_at limit 2000) t;
  v_sale_ids := private.free_sales(v_sale_ids);
  with mine as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id = any (v_ids) and q.sale_id = any (v_sale_ids)
      and q.claim_token is not null and q.claimed_at <= v_now - p_age
    order by q.id for update skip locked),
  back as (
    update public.offline_conversion_queue q
      set state = 'RETRY', status = 'RETRY', tries = q.attempt_count, claimed_at = null,
          claim_token = null, next_retry_at = null,
          updated_at = v_now, may_have_arrived = true, is_plain = false
      from mine m where q.id = m.id returning q.sale_id, q.kind)
  select count(*), array_agg(distinct b.sale_id) filter (where b.kind <> 'CONVERSION'
      or s.status <> 'CONFIRMED' or s.delivery_block is not null)
    into v_recovered, v_changed from back b join public.sales s on s.id = b.sale_id;
  foreach v_sale_id in array coalesce(v_changed, '{}') loop
    perform private.follow_ledger(v_sale_id);
  end loop;
  perform private.end_leases(array(
    select l.token from private.queue_leases l where l.claimed_at <= v_now - p_age
    order by l.claimed_at limit 2000));
  return v_recovered;
end
$$;
create function private.retry_due() returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_retried int;
  v_ids uuid[];
  v_sale_ids uuid[];
begin
  perform private.act(('system', null)::private.actor, 'RETRY_DUE');
  select array_agg(t.id), array_agg(t.sale_id) into v_ids, v_sale_ids from (
    select q.id, q.sale_id from public.offline_conversion_queue q
    where q.state = 'FAILED' and q.next_retry_at <= v_now
    order by q.next_retry_at limit 2000) t;
  v_sale_ids := private.free_sales(v_sale_ids);
  with due as materialized (
    select q.id from public.offline_conversion_queue q
    where q.id = any (v_ids) and q.sale_id = any (v_sale_ids)
      and q.state = 'FAILED' and q.next_retry_at <= v_now
    for update skip locked),
  judged as (
    select q.id, exists (select from public.offline_conversion_queue o
      where o.sale_id = q.sale_id and o.provider_key = q.provider_key and o.kind = q.kind
        and o.id <> q.id
        and (o.state = any (private.waiting_states())
          or (o.state = 'FAILED' and o.next_retry_at is not null and o.id > q.id)))
      as is_superseded
    from public.offline_conversion_queue q join due on due.id = q.id),
  moved as (
    update public.offline_conversion_queue q
      set state = case when j.is_superseded then 'FAILED' else 'RETRY' end,
          status = case when j.is_superseded then 'FAILED' else 'RETRY' end,
          next_retry_at = null, updated_at = v_now,
          provider_error_code =
            case when j.is_superseded then 'SUPERSEDED' else q.provider_error_code end,
          provider_error_category =
            case when j.is_superseded then 'DETERMINISTIC_SKIP' else q.provider_error_category end
      from judged j where q.id = j.id returning q.status)
  select count(*) filter (where m.status = 'RETRY') into v_retried from moved m;
  return v_retried;
end
$$;
create function private.expire_waiting() returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_expired int;
begin
  perform private.act(('system', null)::private.actor, 'EXPIRED');
  with expired as materialized (
    select q.id from public.offline_conversion_queue q
    where q.state = any (private.waiting_states()) and q.claim_token is null
      and q.click_expires_at <= v_now
    order by q.click_expires_at limit 2000 for update skip locked)
  update public.offline_conversion_queue q
    set state = 'FAILED', status = 'FAILED', next_retry_at = null, updated_at = v_now,
        provider_error_category = 'VALIDATION',
        provider_error_code = case
          when q.kind = 'CONVERSION' then 'CLICK_EXPIRED' else 'ADJUSTMENT_EXPIRED' end,
        last_error = case when q.kind <> 'CONVERSION' then private.adjustment_expired_message()
          else 'The click is older than 90 days; Google takes no conversion for it any more.' end
    from expired e where q.id = e.id;
  get diagnostics v_expired = row_count;
  return v_expired;
end
$$;

-- 10_connections/connect_provider.sql
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
create function private.keep_connection(p_site public.sites, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_provider text := coalesce(p_connection ->> 'provider', 'google_ads');
  v_transport text := coalesce(p_connection ->> 'transport', 'data_manager');
  v_actor private.actor := private.connecting_actor();
  v_now timestamptz := private.current_moment();
  v_version int;
  v_stopped uuid[];
  v_released int;
begin
  if p_connection ? 'sealAction' and not p_connection ? 'actions' then
    p_connection := private.with_seal_action(p_site, p_connection);
  end if;
  perform private.check_connection(p_site, p_connection);
  perform private.hold_provider(p_site.id, v_provider);
  insert into public.provider_health_state as h (site_id, provider_key, last_version, updated_at)
    values (p_site.id, v_provider, 1, v_now)
    on conflict (site_id, provider_key) do update
      set last_version = h.last_version + 1, quota_until = null, updated_at = excluded.updated_at
    returning h.last_version into v_version;
  insert into public.provider_credentials as c (site_id, provider_key, version, transport, key_id,
      sealed, account, connected_by, connected_at)
    values (p_site.id, v_provider, v_version,
      v_transport, p_connection ->> 'keyId', p_connection ->> 'sealed',
      -- Key by key: whatever else the caller put there is dropped.
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
  v_released := private.release_connection(p_site.id, v_provider, v_actor, '{}')
    + private.requeue_stopped(p_site.id, v_provider, v_actor, v_stopped);
  perform private.mark_elsewhere(p_site.id);
  return jsonb_build_object('version', v_version, 'released', v_released);
end
$$;
create function private.connecting_actor() returns private.actor
language sql stable set search_path = ''
as $$
  select case when auth.uid() is null then ('system', null)::private.actor
    else private.user_actor() end
$$;
create function private.prove_connection(
  p_site_id uuid, p_provider_key text, p_move jsonb
) returns void
language sql security definer set search_path = ''
as $$
  select private.prove(p_site_id, private.connecting_actor(), p_move || jsonb_build_object(
    'contractVersion', (p_move ->> 'contract') || '/1', 'entityId', h.connection_id))
  from public.provider_health_state h
  where h.site_id = p_site_id and h.provider_key = p_provider_key
$$;
create function public.connect_provider(p_public_id text, p_connection jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.keep_connection(v_site, p_connection);
end
$$;
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
create function public.disconnect_provider(p_public_id text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
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
  return jsonb_build_object('ok', true);
end
$$;

-- 10_connections/connection_blocks.sql
create function private.block_connection(
  p_site_id uuid, p_provider_key text, p_code text, p_message text
) returns void
language sql security definer set search_path = ''
as $$
  update public.provider_health_state h
    set blocked_at = private.current_moment(), blocked_code = left(coalesce(p_code, 'AUTH'), 64),
        blocked_message = left(p_message, 1024), updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.blocked_at is null
$$;
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

-- 10_connections/pause_sending.sql
create function private.is_paused(p_site public.sites) returns boolean
language sql stable set search_path = ''
as $$ select coalesce(p_site.paused_until > private.current_moment(), false) $$;
create function private.pause_json(p_site public.sites) returns jsonb
language sql stable set search_path = ''
as $$
  select case when private.is_paused(p_site) then jsonb_build_object(
    'until', p_site.paused_until, 'reason', p_site.pause_reason) end
$$;
create function private.check_pause(p_until timestamptz) returns void
language plpgsql stable set search_path = ''
as $$
begin
  if p_until is null or p_until <= private.current_moment()
     or p_until > private.current_moment() + private.click_life() then
    perform private.refuse_setting('until');
  end if;
end
$$;
create function public.preview_pause(p_public_id text, p_until timestamptz) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  perform private.check_pause(p_until);
  return (select jsonb_build_object(
      'waiting', coalesce(sum(t.row_count)
        filter (where t.status = any (private.waiting_states())), 0),
      'inFlight', coalesce(sum(t.row_count) filter (where t.status = 'PROCESSING'), 0))
    from private.queue_totals(array[v_site.id]) t)
    || jsonb_build_object('expiring', (select count(*) from (
      select from public.offline_conversion_queue q
      where q.site_id = v_site.id and q.state = any (private.waiting_states())
        and q.claim_token is null and q.click_expires_at <= p_until limit 10000) x),
      'viewsExpire', v_site.page_views_enabled
        and p_until > private.current_moment() + interval '3 days');
end
$$;
create function public.pause_sending(
  p_public_id text, p_until timestamptz default null, p_reason text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_until is not null then
    perform private.check_pause(p_until);
    if p_reason is null or not private.is_plain_text(p_reason, 200) then
      perform private.refuse_setting('reason');
    end if;
  end if;
  perform private.hold_provider(v_site.id, 'google_ads');
  update public.sites s
    set paused_until = p_until, pause_reason = case when p_until is not null then p_reason end,
        updated_at = private.current_moment()
    where s.id = v_site.id
    returning s.* into v_site;
  return jsonb_build_object('ok', true, 'pause', private.pause_json(v_site));
end
$$;

-- 10_connections/provider_connection.sql
create function private.blocked_json(p_at timestamptz, p_code text, p_message text) returns jsonb
language sql immutable set search_path = ''
as $$
  select case when p_at is not null
    then jsonb_build_object('code', p_code, 'message', p_message, 'since', p_at) end
$$;
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

-- 11_delivery/provider_health_state.sql
create table public.provider_health_state (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  connection_id uuid not null default private.uuid_v7(),
  last_version int not null default 0,
  state text not null default 'CLOSED',
  failure_count int not null default 0,
  next_probe_at timestamptz,
  probe_limit int not null default 5,
  probe_token uuid,
  probe_until timestamptz,
  blocked_at timestamptz,
  blocked_code text,
  blocked_message text,
  quota_until timestamptz,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  last_failure_code text,
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint circuit_state_is_known check (state in ('CLOSED', 'OPEN', 'HALF_OPEN')),
  constraint five_failures_open_the_circuit
    check (failure_count >= 0 and (state = 'CLOSED') = (failure_count < 5)),
  constraint open_circuits_have_a_probe_time check ((state = 'CLOSED') = (next_probe_at is null)),
  constraint half_open_circuits_have_one_probe check (
    num_nonnulls(probe_token, probe_until) = case state when 'HALF_OPEN' then 2 else 0 end),
  constraint probe_limit_is_bounded check (probe_limit between 1 and 100),
  constraint blocks_say_why check (
    num_nonnulls(blocked_at, blocked_code) in (0, 2)
    and (blocked_message is null or blocked_at is not null)),
  constraint health_text_is_bounded check (char_length(blocked_code) <= 64
    and char_length(blocked_message) <= 1024 and char_length(last_failure_code) <= 64),
  constraint version_only_grows check (last_version >= 0)
);

-- 10_connections/provider_connection.sql
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

-- 10_connections/provider_conversion_actions.sql
create table private.action_names (
  site_id uuid not null references public.sites (id),
  action text not null,
  google_name text not null,
  primary key (site_id, action)
);
create function private.conversion_keys() returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array['seal', 'MEETING_BOOKED', 'SEAL_PENDING', 'INTENT_CAPTURED', 'page_view']
$$;
create function private.sent_names(p_site public.sites) returns table (key text, name text)
language sql immutable set search_path = ''
as $$
  select k.key, private.conversion_name(p_site, k.key)
  from unnest(private.conversion_keys()) k (key)
  where k.key <> 'page_view'
$$;
create function private.missing_actions(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(w.name order by w.place, w.name), '[]') from (
    select n.name, min(n.place) as place from (
      select o.name, o.place from private.sent_names(p_site) with ordinality o (key, name, place)
        where o.key = 'seal' or p_site.signals_enabled
      union all
      select distinct q.conversion_name, 9 from public.offline_conversion_queue q
        where q.site_id = p_site.id and q.state = any (private.waiting_states())
          and not q.is_plain   -- an index holds these; a plain row that waits has no name
          and q.claim_token is null and q.kind = 'CONVERSION'
          and q.conversion_name is not null and q.conversion_action is null
      union all
      select distinct g.conversion_name, 9 from public.marketing_signals g
        where g.site_id = p_site.id and g.dispatch_status = 'PENDING'
          and g.conversion_name is not null and p_site.signals_enabled) n
    where not exists (select from public.provider_conversion_actions a
      where a.site_id = p_site.id and a.conversion_name = n.name)
    group by n.name) w
$$;
create function private.is_elsewhere(p_site_id uuid, p_action text) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(bool_and(split_part(a.action, '/', 2) <> split_part(p_action, '/', 2)), false)
  from public.provider_conversion_actions a where a.site_id = p_site_id
$$;
create function private.mark_elsewhere(p_site_id uuid) returns void
language sql security definer set search_path = ''
as $$
  update public.offline_conversion_queue q
    set by_hand_reason = case when q.by_hand_reason is null then 'OTHER_ACCOUNT' end,
        updated_at = private.current_moment()
    where q.id = any (array(
      select x.id from public.offline_conversion_queue x
      where x.site_id = p_site_id and x.kind <> 'CONVERSION'
        and x.state = any (private.waiting_states()) and x.claim_token is null
        and x.conversion_action is not null
        and (x.by_hand_reason is null or x.by_hand_reason = 'OTHER_ACCOUNT')
        and (x.by_hand_reason is null) = private.is_elsewhere(p_site_id, x.conversion_action)
      for update skip locked))
$$;

-- 10_connections/provider_credentials.sql
create table public.provider_credentials (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  version int not null,
  transport text not null,
  key_id text not null,
  sealed text not null,
  account jsonb not null default '{}',
  connected_by uuid,
  connected_at timestamptz not null,
  tested_at timestamptz,
  test_error jsonb,
  primary key (site_id, provider_key),
  constraint provider_is_known check (provider_key = 'google_ads'),
  constraint api_transport_is_known check (transport in ('data_manager', 'ads_api')),
  constraint sealed_is_base64
    check (char_length(sealed) between 16 and 16384 and sealed ~ '^[A-Za-z0-9+/]+={0,2}$'),
  constraint key_id_is_plain_text check (private.is_plain_text(key_id, 64)),
  constraint account_is_bounded
    check (jsonb_typeof(account) = 'object' and char_length(account::text) <= 2000),
  constraint test_error_is_bounded check (char_length(test_error::text) <= 4000)
);
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
create function public.provider_credentials_for(p_site_id uuid, p_provider_key text)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'version', c.version,
    'transport', c.transport,
    'keyId', c.key_id,
    'sealed', c.sealed,
    'account', c.account,
    'actions', (
      select coalesce(jsonb_agg(jsonb_build_object(
          'conversionName', a.conversion_name, 'action', a.action,
          'countingType', a.counting_type)
        order by a.conversion_name), '[]')
      from public.provider_conversion_actions a
      where a.site_id = c.site_id and a.provider_key = c.provider_key))
  from public.provider_credentials c
  where c.site_id = p_site_id and c.provider_key = p_provider_key
$$;
create function public.list_sealed_credentials(p_key_id text, p_limit int default 100)
returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'siteUuid', t.site_id,
      'providerKey', t.provider_key,
      'version', t.version,
      'keyId', t.key_id,
      'sealed', t.sealed)
    order by t.site_id, t.provider_key), '[]')
  from (
    select c.* from public.provider_credentials c
    where c.key_id = p_key_id
    order by c.site_id, c.provider_key
    limit least(greatest(p_limit, 1), 1000)) t
$$;
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

-- 10_connections/record_provider_test.sql
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

-- 10_connections/requeue_stopped.sql
create function private.stopped_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.provider_conversion_actions a
      join public.offline_conversion_queue q on q.site_id = a.site_id
        and q.provider_key = a.provider_key and q.conversion_name = a.conversion_name
        and q.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key and q.state = 'FAILED'
      and q.provider_error_category = 'VALIDATION' and q.handed_via is not null
      and q.attempt_error_code = q.provider_error_code
    union all
    select g.id from public.provider_conversion_actions a
      join public.marketing_signals g on g.site_id = a.site_id
        and g.conversion_name = a.conversion_name and g.provider_error_code = a.blocked_code
    where a.site_id = p_site_id and a.provider_key = p_provider_key
      and g.dispatch_status = 'FAILED' and g.provider_error_category = 'VALIDATION')
$$;
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
    set state = 'QUEUED', status = 'QUEUED', next_retry_at = null,
        attempt_base = q.attempt_count, updated_at = private.current_moment()
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
create function private.refused_rows(p_site_id uuid, p_provider_key text) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select q.id from public.offline_conversion_queue q
    where q.site_id = p_site_id and q.provider_key = p_provider_key and q.state = 'FAILED'
      and q.provider_error_category = 'AUTH' and q.handed_via is not null
      and q.attempt_error_category = 'AUTH' and q.attempt_error_code = q.provider_error_code)
$$;
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
    set state = 'QUEUED', status = 'QUEUED', next_retry_at = null,
        attempt_base = q.attempt_count, updated_at = v_now
    from private.judge_queue_rows(p_site_id, 'RETRY_SELECTED', null, v_ids, null) j
    where q.id = j.id and j.skipped is null and q.provider_error_category = 'AUTH';
  get diagnostics v_released = row_count;
  -- A locked signal is skipped: its holder is about to fail it or to record that it was sent.
  update public.marketing_signals g
    set dispatch_status = 'PENDING', next_retry_at = null, attempt_base = g.attempt_count,
        updated_at = v_now
    where g.id in (select x.id from public.marketing_signals x
      where x.site_id = p_site_id and x.dispatch_status = 'FAILED'
        and x.provider_error_category = 'AUTH' for update skip locked);
  return v_released;
end
$$;

-- 10_connections/site_delivery.sql
create function private.conversion_name(p_site public.sites, p_key text) returns text
language sql immutable set search_path = ''
as $$
  select coalesce(p_site.conversion_names ->> p_key, private.default_conversion_name(p_key))
$$;
create function private.refuse_setting(p_field text) returns void
language sql set search_path = ''
as $$ select private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', p_field)) $$;
create function private.is_whole(p_value jsonb, p_min bigint, p_max bigint) returns boolean
language sql immutable set search_path = ''
as $$
  select case when jsonb_typeof(p_value) = 'number'
    then p_value::numeric between p_min and p_max and p_value::numeric % 1 = 0
    else false end
$$;
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

-- 10_connections/switch_delivery.sql
create function private.corrections_of_script(p_site_id uuid, p_to text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('correctionsOfScript', count(*))
  from public.offline_conversion_queue q
    join private.standing_dispatches d
      on d.sale_id = q.sale_id and d.provider_key = q.provider_key and d.transport = 'script'
  where q.site_id = p_site_id and q.kind <> 'CONVERSION'
    and q.state = any (private.waiting_states()) and q.claim_token is null
    and q.by_hand_reason is null and p_to = 'api'
$$;
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
  v_released := array(
    select j.id
    from private.judge_queue_rows(v_site.id, 'RETRY_SELECTED', null,
      private.refused_rows(v_site.id, 'google_ads'), null) j
    where p_to = 'script' and j.skipped is null);
  return (select jsonb_build_object(
      'waiting', coalesce(sum(t.row_count) 
        filter (where t.status = any (private.waiting_states())), 0),
      'inFlight', coalesce(sum(t.row_count) filter (where t.status = 'PROCESSING'), 0))
    from private.queue_totals(array[v_site.id]) t)
    || private.corrections_of_script(v_site.id, p_to)
    || jsonb_build_object(
      'adjustmentsByHand', (
        select count(*) from public.offline_conversion_queue q
        where q.site_id = v_site.id and q.kind <> 'CONVERSION'
          and (q.status = any (private.waiting_states()) or q.id = any (v_released))
          and (p_to = 'script' or q.by_hand_reason is not null)),
      'released', cardinality(v_released),
      'pageViewsStop', p_to = 'api' and v_site.page_views_enabled,
      'missingActions', case p_to when 'api' then private.missing_actions(v_site) else '[]' end,
      'connected', exists (select from public.provider_credentials c
        where c.site_id = v_site.id and c.provider_key = 'google_ads'));
end
$$;
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
  if private.hold_provider(v_site.id, 'google_ads') is null and p_to = 'api' then
    perform private.fail(409, 'NOT_CONNECTED');
  end if;
  insert into public.provider_health_state (site_id, provider_key, updated_at)
    values (v_site.id, 'google_ads', v_now) on conflict do nothing;
  if p_to = 'script' then
    perform private.requeue_refused(v_site.id, 'google_ads', private.user_actor());
  end if;
  select s.oci_sync_method into v_from from public.sites s where s.id = v_site.id for no key update;
  if v_from <> p_to then
    update public.sites s set oci_sync_method = p_to, updated_at = v_now where s.id = v_site.id;
  end if;
  return jsonb_build_object('ok', true, 'from', v_from, 'to', p_to);
end
$$;

-- 10_connections/write_actions.sql
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

-- 11_delivery/circuit.sql
create function private.probe_lease() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select private.stuck_after() $$;
create function private.next_probe() returns timestamptz
language sql volatile set search_path = ''
as $$
  select private.current_moment() + interval '5 minutes' + random() * interval '60 seconds'
$$;
create function private.pass_gate(
  p_site_id uuid, p_provider_key text, p_token uuid, p_pipeline text default 'seals',
  out gate text, out probe_limit int, out credentials_version int, out transport text
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_health public.provider_health_state;
  v_method text;
  v_is_paused boolean;
  -- A look without a lock, since a shared one cannot become an exclusive one: two of them would
  -- wait for each other.
  v_is_shared boolean := p_pipeline = 'seals' and exists (
    select from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.state = 'CLOSED');
begin
  if v_is_shared then
    perform pg_advisory_xact_lock_shared(private.provider_lock(p_site_id, p_provider_key));
  else
    perform private.hold_provider(p_site_id, p_provider_key);
  end if;
  select h.* into v_health from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key;
  -- Read after the lock: connecting, disconnecting, switching and pausing hold it.
  select s.oci_sync_method, private.is_paused(s) into v_method, v_is_paused from public.sites s
    where s.id = p_site_id and s.archived_at is null;
  select c.version, c.transport into credentials_version, transport
    from public.provider_credentials c
    where c.site_id = p_site_id and c.provider_key = p_provider_key;
  probe_limit := v_health.probe_limit;
  if v_health.state = 'HALF_OPEN' and v_health.probe_until <= v_now and not v_is_shared then
    perform private.reopen_circuit(p_site_id, p_provider_key);
    v_health.state := 'OPEN';
    v_health.next_probe_at := v_now + interval '5 minutes';   -- not due, whatever the jitter
  end if;
  gate := case
    when v_method = 'script' then 'SCRIPT'
    when v_method is null or credentials_version is null then 'NOT_CONNECTED'
    when v_is_paused then 'PAUSED'
    when v_health.blocked_at is not null then 'BLOCKED'
    when v_health.quota_until > v_now then 'QUOTA'
    when v_health.state = 'CLOSED' then 'CLOSED'
    when v_is_shared then 'OPEN'   -- it opened since the look: the next claim sees who probes
    when v_health.state = 'OPEN' and v_health.next_probe_at <= v_now then 'HALF_OPEN'
    else 'OPEN' end;
  if gate = 'HALF_OPEN' then
    update public.provider_health_state h
      set state = gate, updated_at = v_now, probe_token = p_token,
          probe_until = v_now + private.probe_lease()
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  end if;
  if gate in ('CLOSED', 'HALF_OPEN') then
    perform private.note_turn(p_site_id, p_provider_key, p_pipeline);
  end if;
end
$$;
create function private.reopen_circuit(p_site_id uuid, p_provider_key text) returns void
language sql security definer set search_path = ''
as $$
  update public.provider_health_state h
    set state = 'OPEN', next_probe_at = private.next_probe(), probe_token = null,
        probe_until = null, updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.state = 'HALF_OPEN'
$$;
create function private.return_probe(p_site_id uuid, p_provider_key text, p_token uuid)
returns void
language sql security definer set search_path = ''
as $$
  update public.provider_health_state h
    set state = 'OPEN', probe_token = null, probe_until = null,
        updated_at = private.current_moment()
    where h.site_id = p_site_id and h.provider_key = p_provider_key and h.probe_token = p_token
$$;
create function private.note_outcome(
  p_site_id uuid, p_provider_key text, p_outcome text, p_batch uuid, p_code text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_health public.provider_health_state;
  v_is_mine boolean;
begin
  perform private.hold_provider(p_site_id, p_provider_key);
  select h.* into v_health from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key;
  v_is_mine := p_batch is null or p_batch = v_health.probe_token;
  update public.provider_health_state h
    set last_success_at = case p_outcome when 'success' then v_now else h.last_success_at end,
        last_failure_at = case p_outcome when 'transient' then v_now else h.last_failure_at end,
        last_failure_code = case p_outcome when 'transient' then left(p_code, 64)
          else h.last_failure_code end,
        updated_at = v_now
    where h.site_id = p_site_id and h.provider_key = p_provider_key;
  if v_health.state = 'HALF_OPEN' and v_is_mine and p_outcome in ('transient', 'none') then
    update public.provider_health_state h
      set failure_count = h.failure_count + (p_outcome = 'transient')::int
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
    perform private.reopen_circuit(p_site_id, p_provider_key);
  elsif v_health.state = 'HALF_OPEN' and v_is_mine
     or p_outcome = 'success'
       and (v_health.state = 'CLOSED' or v_health.state = 'OPEN' and p_batch is null) then
    update public.provider_health_state h
      set state = 'CLOSED', failure_count = 0, next_probe_at = null, probe_token = null,
          probe_until = null
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  elsif v_health.state = 'CLOSED' and p_outcome = 'transient' then
    update public.provider_health_state h
      set failure_count = h.failure_count + 1,
          state = case when h.failure_count + 1 >= 5 then 'OPEN' else 'CLOSED' end,
          next_probe_at = case when h.failure_count + 1 >= 5 then private.next_probe() end
      where h.site_id = p_site_id and h.provider_key = p_provider_key;
  end if;
  return (
    select private.circuit_json(h.state, h.failure_count, h.next_probe_at)
    from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key);
end
$$;
create function private.circuit_json(
  p_state text, p_failure_count int, p_next_probe_at timestamptz
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'state', p_state, 'failureCount', p_failure_count, 'nextProbeAt', p_next_probe_at)
$$;
create function public.record_provider_outcome(
  p_site_id uuid, p_provider_key text, p_success boolean, p_transient boolean,
  p_probe uuid default null
) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.note_outcome(p_site_id, p_provider_key,
    case when p_success then 'success' when p_transient then 'transient' else 'definite' end,
    p_probe, null)
$$;

-- 11_delivery/delivery_turns.sql
create table private.delivery_turns (
  site_id uuid not null,
  provider_key text not null,
  pipeline text not null,
  served_at timestamptz not null,
  primary key (site_id, provider_key, pipeline)
) with (fillfactor = 50);
create function private.note_turn(p_site_id uuid, p_provider_key text, p_pipeline text)
returns void
language plpgsql security definer set search_path = ''
as $$
begin
  if exists (select from private.delivery_turns t
      where t.site_id = p_site_id and t.provider_key = p_provider_key and t.pipeline = p_pipeline
        and t.served_at between private.current_moment() - interval '1 second'
          and private.current_moment()) then
    return;
  end if;
  update private.delivery_turns t set served_at = private.current_moment()
    where t.ctid = (
      select x.ctid from private.delivery_turns x
      where x.site_id = p_site_id and x.provider_key = p_provider_key
        and x.pipeline = p_pipeline
      for update skip locked);
  -- Two first turns at once: an insert would wait for the other one, so one of them is enough.
  if not found and pg_try_advisory_xact_lock(
      hashtext('delivery_turns'), hashtext(concat(p_site_id, p_provider_key, p_pipeline))) then
    insert into private.delivery_turns (site_id, provider_key, pipeline, served_at)
      values (p_site_id, p_provider_key, p_pipeline, private.current_moment())
      on conflict do nothing;
  end if;
end
$$;

-- 11_delivery/dispatch_identifiers.sql
create table public.dispatch_identifiers (
  queue_id uuid primary key,
  site_id uuid not null,
  gclid text,
  wbraid text,
  gbraid text,
  customer_hash text,
  email_hash text,
  salt uuid not null,
  handed_at timestamptz not null
);
create function private.forget_identifiers(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.offline_conversion_queue q where q.sale_id = any (p_sale_ids)
    order by q.id for update;
  -- A plain row's claim relies on them.
  update private.queue_open q set is_plain = false
    where q.sale_id = any (p_sale_ids) and q.is_plain;
  delete from public.dispatch_identifiers i using public.offline_conversion_queue q
    where q.sale_id = any (p_sale_ids) and i.queue_id = q.id;
end
$$;
create function private.identifiers_kept() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;
create function public.purge_dispatch_identifiers() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.dispatch_identifiers i where i.queue_id = any (array(
    select x.queue_id from public.dispatch_identifiers x
    where x.handed_at < private.current_moment() - private.identifiers_kept()
    order by x.handed_at limit 5000 for update skip locked));
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;

-- 11_delivery/provider_dispatches.sql
create view private.delivered_sales as
  select d.sale_id, d.provider_key from public.provider_dispatches d
  where d.kind = 'CONVERSION' and coalesce(d.verdict, 'CONFIRMED') in ('CONFIRMED', 'DUPLICATE');
create function private.standing_json(p_sale_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'kind', d.kind,
    'transport', d.transport,
    'valueCents', d.value_cents,
    'at', d.dispatched_at,
    'verdict', d.verdict,
    'isWbraidOnly', exists (
      select from public.provider_dispatches c where c.sale_id = d.sale_id
        and c.kind = 'CONVERSION' and c.click_kind = 'wbraid'
        and c.verdict is distinct from 'REJECTED'),
    'isElsewhere', private.is_elsewhere(d.site_id, d.conversion_action))
  from private.standing_dispatches d where d.sale_id = p_sale_id and d.provider_key = 'google_ads'
$$;

-- 11_delivery/provider_health_state.sql
create function private.provider_lock(p_site_id uuid, p_provider_key text) returns bigint
language sql immutable
as $$ select pg_catalog.hashtextextended(p_site_id::text || p_provider_key, 0) $$;
create function private.hold_provider(p_site_id uuid, p_provider_key text) returns int
language plpgsql security definer set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(private.provider_lock(p_site_id, p_provider_key));
  perform from public.provider_health_state h
    where h.site_id = p_site_id and h.provider_key = p_provider_key for update;
  return (select c.version from public.provider_credentials c
          where c.site_id = p_site_id and c.provider_key = p_provider_key);
end
$$;
create function private.note_quota(
  p_site_id uuid, p_provider_key text, p_until timestamptz, p_is_shared boolean
) returns void
language sql security definer set search_path = ''
as $$
  with waiting as (
    select h.site_id from public.provider_health_state h
    where h.provider_key = p_provider_key and (h.site_id = p_site_id or (p_is_shared
      and h.site_id in (
        select c.site_id from public.provider_credentials c
          join public.provider_credentials own
            on own.site_id = p_site_id and own.provider_key = p_provider_key
              and own.account ->> 'clientIdTail' = c.account ->> 'clientIdTail'
        where c.provider_key = p_provider_key)))
    for update skip locked)
  update public.provider_health_state h
    set quota_until = greatest(h.quota_until, p_until), updated_at = private.current_moment()
    from waiting w
    where h.site_id = w.site_id and h.provider_key = p_provider_key
$$;
create view private.open_connections as
  select c.site_id, c.provider_key, c.transport, coalesce(h.state, 'CLOSED') as state,
    coalesce(h.probe_limit, 5) as probe_limit, h.next_probe_at, t.served_at
  from public.provider_credentials c
    join public.sites s on s.id = c.site_id and s.oci_sync_method = 'api' and s.archived_at is null
    left join public.provider_health_state h
      on h.site_id = c.site_id and h.provider_key = c.provider_key
    left join private.delivery_turns t
      on t.site_id = c.site_id and t.provider_key = c.provider_key and t.pipeline = 'seals'
  where h.blocked_at is null and not private.is_paused(s)
    and (h.quota_until is null or h.quota_until <= private.current_moment());

-- 11_delivery/provider_requests.sql
create table public.provider_requests (
  site_id uuid not null,
  request_id private.request_id not null,
  provider_key text not null,
  pipeline private.upload_pipeline not null,
  row_count private.row_count not null,
  row_ids uuid[] not null default '{}',
  customer_id text,
  sent_at timestamptz not null,
  next_poll_at timestamptz,
  poll_count private.row_count not null default 0,
  finished_at timestamptz,
  status private.request_status,
  primary key (site_id, request_id)
);
create function private.note_requests(
  p_site_id uuid, p_provider_key text, p_pipeline text, p_results jsonb, p_batch jsonb
) returns void
language sql security definer set search_path = ''
as $$
  insert into public.provider_requests (site_id, request_id, provider_key, pipeline, row_count,
      customer_id, sent_at, next_poll_at)
    select p_site_id, left(r."requestId", 256), p_provider_key, p_pipeline, count(*),
      left(p_batch ->> 'customerId', 20), n.now,
      n.now + make_interval(secs => coalesce((p_batch ->> 'firstPollSeconds')::int, 1800))
    from jsonb_to_recordset(p_results)
        r (outcome text, transport text, "requestId" text, verdict text)
      cross join (select private.current_moment() as now) n
    where r.outcome = 'COMPLETED' and r.transport = 'data_manager' and r.verdict is null
      and r."requestId" <> ''
    group by 2, n.now order by 2
    on conflict (site_id, request_id) do nothing
$$;
create function public.claim_verdict_polls(p_limit int, p_lease_seconds int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_polls jsonb;
begin
  with due as materialized (
    select r.site_id, r.request_id from public.provider_requests r
    where r.finished_at is null and r.next_poll_at <= v_now
      and exists (select from public.provider_credentials c
        where c.site_id = r.site_id and c.provider_key = r.provider_key)
    order by r.next_poll_at limit least(greatest(p_limit, 0), 1000) for update skip locked),
  taken as (
    update public.provider_requests r
      set next_poll_at = v_now + make_interval(secs => least(greatest(p_lease_seconds, 1), 3600)),
          poll_count = r.poll_count + 1
      from due d where r.site_id = d.site_id and r.request_id = d.request_id
      returning r.*)
  select coalesce(jsonb_agg(jsonb_build_object(
        'siteUuid', t.site_id,
        'providerKey', t.provider_key,
        'pipeline', t.pipeline,
        'requestId', t.request_id,
        'rowCount', t.row_count,
        'sentAt', t.sent_at,
        'pollCount', t.poll_count - 1,
        'isSameAccount', exists (select from public.provider_credentials c
          where c.site_id = t.site_id and c.provider_key = t.provider_key
            and c.account ->> 'customerId' = t.customer_id))
      order by t.sent_at, t.request_id), '[]')
    into v_polls from taken t;
  return v_polls;
end
$$;

-- 11_delivery/provider_upload_attempts.sql
create view public.provider_upload_attempts with (security_invoker = true) as
  select b.started_in as id, b.site_id, b.provider_key, b.batch_id, 'STARTED' as phase,
    b.claimed_count::int, null::int as completed_count, null::int as failed_count,
    null::int as retry_count, null::int as duration_ms, null as provider_request_id,
    null as error_code, null as error_category, b.started_at as created_at
  from private.finished_batches b
  union all
  select b.finished_in, b.site_id, b.provider_key, b.batch_id, 'FINISHED',
    null, b.completed_count::int, b.failed_count::int,
    b.retry_count::int, b.duration_ms::int, b.provider_request_id::text,
    b.error_code::text, b.error_category::text, b.finished_at
  from private.finished_batches b
  union all
  select l.started_in, l.site_id, l.provider_key, l.token, 'STARTED',
    l.claimed_count, null, null, null, null, null, null, null, l.claimed_at
  from private.queue_leases l where l.claimed_count is not null;
create function private.record_deferral(
  p_site_id uuid, p_provider_key text, p_count int, p_code text
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  insert into private.finished_batches (batch_id, site_id, provider_key, started_in, finished_in,
      started_at, finished_at, claimed_count, completed_count, failed_count, retry_count,
      error_code, error_category)
    values (gen_random_uuid(), p_site_id, p_provider_key, private.next_move_id(),
      private.next_move_id(), v_now, v_now, p_count, 0, 0, p_count, left(p_code, 64), 'TRANSIENT');
end
$$;

-- 11_delivery/provider_upload_metrics.sql
create table private.upload_metric_totals (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  attempts_total bigint not null,
  completed_total bigint not null,
  failed_total bigint not null,
  retry_total bigint not null,
  updated_at timestamptz not null,
  primary key (site_id, provider_key),
  constraint metrics_only_grow check (least(attempts_total, completed_total, failed_total,
    retry_total) >= 0)
);
create table private.upload_metric_deltas (
  site_id uuid not null,
  provider_key text not null,
  attempts int not null,
  completed int not null,
  failed int not null,
  retry int not null,
  at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create view public.provider_upload_metrics with (security_invoker = true) as
  select m.site_id, m.provider_key, sum(m.attempts_total)::bigint as attempts_total,
    sum(m.completed_total)::bigint as completed_total, sum(m.failed_total)::bigint as failed_total,
    sum(m.retry_total)::bigint as retry_total, max(m.updated_at) as updated_at
  from (
    select t.site_id, t.provider_key, t.attempts_total, t.completed_total, t.failed_total,
      t.retry_total, t.updated_at
    from private.upload_metric_totals t
    union all
    select d.site_id, d.provider_key, d.attempts, d.completed, d.failed, d.retry, d.at
    from private.upload_metric_deltas d
    union all
    select c.site_id, c.provider_key, c.arrived_tries, c.arrived_tries, 0, 0, c.outcome_at
    from private.queue_count_deltas c where c.arrived_tries > 0) m
  group by 1, 2;
create function public.increment_provider_upload_metrics(
  p_site_id uuid, p_provider_key text, p_attempts int, p_completed int, p_failed int, p_retry int
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
begin
  if least(p_attempts, p_completed, p_failed, p_retry) < 0 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "counts"}');
  end if;
  insert into private.upload_metric_deltas (site_id, provider_key, attempts, completed, failed,
      retry, at)
    values (p_site_id, p_provider_key, coalesce(p_attempts, 0), coalesce(p_completed, 0),
      coalesce(p_failed, 0), coalesce(p_retry, 0), private.current_moment());
  return jsonb_build_object('ok', true);
end
$$;
create function private.fold_upload_metrics() returns int
language plpgsql security definer set search_path = ''
as $$
declare
  v_folded int;
begin
  with taken as (
    delete from private.upload_metric_deltas d where d.ctid = any (array(
      select x.ctid from private.upload_metric_deltas x limit 50000))
    returning d.*),
  added as (
    insert into private.upload_metric_totals as m (site_id, provider_key, attempts_total,
        completed_total, failed_total, retry_total, updated_at)
      select t.site_id, t.provider_key, sum(t.attempts), sum(t.completed), sum(t.failed),
        sum(t.retry), max(t.at)
      from taken t group by 1, 2
      on conflict (site_id, provider_key) do update
        set attempts_total = m.attempts_total + excluded.attempts_total,
            completed_total = m.completed_total + excluded.completed_total,
            failed_total = m.failed_total + excluded.failed_total,
            retry_total = m.retry_total + excluded.retry_total,
            updated_at = greatest(m.updated_at, excluded.updated_at))
  select count(*) into v_folded from taken;
  return v_folded;
end
$$;

-- 11_delivery/record_verdicts.sql
create function private.follow_rejection(
  p_sale_id uuid, p_kind text, p_is_retryable boolean, p_reason text
) returns boolean
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rejections int;
begin
  -- Consent was withdrawn while Google was deciding: the identifiers are erased, but the sale was
  -- not blocked, because Google seemed to have it.
  update public.sales s set delivery_block = 'NO_CONSENT', updated_at = v_now
    where s.id = p_sale_id and s.delivery_block is null
      and coalesce(s.gclid, s.wbraid, s.gbraid) is null
      and not exists (select from private.standing_dispatches d where d.sale_id = s.id);
  select count(*) into v_rejections from public.provider_dispatches d
    where d.sale_id = p_sale_id and d.kind = p_kind and d.verdict = 'REJECTED';
  p_is_retryable := coalesce(p_is_retryable, false) and v_rejections < 5;
  perform private.follow_ledger(p_sale_id, case when p_is_retryable then p_kind end,
    v_now + case when p_reason like '%TOO_RECENT%' then interval '6 hours'
      else private.retry_delay(v_rejections) end);
  return p_is_retryable and exists (select from public.offline_conversion_queue q
    where q.sale_id = p_sale_id and q.kind = p_kind
      and q.state = any (private.waiting_states()) and q.claim_token is null);
end
$$;
create function private.note_poll(
  p_site_id uuid, p_request_id text, p_answer jsonb, p_row_ids uuid[]
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_is_final boolean := p_answer ->> 'status' is distinct from 'PROCESSING';
begin
  update public.provider_requests r
    set status = p_answer ->> 'status',
        finished_at = coalesce(r.finished_at,
          case when v_is_final and r.row_ids = p_row_ids then v_now end),
        next_poll_at = case
          when r.finished_at is null and not v_is_final
            then coalesce((p_answer ->> 'nextPollAt')::timestamptz, r.next_poll_at)
          when r.row_ids <> p_row_ids then v_now end
    where r.site_id = p_site_id and r.request_id = p_request_id
      and (v_is_final or r.finished_at is null);
end
$$;
create function public.record_verdicts(p_site_id uuid, p_request_id text, p_answer jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_rest text := coalesce(p_answer ->> 'rest',
    case when p_answer ->> 'status' is distinct from 'PROCESSING' then 'UNKNOWN' end);
  v_pipeline text;
  v_row_ids uuid[];
  v_recorded int;
  v_rejected jsonb;
  v_again int := 0;
  v_line record;
begin
  select r.pipeline, r.row_ids into v_pipeline, v_row_ids from public.provider_requests r
    where r.site_id = p_site_id and r.request_id = p_request_id;
  if v_pipeline is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_pipeline = 'signals' then
    perform private.note_poll(p_site_id, p_request_id, p_answer, v_row_ids);
    return private.record_signal_verdicts(p_site_id, p_request_id, p_answer -> 'verdicts', v_rest);
  end if;
  perform from public.sales s where s.id in (
      select q.sale_id from private.queue_delivered q where q.id = any (v_row_ids))
    order by s.id for no key update;
  perform private.act(('system', null)::private.actor, 'VERDICT');
  with said as materialized (
    select distinct on (v.index) v.index, v.verdict, v.reason, v.retryable,
      v."byClick" as is_by_click
    from jsonb_to_recordset(p_answer -> 'verdicts')
      v (index int, verdict text, reason text, retryable boolean, "byClick" boolean)
    order by v.index, v.verdict = 'REJECTED' desc, v.retryable),   -- of several, the worst
  judged as (
    update private.queue_delivered q   -- no row moves, so nothing is recorded or counted
      set verdict = case when s.is_by_click and x.kind = 'CONVERSION' and not x.may_have_arrived
              and not exists (select from public.provider_dispatches o
                where o.sale_id = x.sale_id and o.id <> x.id)
            then 'REJECTED' else coalesce(s.verdict, v_rest) end,
          verdict_reason = left(s.reason, 256), verdict_at = v_now,
          is_retryable = coalesce(s.retryable, false), updated_at = v_now
      from private.queue_delivered x left join said s on s.index = x.record_index
      where q.id = x.id and x.id = any (v_row_ids)
        and coalesce(s.verdict, v_rest) is not null
        and (x.verdict is null
          or (x.verdict = 'UNKNOWN' and coalesce(s.verdict, v_rest) <> 'UNKNOWN'))
      returning q.sale_id, q.kind, q.verdict, q.verdict_reason, s.retryable)
  select count(*), coalesce(jsonb_agg(to_jsonb(j) order by j.sale_id)
      filter (where j.verdict = 'REJECTED'), '[]') into v_recorded, v_rejected from judged j;
  for v_line in select * from jsonb_to_recordset(v_rejected)
      l (sale_id uuid, kind text, verdict_reason text, retryable boolean) loop
    v_again := v_again + private.follow_rejection(v_line.sale_id, v_line.kind, v_line.retryable,
      v_line.verdict_reason)::int;
  end loop;
  perform private.note_poll(p_site_id, p_request_id, p_answer, v_row_ids);
  return jsonb_build_object('recorded', v_recorded, 'rejected', jsonb_array_length(v_rejected),
    'queuedAgain', v_again);
end
$$;
create function private.record_signal_verdicts(
  p_site_id uuid, p_request_id text, p_verdicts jsonb, p_rest text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_recorded int;
  v_rejected int;
begin
  with said as materialized (
    select distinct on (v.index) v.index, v.verdict, v.reason, v."byClick" as is_by_click
    from jsonb_to_recordset(p_verdicts)
      v (index int, verdict text, reason text, "byClick" boolean)
    order by v.index, v.verdict = 'REJECTED' desc),
  judged as (
    update public.marketing_signals g
      set verdict = case when s.is_by_click and not x.may_have_arrived then 'REJECTED'
            -- One that was sent before without an answer may count.
            when s.verdict = 'REJECTED' and x.may_have_arrived then 'UNKNOWN'
            else coalesce(s.verdict, p_rest) end,
          verdict_reason = left(s.reason, 256), verdict_at = private.current_moment()
      from public.marketing_signals x left join said s on s.index = x.record_index
      where g.id = x.id and x.site_id = p_site_id and x.provider_request_id = p_request_id
        and coalesce(s.verdict, p_rest) is not null
        and (x.verdict is null
          or (x.verdict = 'UNKNOWN' and coalesce(s.verdict, p_rest) <> 'UNKNOWN'))
      returning g.verdict)
  select count(*), count(*) filter (where j.verdict = 'REJECTED') into v_recorded, v_rejected
    from judged j;
  return jsonb_build_object('recorded', v_recorded, 'rejected', v_rejected, 'queuedAgain', 0);
end
$$;

-- 11_delivery/send_again.sql
create function public.send_again(p_public_id text, p_id uuid) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_row public.offline_conversion_queue;
  v_why text;
  v_sent uuid;
begin
  perform private.lock_with_sales(private.of_this_site(v_site.id, array[p_id]));
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = p_id and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select j.skipped into v_why
    from private.judge_queue_rows(v_site.id, 'SEND_AGAIN', null, array[p_id], null) j;
  if v_why is null then
    perform private.act(private.user_actor(), 'SEND_AGAIN');
    perform private.follow_ledger(v_row.sale_id, v_row.kind);
  end if;
  if v_why is null or v_why = 'ALREADY_QUEUED' then
    v_sent := private.open_row(v_row);
  end if;
  if v_sent is null then
    perform private.fail(409, 'ILLEGAL_MOVE', jsonb_build_object(
      'from', v_row.status,
      'to', 'QUEUED',
      'allowed', '[]'::jsonb));
  end if;
  if v_why is null then
    perform private.prove(v_site.id, private.user_actor(), jsonb_build_object(
      'contract', 'conversion',
      'contractVersion', (
        select c.contract_version from public.contracts c where c.contract = 'conversion'),
      'entityId', v_sent,
      'to', 'QUEUED',
      'facts', jsonb_build_object('saleId', v_row.sale_id, 'sendsAgain', v_row.id)));
  end if;
  return jsonb_build_object('ok', true, 'rowId', v_sent);
end
$$;
create function private.why_not_again(p_row public.offline_conversion_queue) returns text
language sql stable security definer set search_path = ''
as $$
  select case
    when not private.is_in_doubt(p_row) then 'ILLEGAL_MOVE'
    when private.open_row(p_row) is not null then 'ALREADY_QUEUED'
    when not private.may_send(s, p_row.kind)
      -- Google no longer takes the adjustment.
      or p_row.kind <> 'CONVERSION' and p_row.click_expires_at <= private.current_moment()
      or private.needed_kind(s, d, p_row.kind) is distinct from p_row.kind
      then 'ILLEGAL_MOVE' end
  from public.sales s
    left join private.standing_dispatches d
      on d.sale_id = s.id and d.provider_key = p_row.provider_key
  where s.id = p_row.sale_id
$$;
create function private.is_in_doubt(p_row public.offline_conversion_queue) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (select from public.provider_dispatches d
      where d.sale_id = p_row.sale_id and d.queue_id = p_row.id and d.verdict = 'REJECTED')
    or p_row.status = 'COMPLETED' and exists (select from private.standing_dispatches d
      where d.sale_id = p_row.sale_id and d.provider_key = p_row.provider_key
        and d.queue_id = p_row.id and d.verdict = 'UNKNOWN')
$$;
create function private.open_row(p_row public.offline_conversion_queue) returns uuid
language sql stable security definer set search_path = ''
as $$
  select q.id from public.offline_conversion_queue q
  where q.sale_id = p_row.sale_id and q.provider_key = p_row.provider_key and q.kind = p_row.kind
    and q.state = any (private.waiting_states())
$$;

-- 11_delivery/upload_batches.sql
create function private.start_batch(
  p_site_id uuid, p_provider_key text, p_batch_id uuid, p_pipeline text, p_claimed int
) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.queue_leases as l (token, site_id, claimed_at, row_ids, provider_key,
      pipeline, claimed_count, started_in)
    values (p_batch_id, p_site_id, private.current_moment(), '{}', p_provider_key,
      p_pipeline, p_claimed, private.next_move_id())
    on conflict (token) do update   -- hand_out has made it
      set provider_key = excluded.provider_key, pipeline = excluded.pipeline,
          claimed_count = excluded.claimed_count, started_in = excluded.started_in;
end
$$;
create function private.finish_batch(
  p_site_id uuid, p_batch_id uuid, p_batch jsonb, p_completed int, p_failed int, p_retry int
) returns boolean
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
declare
  v_now timestamptz := private.current_moment();
  v_open private.queue_leases;
  v_is_current boolean;
begin
  select l.* into v_open from private.queue_leases l
    where l.token = p_batch_id and l.site_id = p_site_id and l.claimed_count is not null
    for update;
  if v_open.token is null then
    return false;
  end if;
  update private.queue_leases l set claimed_count = null where l.token = p_batch_id;
  perform private.end_leases(array[p_batch_id]);
  v_is_current := private.hold_provider(p_site_id, v_open.provider_key)
    = (p_batch ->> 'credentialsVersion')::int;
  insert into private.finished_batches (batch_id, site_id, provider_key, started_in, finished_in,
      started_at, finished_at, claimed_count, completed_count, failed_count, retry_count,
      duration_ms, provider_request_id, error_code, error_category)
    values (p_batch_id, p_site_id, v_open.provider_key, v_open.started_in, private.next_move_id(),
      v_open.claimed_at, v_now, v_open.claimed_count,
      coalesce(p_completed, 0), coalesce(p_failed, 0), coalesce(p_retry, 0),
      (p_batch ->> 'durationMs')::int, left(p_batch ->> 'requestId', 256),
      left(p_batch ->> 'errorCode', 64), p_batch ->> 'errorCategory');
  perform public.increment_provider_upload_metrics(p_site_id, v_open.provider_key,
    coalesce(p_completed, 0) + coalesce(p_failed, 0) + coalesce(p_retry, 0),
    p_completed, p_failed, p_retry);
  perform private.note_outcome(p_site_id, v_open.provider_key,
    coalesce(p_batch ->> 'outcome', 'none'), p_batch_id, p_batch ->> 'errorCode');
  if v_is_current and p_batch ->> 'quotaUntil' is not null then
    perform private.note_quota(p_site_id, v_open.provider_key,
      (p_batch ->> 'quotaUntil')::timestamptz, (p_batch ->> 'isQuotaShared')::boolean);
  end if;
  if v_is_current and jsonb_typeof(p_batch -> 'block') = 'object' then
    perform private.block_connection(p_site_id, v_open.provider_key,
      p_batch #>> '{block,code}', p_batch #>> '{block,message}');
  end if;
  if v_is_current and jsonb_typeof(p_batch -> 'blockActions') = 'array' then
    update public.provider_conversion_actions a
      set blocked_at = coalesce(a.blocked_at, v_now), blocked_code = left(b.code, 64),
          blocked_message = left(b.message, 1024), updated_at = v_now
      from jsonb_to_recordset(p_batch -> 'blockActions')
        b ("conversionName" text, action text, code text, message text)
      where a.site_id = p_site_id and a.provider_key = v_open.provider_key
        and a.conversion_name = b."conversionName" and b.code is not null
        and (b.action is null or a.action = b.action);
  end if;
  return true;
end
$$;
create function private.with_refused_actions(p_batch jsonb, p_refused jsonb) returns jsonb
language sql immutable security definer set search_path = ''
as $$
  select p_batch || jsonb_build_object('blockActions', (
    select coalesce(jsonb_agg(distinct
      b || jsonb_strip_nulls(jsonb_build_object('action', r.action))), '[]')
    from jsonb_array_elements(p_batch -> 'blockActions') b
      left join jsonb_to_recordset(p_refused) r ("conversionName" text, action text, code text)
        on r."conversionName" = b ->> 'conversionName' and r.code = b ->> 'code'))
$$;
create function private.end_dead_batches(p_min_age interval) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_tokens uuid[];
  v_reopened int;
begin
  with dead as materialized (
    select l.token as batch_id, l.site_id, l.provider_key, l.claimed_count, l.claimed_at,
      l.started_in
    from private.queue_leases l
    where l.claimed_at <= v_now - p_min_age and l.claimed_count is not null
    order by l.claimed_at limit 2000 for update skip locked),
  closed as (
    update private.queue_leases l set claimed_count = null from dead d where l.token = d.batch_id),
  finished as (
    insert into private.finished_batches (batch_id, site_id, provider_key, started_in,
        finished_in, started_at, finished_at, claimed_count, completed_count, failed_count,
        retry_count, error_code, error_category)
      select d.batch_id, d.site_id, d.provider_key, d.started_in, private.next_move_id(),
        d.claimed_at, v_now, d.claimed_count, 0, 0, d.claimed_count, 'WORKER_LOST', 'TRANSIENT'
      from dead d),
  counted as (
    insert into private.upload_metric_deltas (site_id, provider_key, attempts, completed, failed,
        retry, at)
      select d.site_id, d.provider_key, d.claimed_count, 0, 0, d.claimed_count, v_now from dead d)
  select array_agg(d.batch_id) into v_tokens from dead d;
  perform private.end_leases(v_tokens);
  update public.provider_health_state h
    set state = 'OPEN', next_probe_at = private.next_probe(), probe_token = null,
        probe_until = null, updated_at = v_now
    from (select x.site_id, x.provider_key from public.provider_health_state x
          where x.state = 'HALF_OPEN' and x.probe_until <= v_now
          order by x.probe_until limit 2000 for update skip locked) t
    where h.site_id = t.site_id and h.provider_key = t.provider_key;
  get diagnostics v_reopened = row_count;
  return jsonb_build_object(
    'ended', coalesce(cardinality(v_tokens), 0), 'reopened', v_reopened);
end
$$;

-- 12_signals/claim_signal_jobs.sql
create function private.due_signal_jobs(
  p_site_id uuid, p_provider_key text, p_max_attempts int
) returns table (
  id uuid, conversion_name text, action text, consent text, next_retry_at timestamptz,
  created_at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  with names as materialized (
    select n.key, n.name
    from public.sites s, private.sent_names(s) n
    where s.id = p_site_id and s.archived_at is null)
  select t.id, t.conversion_name, t.action, t.consent, t.next_retry_at, t.created_at
  from (select g.id, a.conversion_name, coalesce(g.conversion_action, a.action) as action,
      g.consent, g.next_retry_at, g.created_at, g.is_counted, row_number() over (
        partition by g.is_counted order by g.next_retry_at nulls first, g.created_at, g.id) as place
    from private.sendable_signals g
      join names n on n.key = g.signal_type
      join public.provider_conversion_actions a on a.site_id = g.site_id
        and a.provider_key = p_provider_key and a.blocked_at is null
        and a.conversion_name = coalesce(g.conversion_name, n.name)
        and (g.conversion_action is null
          or split_part(g.conversion_action, '/', 2) = split_part(a.action, '/', 2))
        and (a.google_name is null or a.google_name = a.conversion_name
          or g.conversion_action is not null or not g.may_have_arrived)
    where g.site_id = p_site_id and g.oci_sync_method = 'api'
      and g.attempt_count - g.attempt_base < p_max_attempts) t
  where t.is_counted or t.place <= (select private.signals_left_today(p_site_id))
$$;
create function public.list_signal_groups(
  p_limit_groups int default 50, p_max_attempts int default private.max_attempts()
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with due as (
    select c.site_id, c.provider_key, d.queued_count, d.min_next_retry_at, d.min_created_at,
      h.state, h.probe_limit, h.next_probe_at,
      h.state <> 'CLOSED' and h.next_probe_at <= private.current_moment() as is_probe_due,
      t.served_at
    from public.provider_credentials c
      join public.provider_health_state h
        on h.site_id = c.site_id and h.provider_key = c.provider_key and h.blocked_at is null
          and (h.quota_until is null or h.quota_until <= private.current_moment())
      left join private.delivery_turns t
        on t.site_id = c.site_id and t.provider_key = c.provider_key and t.pipeline = 'signals'
      cross join lateral (
        select count(*) as queued_count, min(j.created_at) as min_created_at,
          case when bool_or(j.next_retry_at is null) then null else min(j.next_retry_at) end
            as min_next_retry_at
        from private.due_signal_jobs(c.site_id, c.provider_key, p_max_attempts) j) d
    where d.queued_count > 0
    order by d.min_next_retry_at nulls first, d.min_created_at, c.site_id
    limit least(greatest(p_limit_groups, 1), 10000))
  select coalesce(jsonb_agg(to_jsonb(due.*)
    order by due.min_next_retry_at nulls first, due.min_created_at, due.site_id), '[]') from due
$$;
create function public.claim_marketing_signal_jobs(
  p_site_id uuid, p_provider_key text, p_limit int,
  p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_token uuid := gen_random_uuid();
  v_gate record := private.pass_gate(p_site_id, p_provider_key, v_token, 'signals');
  v_limit int := least(greatest(p_limit, 0), 1000,
    case v_gate.gate when 'HALF_OPEN' then v_gate.probe_limit end);
  v_rows jsonb := '[]';
begin
  if v_gate.gate in ('CLOSED', 'HALF_OPEN') and private.hold_signals(p_site_id) then
    with due as materialized (
      select j.id, j.conversion_name, j.action, j.consent
      from private.due_signal_jobs(p_site_id, p_provider_key, p_max_attempts) j
      order by j.next_retry_at nulls first, j.created_at, j.id limit v_limit),
    mine as materialized (
      select g.id from public.marketing_signals g
      where g.id in (select d.id from due d) and g.dispatch_status = 'PENDING'
      order by g.id for update skip locked),
    claimed as (
      update public.marketing_signals g
        set dispatch_status = 'PROCESSING', claim_token = v_token, claimed_at = v_now,
            attempt_count = g.attempt_count + 1, next_retry_at = null, updated_at = v_now,
            conversion_name = d.conversion_name, conversion_action = d.action,
            last_claim = v_token, last_claimed_at = v_now, claimed_before_at = g.last_claimed_at
        from mine m join due d on d.id = m.id
        where g.id = m.id
        returning g.*, d.consent)
    select coalesce(jsonb_agg(jsonb_build_object(
          'id', g.id,
          'kind', 'CONVERSION',
          'signalType', g.signal_type,
          'orderId', g.order_id,
          'conversionName', g.conversion_name,
          'conversionAction', g.conversion_action,
          'via', v_gate.transport,
          'valueCents', g.conversion_value * 100,
          'currency', g.currency,
          'conversionTime', g.occurred_at,
          'timezone', s.timezone,
          'attemptCount', g.attempt_count,
          'gclid', c.gclid,
          'wbraid', c.wbraid,
          'gbraid', c.gbraid,
          'customerHash', null,
          'emailHash', null,
          'channel', c.channel,
          'consent', g.consent,
          'mayHaveArrived', g.may_have_arrived)
        order by g.occurred_at, g.id), '[]')
      into v_rows
      from claimed g join public.calls c on c.id = g.call_id
        join public.sites s on s.id = g.site_id;
  end if;
  if jsonb_array_length(v_rows) > 0 then
    perform private.start_batch(p_site_id, p_provider_key, v_token, 'signals',
      jsonb_array_length(v_rows));
  elsif v_gate.gate = 'HALF_OPEN' then
    perform private.return_probe(p_site_id, p_provider_key, v_token);
  end if;
  return jsonb_build_object(
    'token', v_token,
    'gate', v_gate.gate,
    'rows', v_rows,
    'batch', jsonb_build_object('credentialsVersion', v_gate.credentials_version));
end
$$;

-- 12_signals/marketing_signals.sql
create table public.marketing_signals (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  call_id uuid not null references public.calls (id),
  signal_type text not null,
  conversion_value bigint not null,
  currency text not null,
  occurred_at timestamptz not null,
  dispatch_status text not null default 'PENDING',
  order_id text not null generated always as ('signal_' || id::text) stored,
  conversion_name text,
  conversion_action text,
  may_have_arrived boolean not null default false,
  attempt_count int not null default 0,
  attempt_base int not null default 0,
  free_waits int not null default 0,
  claim_token uuid,
  claimed_at timestamptz,
  last_claim uuid,
  last_claimed_at timestamptz,
  claimed_before_at timestamptz,
  next_retry_at timestamptz,
  last_error text,
  provider_error_code text,
  provider_error_category text,
  google_sent_at timestamptz,
  transport text,
  provider_request_id text,
  record_index int,
  verdict text,
  verdict_reason text,
  verdict_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint one_signal_per_call_and_type unique (call_id, signal_type),
  constraint signal_type_is_known
    check (signal_type in ('INTENT_CAPTURED', 'SEAL_PENDING', 'MEETING_BOOKED')),
  constraint dispatch_status_is_known
    check (dispatch_status in ('PENDING', 'PROCESSING', 'SENT', 'FAILED')),
  constraint processing_signals_have_a_claim check (
    (dispatch_status = 'PROCESSING') = (claim_token is not null and claimed_at is not null)),
  constraint claimed_signals_have_a_name
    check (attempt_count = 0 or conversion_name is not null),
  constraint sent_signals_have_a_time
    check ((dispatch_status = 'SENT') = (google_sent_at is not null)),
  constraint sent_signals_have_a_way
    check ((dispatch_status = 'SENT') = (transport is not null)),
  constraint signal_transport_is_known
    check (transport in ('script', 'data_manager', 'ads_api')),
  constraint sent_signals_have_no_error check (dispatch_status <> 'SENT'
    or num_nonnulls(last_error, provider_error_code, provider_error_category) = 0),
  constraint signal_attempts_only_grow check (attempt_count >= attempt_base and attempt_base >= 0),
  constraint signal_free_waits_are_bounded check (free_waits between 0 and 20),
  constraint signal_category_is_known check (provider_error_category in
    ('VALIDATION', 'AUTH', 'TRANSIENT', 'RATE_LIMIT', 'PERMANENT')),
  constraint signal_verdict_is_known
    check (verdict in ('CONFIRMED', 'REJECTED', 'DUPLICATE', 'UNKNOWN')),
  constraint signal_verdicts_have_a_time check ((verdict is null) = (verdict_at is null)
    and (verdict is null or dispatch_status = 'SENT')),
  constraint signal_text_is_bounded check (char_length(last_error) <= 1024
    and char_length(provider_error_code) <= 64 and char_length(provider_request_id) <= 256
    and char_length(verdict_reason) <= 256 and char_length(conversion_action) <= 100)
);
create function private.emit_signal(p_call_id uuid, p_type text, p_at timestamptz) returns void
language sql security definer set search_path = ''
as $$
  insert into public.marketing_signals (site_id, call_id, signal_type, conversion_value, currency,
      occurred_at, created_at, updated_at)
    select c.site_id, c.id, p_type,
      private.decayed_value(s.default_aov_cents, c.clicked_at, p_at), s.currency, p_at,
      private.current_moment(), private.current_moment()
    from public.calls c join public.sites s on s.id = c.site_id
    where c.id = p_call_id and s.signals_enabled and c.marketing_consent
      and coalesce(c.gclid, c.wbraid, c.gbraid) is not null
      and c.clicked_at > p_at - private.click_life()
    on conflict (call_id, signal_type) do nothing
$$;
create function private.silence_signals(
  p_call_id uuid, p_silent boolean, p_reason text, p_type text default null
) returns void
language sql security definer set search_path = ''
as $$
  update public.marketing_signals g
    set dispatch_status = case when p_silent then 'FAILED' else 'PENDING' end,
        last_error = case when p_silent then p_reason end,
        provider_error_code = null, provider_error_category = null,
        next_retry_at = null, updated_at = private.current_moment()
    where g.call_id = p_call_id and g.signal_type = coalesce(p_type, g.signal_type)
      and case when p_silent
        then g.dispatch_status = 'PENDING'
          or (g.dispatch_status = 'FAILED' and g.provider_error_category = 'AUTH')
        else g.dispatch_status = 'FAILED' and g.last_error = p_reason end
$$;
create function private.stage_signal(p_status text) returns text
language sql immutable set search_path = ''
as $$
  select case p_status
    when 'qualified' then 'SEAL_PENDING'
    when 'meeting' then 'MEETING_BOOKED' end
$$;
create function private.follow_stages(
  p_call public.calls, p_to text, p_is_undo boolean
) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_entered text := private.stage_signal(p_to);
  v_left text := private.stage_signal(p_call.status);
begin
  if p_to = any (private.ended_lead_states()) then
    perform private.silence_signals(p_call.id, true, 'CALL_IS_JUNK');
  elsif p_call.status = any (private.ended_lead_states()) then
    perform private.silence_signals(p_call.id, false, 'CALL_IS_JUNK');
  end if;
  if p_is_undo and v_left is not null then
    perform private.silence_signals(p_call.id, true, 'STAGE_UNDONE', v_left);
  elsif v_entered is not null and not p_is_undo then
    perform private.silence_signals(p_call.id, false, 'STAGE_UNDONE', v_entered);
    perform private.emit_signal(p_call.id, v_entered, private.current_moment());
  end if;
end
$$;

-- 12_signals/script_signals.sql
create function private.script_signals(
  p_site_id uuid, p_limit int, p_max_attempts int
) returns setof uuid
language sql stable security definer set search_path = ''
as $$
  select t.id from (
    select g.id, g.next_retry_at, g.created_at, g.is_counted, row_number() over (
      partition by g.is_counted order by g.next_retry_at nulls first, g.created_at, g.id) as place
    from private.sendable_signals g
    where g.site_id = p_site_id and g.oci_sync_method = 'script'
      and g.attempt_count - g.attempt_base < p_max_attempts) t
  where t.is_counted or t.place <= (select private.signals_left_today(p_site_id))
  order by t.next_retry_at nulls first, t.created_at, t.id
  limit p_limit
$$;
create function private.signal_json(
  p_site public.sites, p_signal public.marketing_signals
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_signal.id,
    'orderId', p_signal.order_id,
    'gclid', c.gclid,
    'wbraid', c.wbraid,
    'gbraid', c.gbraid,
    'conversionName', coalesce(
      (select n.google_name from private.action_names n
        where n.site_id = p_signal.site_id and n.action = p_signal.conversion_action
          and p_signal.may_have_arrived),
      p_signal.conversion_name, private.conversion_name(p_site, p_signal.signal_type)),
    'conversionTime', p_signal.occurred_at,
    'value', p_signal.conversion_value,
    'currency', p_signal.currency)
  from public.calls c where c.id = p_signal.call_id
$$;
create function public.claim_marketing_signals(
  p_site_id uuid, p_limit int, p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site public.sites;
  v_token uuid := gen_random_uuid();
  v_is_mine boolean := private.hold_signals(p_site_id);
  v_ids uuid[];
  v_rows jsonb;
begin
  select s.* into v_site from public.sites s where s.id = p_site_id for share;
  select array_agg(t.id) into v_ids from (
    select g.id from public.marketing_signals g
    where v_is_mine and g.dispatch_status = 'PENDING' and g.id in (
      select x.id from private.script_signals(
        v_site.id, least(greatest(p_limit, 0), 1000), p_max_attempts) x (id))
    for update skip locked) t;
  with claimed as (
    update public.marketing_signals g
      set dispatch_status = 'PROCESSING', claim_token = v_token, claimed_at = v_now,
          attempt_count = g.attempt_count + 1, next_retry_at = null, updated_at = v_now,
          conversion_name =
            coalesce(g.conversion_name, private.conversion_name(v_site, g.signal_type)),
          conversion_action = case when g.may_have_arrived then g.conversion_action end,
          last_claim = v_token, last_claimed_at = v_now, claimed_before_at = g.last_claimed_at
      where g.id = any (v_ids) returning g as signal)
  select coalesce(
      jsonb_agg(private.signal_json(v_site, c.signal) order by (c.signal).occurred_at), '[]')
    into v_rows from claimed c;
  return jsonb_build_object('token', v_token, 'rows', v_rows);
end
$$;
create function public.ack_marketing_signals(p_site_id uuid, p_ids uuid[]) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.marketing_signals g
    set dispatch_status = 'SENT', google_sent_at = v_now, transport = 'script',
        claim_token = null, claimed_at = null, next_retry_at = null, last_error = null,
        provider_error_code = null, provider_error_category = null, updated_at = v_now
    where g.id in (
      select x.id from public.marketing_signals x
      where x.id = any (p_ids) and x.site_id = p_site_id and x.dispatch_status <> 'SENT'
        and x.attempt_count > 0
      order by x.id for update);
  return (
    select jsonb_build_object(
      'updated', count(g.id),
      'refused', coalesce(jsonb_agg(i.id order by i.id) filter (where g.id is null), '[]'))
    from (select distinct u.id from unnest(p_ids) u (id)) i
      left join public.marketing_signals g
        on g.id = i.id and g.site_id = p_site_id and g.dispatch_status = 'SENT');
end
$$;
create function public.fail_marketing_signals(
  p_site_id uuid, p_ids uuid[], p_category text, p_message text,
  p_max_attempts int default private.max_attempts(), p_claims jsonb default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_ids uuid[];
  v_reasons jsonb;
begin
  select coalesce(array_agg(j.id) filter (where j.reason is null), '{}'),
      coalesce(jsonb_object_agg(j.id, j.reason) filter (where j.reason is not null), '{}')
    into v_ids, v_reasons
    from (select g.id, case
        when p_claims ->> g.id::text <> coalesce(g.last_claim::text, '') then 'STALE_CLAIM'
        when p_claims ? g.id::text or g.dispatch_status <> 'PROCESSING' then null
        when g.claimed_before_at > v_now - private.claim_doubt() then 'CLAIMED_TWICE' end as reason
      from public.marketing_signals g where g.id = any (p_ids) and g.site_id = p_site_id
      order by g.id for update) j;
  update public.marketing_signals g
    set dispatch_status = case when l.is_again then 'PENDING' else 'FAILED' end,
        claim_token = null, claimed_at = null, updated_at = v_now,
        next_retry_at = case when l.is_again
          then v_now + private.retry_delay(g.attempt_count - g.attempt_base) end,
        last_error = left(p_message, 1024),
        provider_error_code = null, provider_error_category = null
    from (
      select x.id, p_category in ('TRANSIENT', 'RATE_LIMIT')
        and x.attempt_count - x.attempt_base < p_max_attempts as is_again
      from public.marketing_signals x
      where x.id = any (v_ids) and x.dispatch_status = 'PROCESSING') l
    where g.id = l.id;
  return jsonb_build_object(
    'updated', (
      select count(*) from public.marketing_signals g
      where g.id = any (v_ids) and g.dispatch_status in ('PENDING', 'FAILED')
        and g.attempt_count > 0),
    'refused', (
      select coalesce(jsonb_agg(distinct i), '[]') from unnest(p_ids) i where i <> all (v_ids)),
    'reasons', v_reasons);
end
$$;
create function public.recover_marketing_signals(
  p_min_age_minutes int default 15, p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_recovered int;
  v_ended int;
begin
  with stuck as materialized (
    select g.id, c.status = any (private.ended_lead_states()) as is_junk
    from public.marketing_signals g join public.calls c on c.id = g.call_id
    where g.dispatch_status = 'PROCESSING'
      and g.claimed_at <= v_now - make_interval(mins => greatest(p_min_age_minutes, 1))
    order by g.claimed_at limit 2000 for update of g skip locked)
  update public.marketing_signals g
    set dispatch_status = case when t.is_junk then 'FAILED' else 'PENDING' end,
        claim_token = null, claimed_at = null, updated_at = v_now,
        last_error = case when t.is_junk then 'CALL_IS_JUNK' else g.last_error end,
        may_have_arrived = true
    from stuck t where g.id = t.id;
  get diagnostics v_recovered = row_count;
  with ended as materialized (
    select g.id, case
        when not c.marketing_consent then 'NO_CONSENT'
        when g.attempt_count - g.attempt_base >= p_max_attempts then 'MAX_ATTEMPTS_EXCEEDED'
        else 'CLICK_EXPIRED' end as why
    from public.marketing_signals g join public.calls c on c.id = g.call_id
    where g.dispatch_status = 'PENDING'
      and (g.attempt_count - g.attempt_base >= p_max_attempts or not c.marketing_consent
        or c.clicked_at <= v_now - private.click_life())
    limit 2000 for update of g skip locked)
  update public.marketing_signals g
    set dispatch_status = 'FAILED', next_retry_at = null, last_error = e.why, updated_at = v_now
    from ended e where g.id = e.id;
  get diagnostics v_ended = row_count;
  return jsonb_build_object('recovered', v_recovered, 'ended', v_ended);
end
$$;

-- 12_signals/sendable_signals.sql
create function private.awaits_person(p_call public.calls) returns boolean
language sql immutable
as $$
  select p_call.signed_at is null and p_call.status = 'intent' and not p_call.is_moved
$$;
create view private.sendable_signals as
  select g.*, s.oci_sync_method, case when choice.is_given then 'GRANTED' end as consent,
    coalesce(g.last_claimed_at
      >= date_trunc('day', (select private.current_moment()), s.timezone), false) as is_counted
  from public.marketing_signals g
    join public.sites s on s.id = g.site_id
    join public.calls c on c.id = g.call_id
    left join lateral (
      select 'marketing' = any (x.scopes) as is_given from public.consent_choices x
      where x.site_id = c.site_id and x.visitor_id = c.visitor_id
      order by x.chosen_at desc, x.id desc limit 1) choice on true
  where g.dispatch_status = 'PENDING' and s.signals_enabled
    and coalesce(s.paused_until <= (select private.current_moment()), true)
    and (g.next_retry_at is null or g.next_retry_at <= (select private.current_moment()))
    and coalesce(c.gclid, c.wbraid, c.gbraid) is not null
    and c.marketing_consent and coalesce(choice.is_given, true)
    and c.status <> all (private.ended_lead_states())
    and not private.awaits_person(c)
    and c.clicked_at <= (select private.current_moment())
      - make_interval(hours => s.click_min_age_hours)
    and c.clicked_at > (select private.current_moment()) - private.click_life();
create function private.signals_handed_out_today(p_site public.sites) returns int
language sql stable security definer set search_path = ''
as $$
  select count(*)::int from public.marketing_signals g
  where g.site_id = p_site.id and g.last_claimed_at
    >= date_trunc('day', private.current_moment(), p_site.timezone)
$$;
create function private.signals_left_today(p_site_id uuid) returns int
language sql stable security definer set search_path = ''
as $$
  select greatest(0, s.signals_daily_max - private.signals_handed_out_today(s))
  from public.sites s where s.id = p_site_id
$$;
create function private.hold_signals(p_site_id uuid) returns boolean
language sql set search_path = ''
as $$
  select pg_catalog.pg_try_advisory_xact_lock(hashtextextended('signals/' || p_site_id, 0))
$$;

-- 12_signals/settle_signal_jobs.sql
create function public.settle_marketing_signal_jobs(
  p_site_id uuid, p_token uuid, p_results jsonb, p_batch jsonb default null,
  p_max_attempts int default private.max_attempts()
) returns jsonb
language plpgsql security definer set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  v_now timestamptz := private.current_moment();
  v_provider text := coalesce(p_batch ->> 'provider', 'google_ads');
  v_is_old boolean := coalesce(private.hold_provider(p_site_id, v_provider)
    <> (p_batch ->> 'credentialsVersion')::int, p_batch is not null)
    or exists (select from public.sites s
      where s.id = p_site_id and s.oci_sync_method = 'script');
  v_completed int;
  v_retried int;
  v_failed int;
begin
  if p_token is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "token"}');
  end if;
  perform from public.marketing_signals g
    where g.site_id = p_site_id
      and g.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_results) r)
    order by g.id for update;
  if jsonb_typeof(p_batch -> 'blockActions') = 'array' then   -- before a signal forgets its action
    p_batch := private.with_refused_actions(p_batch, (
      select jsonb_agg(jsonb_build_object('conversionName', g.conversion_name,
        'action', g.conversion_action, 'code', coalesce(r.code, 'UNKNOWN')))
      from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text)
        join public.marketing_signals g on g.id = r.id and g.site_id = p_site_id
      where r.outcome = 'FAILED'));
  end if;
  update public.marketing_signals g
    set dispatch_status = 'SENT', google_sent_at = v_now,
        transport = coalesce(r.transport, 'data_manager'), claim_token = null, claimed_at = null,
        next_retry_at = null, last_error = null, provider_error_code = null,
        provider_error_category = null, provider_request_id = left(r."requestId", 256),
        record_index = r."recordIndex", verdict = r.verdict,
        may_have_arrived = g.may_have_arrived and g.attempt_count > 1,
        verdict_at = case when r.verdict is not null then v_now end, updated_at = v_now
    from jsonb_to_recordset(p_results) r (id uuid, outcome text, transport text,
      "requestId" text, "recordIndex" int, verdict text)
    where g.id = r.id and g.site_id = p_site_id and r.outcome = 'COMPLETED'
      and g.dispatch_status <> 'SENT' and g.attempt_count > 0;
  get diagnostics v_completed = row_count;
  with ended as (
    update public.marketing_signals g
      set claim_token = null, claimed_at = null, updated_at = v_now,
          dispatch_status = case when o.is_again then 'PENDING' else 'FAILED' end,
          next_retry_at = case when o.is_again then coalesce(o.retry_at,
            v_now + private.retry_delay(g.attempt_count - g.attempt_base
              + case when o.code is null then g.free_waits else 0 end)) end,
          attempt_base = g.attempt_base + o.is_free::int,
          free_waits = g.free_waits + o.is_free::int,
          may_have_arrived = g.may_have_arrived or o.is_unanswered,
          -- Google has nothing of it: the next try may take another action, or another account.
          conversion_action = case when g.may_have_arrived or o.is_unanswered
            then g.conversion_action end,
          last_error = case when o.nothing is not null then o.nothing
            when o.is_passing and not o.is_again
              then left(concat_ws(': ', 'MAX_ATTEMPTS_EXCEEDED', o.message), 1024)
            else left(o.message, 1024) end,
          provider_error_code = case when o.nothing is not null then null
            when o.is_passing and not o.is_again then 'MAX_ATTEMPTS' else left(o.code, 64) end,
          provider_error_category = case when o.nothing is not null then null
            when o.is_passing and not o.is_again then 'PERMANENT' else o.category end
      from (
        select r.id, r.code, r.message, p.category,
          case when not v_is_old or r.category is distinct from 'RATE_LIMIT' then r."retryAt" end
            as retry_at,
          p.is_passing, p.nothing,
          coalesce(r.category, 'TRANSIENT') = 'TRANSIENT'
            and (r.code is null or r.free is not true) as is_unanswered,
          p.is_free, p.nothing is null and p.is_passing
            and (p.is_free or w.attempt_count - w.attempt_base < p_max_attempts) as is_again
        from jsonb_to_recordset(p_results) r (id uuid, outcome text, code text, category text,
            message text, "retryAt" timestamptz, free boolean)
          join public.marketing_signals w on w.id = r.id and w.site_id = p_site_id
          join public.calls c on c.id = w.call_id
          cross join lateral (
            select coalesce(v_is_old and r.category = 'AUTH', false) as is_old) o
          cross join lateral (select
            case when o.is_old then 'TRANSIENT' else coalesce(r.category, 'TRANSIENT') end
              as category,
            o.is_old or coalesce(r.category, 'TRANSIENT') in ('TRANSIENT', 'RATE_LIMIT')
              as is_passing,
            w.free_waits < private.max_free_waits() and (o.is_old or r.free
              and coalesce(r.category, 'TRANSIENT') in ('TRANSIENT', 'RATE_LIMIT')) is true
              as is_free,
            case when c.status = any (private.ended_lead_states()) then 'CALL_IS_JUNK'
              when not c.marketing_consent then 'NO_CONSENT' end as nothing) p
        where r.outcome <> 'COMPLETED') o
      where g.id = o.id and g.dispatch_status = 'PROCESSING' and g.claim_token = p_token
      returning g.dispatch_status)
  select count(*) filter (where e.dispatch_status = 'PENDING'),
      count(*) filter (where e.dispatch_status = 'FAILED')
    into v_retried, v_failed from ended e;
  if p_batch is not null then
    perform private.note_requests(p_site_id, v_provider, 'signals', p_results, p_batch);
    perform private.finish_batch(p_site_id, p_token, p_batch, v_completed, v_failed, v_retried);
  end if;
  return jsonb_build_object(
    'completed', v_completed,
    'retried', v_retried,
    'failed', v_failed,
    'stale', jsonb_array_length(p_results) - v_completed - v_retried - v_failed);
end
$$;

-- 13_script/export_page.sql
create function private.export_page(
  p_site public.sites, p_limit int, p_max_attempts int
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  with waiting as materialized (
    select q.*, coalesce(q.next_retry_at, '-infinity') as eligible_at
    from public.offline_conversion_queue q
    where q.site_id = p_site.id and not private.is_paused(p_site) and q.provider_key = 'google_ads'
      and q.state = any (private.waiting_states()) and q.claim_token is null
      and q.kind = 'CONVERSION'
      and q.not_before <= private.current_moment()
      and coalesce(q.next_retry_at, '-infinity') <= private.current_moment()
      and q.attempt_count - q.attempt_base < p_max_attempts
      and not exists (select from private.held_sales h
        where h.sale_id = q.sale_id and h.provider_key = q.provider_key)
    order by coalesce(q.next_retry_at, '-infinity'), q.created_at, q.id limit p_limit + 1),
  seals as (
    select w.eligible_at, w.created_at, w.id, jsonb_build_object(
      'id', w.id,
      'orderId', w.order_id,
      'gclid', s.gclid,
      'wbraid', s.wbraid,
      'gbraid', s.gbraid,
      'conversionName', coalesce(
        n.google_name, w.conversion_name, private.conversion_name(p_site, 'seal')),
      'conversionTime', w.conversion_time,
      'valueCents', s.amount_cents,
      'currency', w.currency,
      'isExpired', w.click_expires_at <= private.current_moment()) as seal
    from waiting w join public.sales s on s.id = w.sale_id and s.status = 'CONFIRMED'
      left join private.action_names n   -- as hand_out
        on n.site_id = w.site_id and n.action = w.conversion_action
          and (w.may_have_arrived or exists (select from public.provider_dispatches d
            where d.sale_id = w.sale_id and d.verdict is distinct from 'REJECTED'))
    order by w.eligible_at, w.created_at, w.id limit p_limit),
  signals as (
    select private.signal_json(p_site, g) as signal,
      row_number() over (order by g.next_retry_at nulls first, g.created_at, g.id) as position
    from public.marketing_signals g
    where g.id in (
      select x.id from private.script_signals(p_site.id, p_limit + 1, p_max_attempts) x (id)))
  select jsonb_build_object(
    'site', jsonb_build_object(
      'siteId', p_site.public_id,
      'timezone', p_site.timezone,
      'currency', p_site.currency,
      'pausedUntil', private.pause_json(p_site) -> 'until',
      'pageViews', p_site.page_views_enabled and not private.is_paused(p_site),
      'clickMinAgeHours', p_site.click_min_age_hours,
      'pageViewName', private.conversion_name(p_site, 'page_view')),
    'seals', (
      select coalesce(
        jsonb_agg(x.seal order by x.eligible_at, x.created_at, x.id), '[]')
      from seals x),
    'signals', (
      select coalesce(jsonb_agg(x.signal order by x.position), '[]')
      from signals x where x.position <= p_limit),
    'moreSeals', (select count(*) > p_limit from waiting),
    'moreSignals', (select count(*) > p_limit from signals))
$$;
create function public.get_export_page(
  p_site_id uuid, p_max_attempts int, p_limit int default 500
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  select s.* into v_site from public.sites s where s.id = p_site_id;
  if v_site.oci_sync_method is distinct from 'script' then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  return private.export_page(v_site, least(greatest(p_limit, 1), 1000), p_max_attempts);
end
$$;
create function private.mask_clicks(p_rows jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_agg(r || jsonb_build_object(
      'gclid', private.masked_click(r ->> 'gclid'),
      'wbraid', private.masked_click(r ->> 'wbraid'),
      'gbraid', private.masked_click(r ->> 'gbraid'))
    order by n), '[]')
  from jsonb_array_elements(p_rows) with ordinality t (r, n)
$$;
create function public.preview_export_page(
  p_public_id text, p_max_attempts int, p_limit int default 500
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select p || jsonb_build_object(
    'seals', private.mask_clicks(p -> 'seals'), 'signals', private.mask_clicks(p -> 'signals'))
  from private.export_page(private.require_site(p_public_id, 'viewer'),
    least(greatest(p_limit, 1), 1000), p_max_attempts) p
$$;

-- 13_script/script_runs.sql
create table public.script_runs (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  kind text not null,
  counts jsonb not null default '{}',
  script_version text,
  error_code text,
  times int not null default 1,
  first_at timestamptz not null,
  at timestamptz not null,
  constraint run_kind_is_known check (kind in ('verify', 'export', 'preview', 'ack', 'ack-failed')),
  constraint script_version_is_bounded check (char_length(script_version) <= 20),
  constraint run_error_is_bounded check (char_length(error_code) <= 64)
);
create function public.record_script_run(p_public_id text, p_run jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid;
  v_version text := left(p_run ->> 'version', 20);
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    return '{"ok": false}';
  end if;
  if p_run ? 'errorCode' then
    update public.script_runs r set times = r.times + 1, at = v_now
      where r.id = (
        select x.id from public.script_runs x
        where x.site_id = v_site_id and x.at > v_now - interval '1 hour'
          and x.kind = p_run ->> 'kind'
          and x.error_code = left(p_run ->> 'errorCode', 64)
          and x.script_version is not distinct from v_version
        order by x.at desc limit 1);
    if found then
      return '{"ok": true}';
    end if;
  end if;
  insert into public.script_runs (site_id, kind, counts, script_version, error_code, first_at, at)
    values (v_site_id, p_run ->> 'kind', coalesce(p_run -> 'counts', '{}'), v_version,
      left(p_run ->> 'errorCode', 64), v_now, v_now);
  return '{"ok": true}';
end
$$;
create function public.record_wrong_keys(p_tries jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site record;
  v_noted int := 0;
begin
  for v_site in
    select s.id, least(t.times::int, 100000) as times
    from jsonb_each_text(p_tries) t (public_id, times)
      join public.sites s on s.public_id = t.public_id
    order by s.id limit 1000
  loop
    perform pg_catalog.pg_advisory_xact_lock(hashtextextended('wrong-keys/' || v_site.id, 0));
    update public.script_runs r
      set times = least(r.times::bigint + v_site.times, 2147483647)::int, at = v_now
      where r.id = (
        select x.id from public.script_runs x
        where x.site_id = v_site.id and x.at > v_now - interval '1 hour' and x.kind = 'verify'
          and x.error_code = 'INVALID_CREDENTIALS'
        order by x.at desc limit 1);
    if not found then
      insert into public.script_runs (site_id, kind, error_code, times, first_at, at)
        values (v_site.id, 'verify', 'INVALID_CREDENTIALS', v_site.times, v_now, v_now);
    end if;
    v_noted := v_noted + 1;
  end loop;
  return jsonb_build_object('noted', v_noted);
end
$$;
create function public.purge_script_runs() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.script_runs r where r.id in (
    select x.id from public.script_runs x
    where x.at < private.current_moment() - interval '30 days'
    order by x.at limit 5000 for update skip locked);
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
create function private.script_run_json(p_run public.script_runs) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'kind', p_run.kind,
    'counts', p_run.counts,
    'version', p_run.script_version,
    'errorCode', p_run.error_code,
    'times', p_run.times,
    'at', p_run.at)
$$;
create function public.script_status(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_now timestamptz := private.current_moment();
begin
  return jsonb_build_object(
    'syncMethod', v_site.oci_sync_method,
    'now', v_now,
    'hasKey', exists (select from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null and 'script' = any (k.scopes)),
    'waiting', (select count(*) from (
      select from public.offline_conversion_queue q
      where q.site_id = v_site.id and q.provider_key = 'google_ads'
        and q.state = any (private.waiting_states()) and q.claim_token is null
        and q.kind = 'CONVERSION'
        and q.not_before <= v_now and coalesce(q.next_retry_at, '-infinity') <= v_now
      limit 1000) w),
    'runs', (
      select coalesce(
        jsonb_agg(private.script_run_json(r) order by r.at desc, r.id desc), '[]')
      from (
        select x.* from public.script_runs x
        where x.site_id = v_site.id
        order by x.at desc, x.id desc limit 50) r));
end
$$;

-- 14_desk/desk_figures.sql
create function private.start_of_day(p_site public.sites, p_day date) returns timestamptz
language sql stable set search_path = ''
as $$ select p_day::timestamp at time zone p_site.timezone $$;
create function private.today_at(p_site public.sites) returns date
language sql stable set search_path = ''
as $$ select (private.current_moment() at time zone p_site.timezone)::date $$;
create function private.daily_figures(p_site public.sites, p_days int) returns table (
  day date, leads bigint, sealed bigint, value_cents bigint, median_minutes numeric,
  queued bigint, delivered bigint, failed bigint
)
language sql stable security definer set search_path = ''
as $$
  with span as (
    select d.first, private.start_of_day(p_site, d.first) as since
    from (select private.today_at(p_site) - (p_days - 1) as first) d),
  came as (
    select (c.called_at at time zone p_site.timezone)::date as day, count(*) as leads
    from public.calls c, span
    where c.site_id = p_site.id and c.called_at >= span.since
    group by 1),
  won as (
    select (c.status_at at time zone p_site.timezone)::date as day, count(*) as sealed,
      sum(s.amount_cents) filter (where s.currency = p_site.currency)::bigint as value_cents,
      round((percentile_cont(0.5) within group (
        order by extract(epoch from c.status_at - c.called_at)) / 60)::numeric, 1)
        as median_minutes
    from span, public.calls c
      left join lateral (   -- call by call, however many the planner expects
        select x.amount_cents, x.currency from public.sales x
        where x.call_id = c.id and x.status = 'CONFIRMED' limit 1) s on true
    where c.site_id = p_site.id and c.status = 'sealed' and c.status_at >= span.since
    group by 1),
  put as (
    select (t.created_at at time zone p_site.timezone)::date as day, count(*) as queued
    from private.queue_moves t, span
    where t.site_id = p_site.id and t.created_at >= span.since and t.from_status is null
    group by 1),
  sent as (
    select (q.uploaded_at at time zone p_site.timezone)::date as day, count(*) as delivered
    from public.offline_conversion_queue q, span
    where q.site_id = p_site.id and q.provider_key = 'google_ads'
      and q.state = 'COMPLETED' and q.uploaded_at >= span.since
    group by 1),
  lost as (
    select (q.updated_at at time zone p_site.timezone)::date as day, count(*) as failed
    from public.offline_conversion_queue q, span
    where q.site_id = p_site.id and q.state = 'FAILED'
      and q.provider_error_category <> 'DETERMINISTIC_SKIP' and q.updated_at >= span.since
    group by 1)
  select d.day::date, coalesce(came.leads, 0), coalesce(won.sealed, 0),
    coalesce(won.value_cents, 0), won.median_minutes, coalesce(put.queued, 0),
    coalesce(sent.delivered, 0), coalesce(lost.failed, 0)
  from span, generate_series(span.first, span.first + (p_days - 1), interval '1 day') d (day)
    left join came on came.day = d.day
    left join won on won.day = d.day
    left join put on put.day = d.day
    left join sent on sent.day = d.day
    left join lost on lost.day = d.day
  order by 1
$$;
create function public.desk_figures(p_public_id text, p_days int default 30) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_today date := private.today_at(v_site);
  v_start timestamptz := private.start_of_day(v_site, v_today);
begin
  return jsonb_build_object(
    'asOf', private.current_moment(),
    'today', v_today,
    'currency', v_site.currency,
    'rules', jsonb_build_object(
      'sendDelayMinutes', v_site.send_delay_minutes,
      'clickMinAgeHours', v_site.click_min_age_hours,
      'syncMethod', v_site.oci_sync_method),
    'open', private.count_open_leads(v_site.id),
    'days', (
      select jsonb_agg(jsonb_build_object(
          'day', f.day,
          'leads', f.leads,
          'sealed', f.sealed,
          'valueCents', f.value_cents,
          'medianMinutes', f.median_minutes,
          'queued', f.queued,
          'delivered', f.delivered,
          'failed', f.failed)
        order by f.day)
      from private.daily_figures(v_site, 2 * least(greatest(p_days, 7), 90)) f),
    'otherCurrencySales', (
      select count(*) from public.calls c
        join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
      where c.site_id = v_site.id and c.status = 'sealed' and c.status_at >= v_start
        and s.currency <> v_site.currency),
    'confirmed', (
      select count(*) from public.provider_dispatches d
      where d.site_id = v_site.id and d.provider_key = 'google_ads'
        and d.dispatched_at >= v_start and d.verdict = 'CONFIRMED'),
    -- The same counts as OCI Control's, so that the two screens never differ.
    'waiting', (
      select jsonb_build_object('count', coalesce(sum(t.n), 0),
        'valueCents', coalesce(jsonb_object_agg(t.currency, t.v), '{}'))
      from (
        select q.currency, sum(q.row_count) as n, sum(q.value_cents) as v
        from private.queue_totals(array[v_site.id]) q
        where q.status = any (private.waiting_states()) group by 1) t),
    'failed', (
      select jsonb_build_object('count', coalesce(sum(t.n), 0),
        'topCode', (array_agg(t.code order by t.n desc, t.code))[1])
      from (
        select q.code, sum(q.row_count) as n from private.queue_totals(array[v_site.id]) q
        where q.status = 'FAILED' and q.category <> 'DETERMINISTIC_SKIP' group by 1) t),
    'lastWeekMedianMinutes', (
      select round((percentile_cont(0.5) within group (
        order by extract(epoch from c.status_at - c.called_at)) / 60)::numeric, 1)
      from public.calls c
      where c.site_id = v_site.id and c.status = 'sealed'
        and c.status_at >= private.start_of_day(v_site, v_today - 7) and c.status_at < v_start),
    'todayByStatus', (
      select coalesce(jsonb_object_agg(t.status, t.count), '{}')
      from (
        select c.status, count(*) from public.calls c
        where c.site_id = v_site.id and c.called_at >= v_start
        group by 1) t),
    'campaigns', (
      select coalesce(jsonb_agg(t.campaign), '[]')
      from (
        select s.utm ->> 'campaign' as campaign
        from public.calls c join public.sessions s on s.id = c.session_id
        where c.site_id = v_site.id and c.called_at >= v_start - interval '60 days'
          and s.utm ? 'campaign'
        group by 1 order by count(*) desc, 1 limit 30) t),
    'hasLeads', exists (select from public.calls c where c.site_id = v_site.id),
    'hasVisits', exists (select from public.sessions s where s.site_id = v_site.id));
end
$$;
create function public.amount_presets(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_presets jsonb;
begin
  select jsonb_agg(jsonb_build_object(
        'amountCents', t.amount_cents,
        'label', private.readable_note(v_site.id, t.label),
        'isUsual', t.place = 1,
        'isExpected', false)
      order by t.amount_cents)
    into v_presets
    from (
      select s.amount_cents,
        mode() within group (order by left(nullif(btrim(split_part(s.note, ',', 1)), ''), 28))
          as label,
        row_number() over (order by count(*) desc, max(s.updated_at) desc) as place
      from public.sales s
      where s.site_id = v_site.id and s.status = 'CONFIRMED'
        and s.occurred_at >= private.current_moment() - interval '90 days'
        and s.value_source = 'OPERATOR' and s.currency = v_site.currency
      group by s.amount_cents order by place limit 4) t;
  return coalesce(
    v_presets,
    (select jsonb_agg(jsonb_build_object(
        'amountCents', a.cents,
        'label', null,
        'isUsual', a.place = (cardinality(v_site.amount_presets) + 1) / 2,
        'isExpected', false)
      order by a.place)
     from unnest(v_site.amount_presets) with ordinality a (cents, place)),
    jsonb_build_array(jsonb_build_object(
      'amountCents', private.expected_value_cents(v_site, 'sealed'),
      'label', null,
      'isUsual', true,
      'isExpected', true)));
end
$$;
create function public.open_leads() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_object_agg(s.public_id, private.count_open_leads(s.id)), '{}')
  from public.site_members m
    join public.sites s on s.id = m.site_id and s.archived_at is null
  where m.user_id = auth.uid()
$$;

-- 14_desk/desk_lead.sql
create function private.lead_history(p_call_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'proofId', p.id,
      'at', p.occurred_at,
      'contract', p.contract,
      'from', p.from_state,
      'to', p.to_state,
      'by', private.actor_as_of(p.actor_kind, p.actor_id, p.occurred_at),
      'byYou', coalesce(p.actor_id = auth.uid(), false),
      'isUndo', p.facts ? 'undo',
      'note', private.readable_note(p.site_id, n.note),
      'amountCents', (p.facts ->> 'amountCents')::bigint,
      'currency', p.facts ->> 'currency')
    order by p.occurred_at, p.id), '[]')
  from public.transition_proofs p
    left join private.proof_notes n on n.proof_id = p.id
  where p.entity_id = p_call_id
    or (p.contract = 'sale'
      and p.entity_id in (select s.id from public.sales s where s.call_id = p_call_id))
$$;
create function private.lead_ledger(p_call_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', r.id,
      'at', r.created_at,
      'kind', r.kind,
      'amountCents', r.amount_cents,
      'deltaCents', r.delta_cents,
      'currency', r.currency,
      'isPredicted', r.value_source = 'PREDICTED',
      'by', private.actor_as_of(r.actor_kind, r.actor_id, r.created_at),
      'byYou', coalesce(r.actor_id = auth.uid(), false))
    order by r.created_at, r.sequence), '[]')
  from public.revenue_snapshots r
    join public.sales s on s.id = r.sale_id
  where s.call_id = p_call_id
$$;
create function private.lead_deliveries(p_call_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', d.id,
      'at', d.dispatched_at,
      'kind', d.kind,
      'transport', d.transport,
      'amountCents', d.value_cents,
      'currency', d.currency,
      'verdict', d.verdict,
      'verdictAt', d.verdict_at)
    order by d.dispatched_at, d.id), '[]')
  from public.provider_dispatches d
    join public.sales s on s.id = d.sale_id
  where s.call_id = p_call_id
$$;
create function private.visit_events(p_visit public.sessions) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'at', e.happened_at,
      'action', e.action,
      'isLead', e.category = 'conversion',
      'value', e.value,
      'path', private.url_path(e.url))
    order by e.happened_at, e.id), '[]')
  from (
    select x.* from private.events x
    where x.session_id = p_visit.id and x.received_at
      between p_visit.started_at and p_visit.last_seen_at + private.event_arrival_window()
    order by x.happened_at, x.id limit 100) e
$$;
create function private.lead_visits(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'startedAt', v.started_at,
      'clickedAt', v.clicked_at,
      'isReturn', v.returning_ad_user,
      'campaign', v.utm ->> 'campaign',
      'keyword', v.utm ->> 'term',
      'device', v.device,
      'city', v.city,
      'country', v.country,
      'isCleared', e.events = '[]' and (v.visitor_id like 'erased-%' or v.started_at
        < private.cleared_until(private.whole_installation(), 'events')),
      'events', e.events)
    order by v.started_at), '[]')
  from (
    select o.* from public.sessions s
      join public.sessions o on o.site_id = s.site_id and o.visitor_id = s.visitor_id
    where s.id = p_call.session_id and o.started_at <= p_call.called_at + interval '1 day'
    order by o.started_at desc limit 10) v
    cross join lateral (select private.visit_events(v) as events) e
$$;
create function private.lead_choices(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'at', c.chosen_at, 'scopes', to_jsonb(c.scopes), 'path', private.url_path(c.page_url))
    order by c.chosen_at, c.id), '[]')
  from (
    select x.* from public.consent_choices x
    where x.site_id = p_call.site_id and x.visitor_id = p_call.visitor_id
    order by x.chosen_at desc, x.id desc limit 20) c
$$;
create function public.desk_lead(p_public_id text, p_call_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_is_operator boolean := public.has_site_role(v_site.id, 'operator');
  v_call public.calls;
begin
  select c.* into v_call from public.calls c where c.id = p_call_id and c.site_id = v_site.id;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return private.lead_json(v_site, v_call) || jsonb_build_object(
    'asOf', private.current_moment(),
    'fullPhone', case when v_is_operator then v_call.phone end,
    'dialNumber', case when v_is_operator then private.e164(v_site, v_call.phone) end,
    'isErased', v_call.visitor_id like 'erased-%',
    'clickKind', case
      when v_call.gclid is not null then 'gclid'
      when v_call.gbraid is not null then 'gbraid'
      when v_call.wbraid is not null then 'wbraid' end,
    'signalWaits', private.awaits_person(v_call) and v_site.signals_enabled and exists (
      select from public.marketing_signals g
      where g.call_id = v_call.id and g.dispatch_status = 'PENDING'),
    'visits', private.lead_visits(v_call),
    'choices', private.lead_choices(v_call),
    'history', private.lead_history(v_call.id),
    'ledger', private.lead_ledger(v_call.id),
    'deliveries', private.lead_deliveries(v_call.id),
    'siblings', private.leads_of_person(v_call));
end
$$;

-- 14_desk/desk_leads.sql
create function private.matching_leads(p_site public.sites, p_filter jsonb, p_limit int)
returns setof public.calls
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_open constant text := 'c.status = any (private.open_lead_states())';
  v_cursor text := p_filter ->> 'cursor';
begin
  if v_cursor !~ '^\d{4}-\d\d-\d\dT[0-9:.]{8,15}Z_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
     or p_filter ->> 'phoneEnding' !~ '^\d{2,7}$'
     or exists (select from unnest('{from,to,decidedOn}'::text[]) k
       where p_filter ->> k !~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$') then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  return query execute format($q$
    select c.* from public.calls c
    where c.site_id = $1 and %s
      and ($2 is null or c.channel = $2) and ($3 is null or c.lead_score >= $3)
      and ($4 is null or (coalesce(c.gclid, c.wbraid, c.gbraid) is not null) = $4)
      and ($5 is null or c.called_at >= $5) and ($6 is null or c.called_at < $6)
      and ($13 is null or (c.status_at >= $13 and c.status_at < $14))
      and ($7 is null or (c.phone is not null
        and reverse(regexp_replace(c.phone, '\D', '', 'g')) like $7))
      and ($8 is null or exists (select from public.sessions s
        where s.id = c.session_id and s.utm ->> 'campaign' = $8))
      and ($9 is null or (c.called_at, c.id) < ($9, $10))
    order by c.called_at desc, c.id desc limit $11$q$,
    case p_filter ->> 'view'
      when 'open' then v_open
      when 'sealed' then $q$c.status = 'sealed'$q$
      when 'junk' then 'c.status = any (private.ended_lead_states())'
      when 'needs_you' then v_open || ' and private.needs_you_of($12, c) is not null'
      else 'true' end)
    using p_site.id, p_filter ->> 'channel', (p_filter ->> 'scoreMin')::int,
      (p_filter ->> 'hasClick')::boolean,
      private.start_of_day(p_site, (p_filter ->> 'from')::date),
      private.start_of_day(p_site, (p_filter ->> 'to')::date + 1),
      -- Viewers see masked numbers: with more digits they could find the hidden ones by trying.
      reverse(right(p_filter ->> 'phoneEnding',
        case when public.has_site_role(p_site.id, 'operator') then 7 else 4 end)) || '%',
      p_filter ->> 'campaign',
      split_part(v_cursor, '_', 1)::timestamptz, split_part(v_cursor, '_', 2)::uuid,
      p_limit, p_site,
      private.start_of_day(p_site, (p_filter ->> 'decidedOn')::date),
      private.start_of_day(p_site, (p_filter ->> 'decidedOn')::date + 1);
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
    perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;
create function private.count_open_leads(p_site_id uuid) returns bigint
language sql stable security definer set search_path = ''
as $$
  select count(*) from (
    select from public.calls c
    where c.site_id = p_site_id and c.status = any (private.open_lead_states())
      and c.called_at > private.current_moment() - private.lead_open_for()
    limit 1000) t
$$;
create function private.own_last_step(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('leadId', c.id, 'phone', private.masked_phone(c.phone),
    'channel', c.channel, 'version', c.version, 'undo', u.step)
  from (
    select x.id, x.updated_at as at from public.calls x
    where x.site_id = p_site.id
      and x.updated_at > private.current_moment() - private.undo_window()
    union
    select x.call_id, x.updated_at from public.sales x
    where x.site_id = p_site.id and x.call_id is not null
      and x.updated_at > private.current_moment() - private.undo_window()
    order by at desc limit 200) t
    join public.calls c on c.id = t.id
    cross join lateral (select private.undo_json(c) as step) u
  where (u.step ->> 'byYou')::boolean
  order by u.step ->> 'until' desc limit 1
$$;
create function public.desk_leads(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_page constant int := 50;
  v_answer jsonb := jsonb_build_object(
    'asOf', private.current_moment(), 'open', private.count_open_leads(v_site.id));
  v_leads public.calls[];
  v_needing public.calls[];
begin
  if p_filter ? 'ids' then
    select array_agg(c order by c.called_at desc, c.id desc) into v_leads
      from public.calls c
      where c.site_id = v_site.id and c.id = any (
        array(select jsonb_array_elements_text(p_filter -> 'ids') limit 100)::uuid[]);
    return v_answer || jsonb_build_object(
      'leads', private.leads_json(v_site, v_leads), 'next', null);
  end if;
  select array_agg(m order by m.called_at desc, m.id desc) into v_leads
    from private.matching_leads(v_site, p_filter, v_page + 1) m;
  v_answer := v_answer || jsonb_build_object(
    'leads', private.leads_json(v_site, v_leads[1:v_page]),
    'next', case when cardinality(v_leads) > v_page
      then private.exact_time(v_leads[v_page].called_at) || '_' || v_leads[v_page].id end);
  if p_filter ? 'cursor' then
    return v_answer;
  end if;
  if coalesce(p_filter ->> 'view', 'all') in ('all', 'open') then
    select array_agg(m order by n.why, case n.why when 'CLICK_EXPIRES' then m.clicked_at end,
        m.called_at desc, m.id)
      into v_needing
      from private.matching_leads(v_site, p_filter || '{"view": "needs_you"}', 500) m,
        private.needs_you_of(v_site, m) n (why);
  end if;
  return v_answer || jsonb_build_object(
    'needsYou', private.leads_json(v_site, v_needing[1:3]),
    'needsYouCount', coalesce(cardinality(v_needing), 0),
    'lastStep', private.own_last_step(v_site),
    'todayCount', (
      select count(*) from private.matching_leads(v_site, p_filter || jsonb_build_object(
        'from', greatest(p_filter ->> 'from', private.today_at(v_site)::text)), 1000)));
end
$$;

-- 14_desk/lead_json.sql
create function private.lead_open_for() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;
create function private.needs_you_of(p_site public.sites, p_call public.calls) returns text
language plpgsql stable set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  return case
    when p_call.status <> all (private.open_lead_states())
      or p_call.called_at < v_now - private.lead_open_for() then null
    when p_call.marketing_consent
      and coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is not null
      and p_call.clicked_at + private.click_life() between v_now and v_now + interval '7 days'
      then 'CLICK_EXPIRES'
    when p_call.called_at < v_now - make_interval(hours => p_site.needs_you_after_hours)
      then 'WAITING' end;
end
$$;
create function private.lead_json(p_site public.sites, p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_call.id,
    'channel', p_call.channel,
    'phone', private.masked_phone(p_call.phone),
    'name', private.readable_note(p_call.site_id, p_call.contact_name),
    'status', p_call.status,
    'version', p_call.version,
    'score', p_call.lead_score,
    'points', p_call.score_breakdown,
    'calledAt', p_call.called_at,
    'pagePath', private.url_path(p_call.page_url),
    'campaign', v.utm ->> 'campaign',
    'keyword', v.utm ->> 'term',
    'clickBlock', private.delivery_block_of(p_call),
    'clickedAt', p_call.clicked_at,
    'clickExpiresAt', p_call.clicked_at + private.click_life(),
    'needsYou', private.needs_you_of(p_site, p_call),
    'visitsBefore', (
      select count(*) from public.sessions o
      where o.site_id = v.site_id and o.visitor_id = v.visitor_id
        and o.started_at < v.started_at),
    'changedAt', p_call.status_at,
    'changedBy', private.actor_as_of(f.actor_kind, f.actor_id, f.occurred_at),
    'changedByYou', coalesce(f.actor_id = auth.uid(), false),
    'undo', case when greatest(p_call.status_at, s.updated_at)
        > private.current_moment() - private.undo_window()
      then private.undo_json(p_call) end,
    'sale', case when s.id is not null then jsonb_build_object(
      'id', s.id,
      'version', s.version,
      'status', s.status,
      'amountCents', s.amount_cents,
      'currency', s.currency,
      'isPredicted', s.value_source = 'PREDICTED',
      'deliveryBlock', s.delivery_block,
      'note', private.readable_note(s.site_id, s.note),
      'adjustableUntil', s.occurred_at + private.adjustments_end(),
      'atGoogle', private.standing_json(s.id)) end,
    'delivery', case when q.id is not null then jsonb_build_object(
      'status', q.status,
      'isNotSent', q.status = 'FAILED' and q.provider_error_category = 'DETERMINISTIC_SKIP',
      'notBefore', greatest(
        q.not_before, case when q.claim_token is null then q.next_retry_at end),
      'errorCode', q.provider_error_code,
      'uploadedAt', q.uploaded_at,
      'verdict', (
        select d.verdict from public.provider_dispatches d
        where d.sale_id = q.sale_id and d.queue_id = q.id
        order by d.dispatched_at desc limit 1),
      'pendingAdjustment', (
        select a.kind from public.offline_conversion_queue a
        where a.sale_id = s.id and a.kind <> 'CONVERSION'
          and a.state = any (private.waiting_states())
        limit 1)) end)
  from (select 1) one
    left join public.sessions v on v.id = p_call.session_id
    left join public.transition_proofs f on f.id = p_call.last_proof_id
    left join lateral (
      select x.* from public.sales x
      where x.call_id = p_call.id
      order by x.status = 'CONFIRMED' desc, x.created_at desc limit 1) s on true
    left join lateral (
      select x.* from public.offline_conversion_queue x
      where x.sale_id = s.id and x.kind = 'CONVERSION'
      order by x.created_at desc limit 1) q on true
$$;
create function private.leads_json(p_site public.sites, p_calls public.calls[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(private.lead_json(p_site, p_calls[i]) order by i), '[]')
  from generate_series(1, cardinality(p_calls)) i
$$;

-- 14_desk/list_activity.sql
create function private.activity_kind(p_proof public.transition_proofs) returns text
language sql immutable set search_path = ''
as $$
  select case
    when p_proof.facts ? 'undo' then 'undone'
    when p_proof.contract = 'site' then case p_proof.facts ->> 'act'
      when 'consent' then 'consent'
      when 'settings' then 'settings'
      when 'delivery' then 'delivery'
      when 'paused' then 'delivery'
      when 'resumed' then 'delivery'
      else 'site' end
    when p_proof.contract = any (private.owner_contracts()) then p_proof.contract
    when p_proof.contract = 'connection' then p_proof.to_state
    when p_proof.contract = 'delivery' then 'switched'
    when p_proof.contract = 'privacy' then p_proof.to_state
    when p_proof.contract = 'lead' then
      case p_proof.to_state when 'noted' then 'note' else 'contact' end
    when p_proof.contract = 'sale' and p_proof.from_state is null then 'recorded'
    when p_proof.contract = 'sale' and p_proof.from_state = p_proof.to_state then 'corrected'
    when p_proof.to_state in ('sealed', 'CONFIRMED') then 'sealed'
    when p_proof.to_state in ('cancelled', 'CANCELED') then 'cancelled'
    when p_proof.to_state = 'junk' then 'junk'
    when p_proof.contract = 'call' then 'stage'
    when p_proof.contract = 'conversion' and p_proof.to_state = 'FAILED' then 'stopped'
    when p_proof.contract = 'conversion' then 'requeued'
    else 'other' end
$$;
create function private.activity_key(p_proof public.transition_proofs, p_sort text) returns text
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sort like 'who%' then coalesce(lower(private.actor_as_of(
      p_proof.actor_kind, p_proof.actor_id, private.current_moment())), '')
    else private.activity_kind(p_proof) end
$$;
create function private.matching_proofs(p_site public.sites, p_filter jsonb, p_limit int)
returns setof public.transition_proofs
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sort text := coalesce(p_filter ->> 'sort', 'newest');
  v_is_up boolean := v_sort = 'oldest';
  v_is_keyed boolean := v_sort like 'who%' or v_sort like 'what%';
  v_is_operator boolean := public.has_site_role(p_site.id, 'operator');
  v_text text := nullif(btrim(left(p_filter ->> 'q', 80)), '');
  v_id uuid := nullif(split_part(p_filter ->> 'cursor', '_', 2), '')::uuid;
  v_after text;
begin
  if v_is_keyed and v_id is not null then
    select private.activity_key(p, v_sort) into v_after
      from public.transition_proofs p where p.id = v_id and p.site_id = p_site.id;
  end if;
  return query execute format($q$
    select p.* from public.transition_proofs p %1$s
    where p.site_id = $1
      and ($2 or p.contract <> all (private.owner_contracts()))
      and %2$s
      and ($5 is null or p.occurred_at >= $5)
      and ($6 is null or p.occurred_at < $6)
      and ($7 is null or p.actor_id = $7)
      and ($8 is null or private.activity_kind(p) = $8)
      and ($9 is null
        or $10 and exists (select from private.proof_notes n
          where n.proof_id = p.id
            and translate(lower(translate(n.note, 'Iİ', 'ii')), 'ı', 'i') like $9)
        or exists (select from public.sales s
          where s.id = (p.facts ->> 'saleId')::uuid
            and translate(lower(translate(concat_ws(E'\n', s.external_ref, s.order_id),
              'Iİ', 'ii')), 'ı', 'i') like $9))
    order by %3$s limit $11$q$,
    -- A name is looked up once for each actor, not for each line.
    case when v_sort like 'who%' then $q$
      join (
        select a.actor_kind, a.actor_id, coalesce(lower(private.actor_as_of(
          a.actor_kind, a.actor_id, private.current_moment())), '') as key
        from (select distinct x.actor_kind, x.actor_id
          from public.transition_proofs x where x.site_id = $1) a) k
        on k.actor_kind = p.actor_kind and k.actor_id is not distinct from p.actor_id$q$
      when v_is_keyed then $q$
      join lateral (select private.activity_kind(p) as key) k on true$q$ else '' end,
    case
      when v_id is null then 'true'
      when v_is_keyed then format(
        '(k.key %s $12 or (k.key = $12 and (p.occurred_at, p.id) < ($3, $4)))',
        case when v_sort like '%-z' then '<' else '>' end)
      else format('(p.occurred_at, p.id) %s ($3, $4)', case when v_is_up then '>' else '<' end) end,
    case when v_is_keyed
      then format('k.key %s, ', case when v_sort like '%-z' then 'desc' else 'asc' end)
      else '' end
      || case when v_is_up then 'p.occurred_at, p.id' else 'p.occurred_at desc, p.id desc' end)
    using p_site.id, public.has_site_role(p_site.id, 'owner'),
      nullif(split_part(p_filter ->> 'cursor', '_', 1), '')::timestamptz, v_id,
      private.start_of_day(p_site, coalesce(p_filter ->> 'from', p_filter ->> 'day')::date),
      private.start_of_day(p_site, coalesce(p_filter ->> 'to', p_filter ->> 'day')::date + 1),
      (p_filter ->> 'actor')::uuid, p_filter ->> 'kind', private.search_pattern(v_text),
      v_is_operator, p_limit, v_after;
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
    perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;
create function public.list_activity(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_limit int := least(greatest(coalesce((p_filter ->> 'limit')::int, 50), 1), 500);
  v_entries jsonb;
begin
  select coalesce(jsonb_agg(to_jsonb(t) - 'place' order by t.place), '[]')
    into v_entries
    from (
      select p.place, p.id, p.occurred_at as at, p.kind, p.contract,
        p.entity_id as "entityId", p.actor_kind as "actorKind", p.actor_id as "actorId",
        private.actor_as_of(p.actor_kind, p.actor_id, p.occurred_at) as "actorName",
        p.from_state as "from", p.to_state as "to",
        private.readable_note(p.site_id, n.note) as note, p.facts -> 'changed' as changes,
        p.facts ->> 'role' as role,
        (p.facts ->> 'amountCents')::bigint as "amountCents",
        (p.facts ->> 'amountBeforeCents')::bigint as "amountBeforeCents",
        p.facts ->> 'currency' as currency,
        s.external_ref as "externalRef", c.channel, c.called_at as "calledAt",
        c.id as "callId", s.id as "saleId",
        case p.contract when 'conversion' then p.entity_id end as "rowId"
      from (
        select m.*, private.activity_kind(m) as kind, row_number() over () as place
        from private.matching_proofs(v_site, p_filter, v_limit) m) p
        left join private.proof_notes n on n.proof_id = p.id
        left join public.sales s on s.id = (p.facts ->> 'saleId')::uuid
        left join public.calls c
          on c.id = case when p.contract in ('call', 'lead') then p.entity_id else s.call_id end
      ) t;
  return jsonb_build_object(
    'entries', v_entries,
    'total', case when p_filter ->> 'cursor' is null then (
      select count(*) from private.matching_proofs(v_site, p_filter - 'sort', 10000)) end,
    'actors', (
      select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'name', a.name)
        order by a.name, a.id), '[]')
      from (
        select m.user_id as id, u.email as name
        from public.site_members m join auth.users u on u.id = m.user_id
        where m.site_id = v_site.id
        union all
        select k.id, k.name from public.site_api_keys k
        where k.site_id = v_site.id and k.revoked_at is null) a),
    'next', case when jsonb_array_length(v_entries) = v_limit
      then (v_entries -> -1 ->> 'at') || '_' || (v_entries -> -1 ->> 'id') end);
end
$$;

-- 15_control/queue_actions.sql
create table public.queue_actions (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  actor_kind text not null,
  actor_id uuid,
  action text not null,
  reason text,
  options jsonb not null default '{}',
  filter jsonb,
  undoes uuid references public.queue_actions (id),
  undone_by uuid,
  total int not null,
  done int not null default 0,
  affected int not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint action_is_known
    check (action = any (private.operator_actions() || 'UNDO'::text)),
  constraint undo_names_its_action check ((action = 'UNDO') = (undoes is not null)),
  constraint action_counts_fit check (affected between 0 and done and done <= total),
  constraint action_reason_is_bounded check (char_length(reason) between 1 and 500)
);

-- 15_control/queue_action_previews.sql
create table public.queue_action_previews (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  actor_id uuid not null,
  action text not null,
  filter jsonb not null,
  ids uuid[] not null,
  versions bigint[] not null,
  digest text not null,
  action_id uuid references public.queue_actions (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint previews_are_bounded
    check (cardinality(ids) <= 100000 and cardinality(ids) = cardinality(versions))
);

-- 15_control/act_on_queue.sql
create function private.preview_to_commit(p_args jsonb) returns public.queue_action_previews
language plpgsql security definer set search_path = ''
as $$
declare
  v_preview public.queue_action_previews;
begin
  select p.* into v_preview from public.queue_action_previews p
    where p.id = (p_args ->> 'previewId')::uuid and p.site_id = (p_args ->> 'site')::uuid
      and p.actor_id = (p_args ->> 'actorId')::uuid
    for update;
  if v_preview.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_preview.digest is distinct from p_args ->> 'digest'
     or v_preview.action is distinct from p_args ->> 'action' then
    perform private.fail(409, 'PREVIEW_MISMATCH');
  end if;
  if v_preview.action_id is null and v_preview.expires_at <= private.current_moment() then
    perform private.fail(409, 'PREVIEW_EXPIRED');
  end if;
  return v_preview;
end
$$;
create function private.act_on_rows(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_preview public.queue_action_previews;
  v_action public.queue_actions;
  v_ids uuid[];
  v_from int;
  v_to int;
begin
  if p_args ? 'previewId' then
    v_preview := private.preview_to_commit(p_args);
    v_ids := v_preview.ids;
  else
    select array_agg(distinct i.id::uuid) into v_ids
      from jsonb_array_elements_text(p_args -> 'ids') i (id);
    if v_ids is null or cardinality(v_ids) > 1000 then
      perform private.fail(400, 'VALIDATION_FAILED', '{"field": "ids"}');
    end if;
  end if;
  if v_preview.action_id is null then
    insert into public.queue_actions (site_id, actor_kind, actor_id, action, reason, options,
        filter, total, created_at, updated_at)
      values ((p_args ->> 'site')::uuid, 'user', (p_args ->> 'actorId')::uuid,
        p_args ->> 'action', nullif(left(btrim(p_args ->> 'reason'), 500), ''),
        jsonb_strip_nulls(jsonb_build_object(
          'errorCode', p_args -> 'errorCode',
          'errorCategory', p_args -> 'errorCategory',
          'clearErrors', p_args -> 'clearErrors',
          'overApi', p_args -> 'overApi')),
        v_preview.filter, cardinality(v_ids), v_now, v_now)
      returning * into v_action;
    update public.queue_action_previews p set action_id = v_action.id where p.id = v_preview.id;
  else
    select a.* into v_action from public.queue_actions a
      where a.id = v_preview.action_id for update;
  end if;
  v_from := v_action.done + 1;
  v_to := v_action.done
    + case when p_args ? 'previewId' then private.action_batch() else 1000 end;
  return private.advance_queue_action(v_action.id,
    case when v_action.undone_by is null then v_ids[v_from:v_to] else '{}' end,
    v_preview.versions[v_from:v_to], p_args ->> 'requestHash');
end
$$;
create function public.act_on_queue(
  p_public_id text, p_action jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
begin
  if private.action_statuses(p_action ->> 'action') is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "action"}');
  end if;
  -- Rules and screens read these. MANUAL_FAIL is what an operator's own code is without one.
  if upper(btrim(p_action ->> 'errorCode')) <> 'MANUAL_FAIL'
     and upper(btrim(p_action ->> 'errorCode')) = any (private.reserved_codes()) then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "errorCode"}');
  end if;
  if p_action ? 'overApi'
     and (p_action ->> 'action' <> 'RETRY_SELECTED' or not p_action ? 'ids') then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "overApi"}');
  end if;
  return private.answer_once(v_site.id, 'queue.action', p_key, p_request_hash,
    'private.act_on_rows'::regproc,
    jsonb_strip_nulls(p_action) || jsonb_build_object(
      'site', v_site.id,
      'actorId', auth.uid(),
      'requestHash', p_request_hash));
end
$$;
create function private.undo_on_rows(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_undone public.queue_actions;
  v_undo public.queue_actions;
  v_ids uuid[];
  v_versions bigint[];
begin
  select a.* into v_undone from public.queue_actions a
    where a.id = (p_args ->> 'actionId')::uuid and a.site_id = (p_args ->> 'site')::uuid
    for update;
  if v_undone.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select a.* into v_undo from public.queue_actions a where a.id = v_undone.undone_by for update;
  if v_undone.action = 'UNDO' or v_undone.affected = 0 or v_undo.done = v_undo.total then
    perform private.fail(409, 'NOTHING_TO_UNDO');
  end if;
  if v_undo.id is null then
    if v_undone.updated_at < v_now - private.undo_window() then
      perform private.fail(409, 'UNDO_EXPIRED');
    end if;
    insert into public.queue_actions (site_id, actor_kind, actor_id, action, undoes, total,
        created_at, updated_at)
      values (v_undone.site_id, 'user', (p_args ->> 'actorId')::uuid, 'UNDO', v_undone.id,
        v_undone.affected, v_now, v_now)
      returning * into v_undo;
    update public.queue_actions a set undone_by = v_undo.id where a.id = v_undone.id;
  end if;
  select array_agg(t.queue_id order by t.place), array_agg(t.version_after order by t.place)
    into v_ids, v_versions
    from (
      select r.* from private.queue_action_rows r
      where r.action_id = v_undone.id and r.skipped is null
      order by r.place offset v_undo.done limit private.action_batch()) t;
  return private.advance_queue_action(v_undo.id, v_ids, v_versions, p_args ->> 'requestHash');
end
$$;
create function public.undo_queue_action(
  p_public_id text, p_undo jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
begin
  return private.answer_once(v_site.id, 'queue.undo', p_key, p_request_hash,
    'private.undo_on_rows'::regproc,
    jsonb_build_object(
      'actionId', p_undo -> 'actionId',
      'site', v_site.id,
      'actorId', auth.uid(),
      'requestHash', p_request_hash));
end
$$;

-- 15_control/change_queue_rows.sql
create function private.action_batch() returns int
language sql stable set search_path = ''
as $$
  select least(
    coalesce(nullif(current_setting('opsmantik.action_batch', true), '')::int, 1000), 1000)
$$;
create function private.change_queue_rows(
  p_action public.queue_actions, p_ids uuid[], p_versions bigint[], p_request_hash text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_actor private.actor := (p_action.actor_kind, p_action.actor_id)::private.actor;
  v_contract text := (
    select c.contract_version from public.contracts c where c.contract = 'conversion');
  v_is_undo boolean := p_action.action = 'UNDO';
  v_is_fail boolean := p_action.action = 'MARK_FAILED';
  v_over_api boolean := coalesce((p_action.options ->> 'overApi')::boolean, false);
  v_clear boolean := p_action.action = 'RESET_TO_QUEUED'
    and coalesce((p_action.options ->> 'clearErrors')::boolean, false);
  v_answer jsonb;
  v_changed uuid[];
  v_sale_id uuid;
begin
  perform private.lock_with_sales(private.of_this_site(p_action.site_id, p_ids));
  perform private.act(v_actor, p_action.action);
  with judged as materialized (
    select j.*, u.before as back, private.queue_row_state(q) as before
    from private.judge_queue_rows(p_action.site_id, p_action.action, p_action.undoes, p_ids,
        p_versions, v_over_api) j
      left join public.offline_conversion_queue q
        on q.id = j.id and q.site_id = p_action.site_id
      left join private.queue_action_rows u
        on u.action_id = p_action.undoes and u.queue_id = j.id),
  changed as (
    update public.offline_conversion_queue q
      set state = case when v_is_undo then j.back ->> 'state' else j.to_status end,
          status = j.to_status,
          tries = q.attempt_count - (j.to_status = 'PROCESSING')::int,   -- an undo: in flight again
          updated_at = v_now, is_plain = q.is_plain and q.attempt_count = 0,
          claimed_at = case when v_is_undo then (j.back ->> 'claimedAt')::timestamptz end,
          claim_token = case when v_is_undo then (j.back ->> 'claimToken')::uuid end,
          next_retry_at = case when v_is_undo then (j.back ->> 'nextRetryAt')::timestamptz end,
          attempt_base = case
            when v_is_undo then (j.back ->> 'attemptBase')::int
            when j.to_status = 'QUEUED' then q.attempt_count
            else q.attempt_base end,
          provider_error_code = case
            when v_is_undo then j.back ->> 'errorCode'
            when v_is_fail then coalesce(p_action.options ->> 'errorCode', 'MANUAL_FAIL')
            when not v_clear then q.provider_error_code end,
          provider_error_category = case
            when v_is_undo then j.back ->> 'errorCategory'
            when v_is_fail then coalesce(p_action.options ->> 'errorCategory', 'PERMANENT')
            when not v_clear then q.provider_error_category end,
          last_error = case
            when v_is_undo then j.back ->> 'lastError'
            when v_is_fail then coalesce(p_action.reason, 'MANUALLY_MARKED_FAILED')
            when not v_clear then q.last_error end,
          attempt_error = case
            when v_is_undo then j.back ->> 'attemptError'
            when not v_clear then q.attempt_error end,
          attempt_error_code = case
            when v_is_undo then j.back ->> 'attemptErrorCode'
            when not v_clear then q.attempt_error_code end,
          attempt_error_category = case
            when v_is_undo then j.back ->> 'attemptErrorCategory'
            when not v_clear then q.attempt_error_category end,
          may_have_arrived = case
            when v_is_undo then j.back ? 'mayHaveArrived'
            else q.may_have_arrived or q.status = 'PROCESSING' end,
          by_hand_reason = case
            when v_is_undo then j.back ->> 'byHandReason'
            when not v_over_api or private.api_never_adjusts(q.by_hand_reason)
              then q.by_hand_reason end
      from judged j where q.id = j.id and j.skipped is null
      returning q.*),
  leased as (   -- back in flight under its claim, whose lease may have ended meanwhile
    insert into private.queue_leases as l (token, site_id, claimed_at, row_ids)
      select c.claim_token, c.site_id, min(c.claimed_at), array_agg(c.id)
      from changed c where c.claim_token is not null group by 1, 2 order by 1
      on conflict (token) do update set row_ids = l.row_ids || array(
        select i from unnest(excluded.row_ids) i where i <> all (l.row_ids))),
  proven as materialized (
    select private.uuid_v7() as proof_id, c.id as queue_id, c.sale_id, j.place, j.from_status,
      c.status as to_status, j.before, private.queue_row_state(c) as after,
      private.queue_row_version(c) as version_after,
      jsonb_strip_nulls(jsonb_build_object(
        'saleId', c.sale_id,
        'attemptCount', c.attempt_count,
        'actionId', p_action.id,
        'undo', case when v_is_undo then true end)) as facts
    from changed c join judged j on j.id = c.id),
  proofs as (
    insert into public.transition_proofs
      select p.proof_id, p_action.site_id, 'conversion', v_contract, p.queue_id, p.from_status,
        p.to_status, p_action.actor_kind, p_action.actor_id, p.facts, p_request_hash, v_now,
        private.proof_hash(row(p.proof_id, p_action.site_id, 'conversion', v_contract, p.queue_id,
          p.from_status, p.to_status, p_action.actor_kind, p_action.actor_id, p.facts,
          p_request_hash, v_now, '')::public.transition_proofs)
      from proven p),
  unsealed as (
    insert into private.unsealed_proofs (proof_id, site_id)
      select p.proof_id, p_action.site_id from proven p),
  notes as (
    insert into private.proof_notes (proof_id, note)
      select p.proof_id, p_action.reason from proven p where p_action.reason is not null),
  recorded as (
    insert into private.queue_action_rows (action_id, place, queue_id, skipped, before, after,
        version_after, proof_id)
      select p_action.id, p_action.done + j.place, j.id, j.skipped, j.before, p.after,
        p.version_after, p.proof_id
      from judged j left join proven p on p.queue_id = j.id)
  select
      array(select distinct p.sale_id from proven p join public.sales s on s.id = p.sale_id
        where p.from_status = 'PROCESSING'
          and (s.status <> 'CONFIRMED' or s.delivery_block is not null)),
      jsonb_build_object(
        'affected', (select count(*) from changed),
        'skipped', coalesce(jsonb_agg(jsonb_build_object(
            'id', j.id,
            'reason', j.skipped,
            'status', j.from_status)
          order by j.place) filter (where j.skipped is not null), '[]'))
    into v_changed, v_answer from judged j;
  foreach v_sale_id in array v_changed loop
    perform private.follow_ledger(v_sale_id);   -- given up in flight: it may have arrived
  end loop;
  return v_answer;
end
$$;
create function private.advance_queue_action(
  p_action_id uuid, p_ids uuid[], p_versions bigint[], p_request_hash text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_action public.queue_actions;
  v_answer jsonb := '{"affected": 0, "skipped": []}';
begin
  select a.* into v_action from public.queue_actions a where a.id = p_action_id;
  if cardinality(p_ids) > 0 then
    v_answer := private.change_queue_rows(v_action, p_ids, p_versions, p_request_hash);
    update public.queue_actions a
      set done = a.done + cardinality(p_ids),
          affected = a.affected + (v_answer ->> 'affected')::int,
          updated_at = private.current_moment()
      where a.id = p_action_id returning * into v_action;
  end if;
  return jsonb_build_object(
    'ok', true,
    'actionId', v_action.id,
    'affected', v_action.affected,
    'skipped', v_answer -> 'skipped',
    'skippedCount', v_action.done - v_action.affected,
    'done', v_action.done,
    'total', v_action.total,
    'cursor', case when v_action.done < v_action.total and v_action.undone_by is null
      then v_action.id || ':' || v_action.done end,
    'undoUntil', private.undo_until(v_action));
end
$$;

-- 15_control/filter_queue.sql
create function private.search_queue(p_site_id uuid, p_text text) returns uuid[]
language plpgsql stable security definer set search_path = ''
as $$
declare
  -- Viewers see numbers masked: with more digits they could find the hidden ones by trying.
  v_digits text := right(regexp_replace(p_text, '\D', '', 'g'),
    case when public.has_site_role(p_site_id, 'operator') then 15 else 4 end);
  v_calls uuid[];
  v_sales uuid[];
begin
  if p_text ~* '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
    return array[p_text::uuid];
  end if;
  if p_text ~ '^[0-9+() .•-]+$' then
    if length(v_digits) < 4 then
      return '{}';   -- three digits match too many
    end if;
    -- Text, so that the prefix is a constant to the planner and the index is used; calls first,
    -- because a join would guess how many there are.
    execute format('select array_agg(t.id) from (select c.id from public.calls c
        where c.site_id = $1 and c.phone is not null
          and reverse(regexp_replace(c.phone, ''\D'', '''', ''g'')) like %L limit 1000) t',
        reverse(v_digits) || '%')
      into v_calls using p_site_id;
    select array_agg(s.id) into v_sales from public.sales s
      where s.call_id = any (v_calls) and s.site_id = p_site_id;
  else
    select array_agg(t.id) into v_sales from (
      select s.id from public.sales s where s.order_id = p_text and s.site_id = p_site_id
      union select s.id from public.sales s where s.site_id = p_site_id and s.gclid = p_text
      union select s.id from public.sales s where s.site_id = p_site_id and s.wbraid = p_text
      union select s.id from public.sales s where s.site_id = p_site_id and s.gbraid = p_text
      limit 1000) t;
  end if;
  return coalesce((select array_agg(q.id) from public.offline_conversion_queue q
    where q.sale_id = any (v_sales)), '{}');
end
$$;
create function private.sent_condition(p_filter jsonb, p_status text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_status = 'COMPLETED' then format(c.sent, 'q', 'uploaded_at')
    else 'exists (select from private.assumed_dispatches d where d.queue_id = q.id and '
      || format(c.sent, 'd', 'dispatched_at') || ')' end
  from (select concat_ws(' and ', '%1$s.provider_key = ''google_ads''',   -- the index has it
    case when p_filter ? 'verdict' then '%1$s.verdict = $2 ->> ''verdict''' end,
    case when p_filter ? 'sentFrom' then '%1$s.%2$s >= ($2 ->> ''sentFrom'')::date::timestamp
      at time zone (select s.timezone from public.sites s where s.id = $1)' end,
    case when p_filter ? 'sentTo' then '%1$s.%2$s < (($2 ->> ''sentTo'')::date + 1)::timestamp
      at time zone (select s.timezone from public.sites s where s.id = $1)' end) as sent) c
$$;
create function private.filter_conditions() returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object(
    'status', 'q.status = $2 ->> ''status''',
    'errorCategory', 'q.provider_error_category = $2 ->> ''errorCategory''',
    'errorCode', 'q.provider_error_code = $2 ->> ''errorCode''',
    'provider', 'q.provider_key = $2 ->> ''provider''',
    'channel', 'q.channel = $2 ->> ''channel''',
    'kind', 'q.kind = $2 ->> ''kind''',
    'minValue', 'q.value_cents >= ($2 ->> ''minValue'')::bigint',
    'maxValue', 'q.value_cents <= ($2 ->> ''maxValue'')::bigint',
    'createdFrom', 'q.created_at >= ($2 ->> ''createdFrom'')::timestamptz',
    'createdTo', 'q.created_at < ($2 ->> ''createdTo'')::timestamptz',
    'updatedFrom', 'q.updated_at >= ($2 ->> ''updatedFrom'')::timestamptz',
    -- No row is changed before it is made (an hour covers transactions that overlap), so the walk
    -- through the rows can begin there instead of at the newest.
    'updatedTo', 'q.updated_at < ($2 ->> ''updatedTo'')::timestamptz
      and q.created_at < ($2 ->> ''updatedTo'')::timestamptz + interval ''1 hour''',
    'stuck', 'q.status = ''PROCESSING'' and q.claimed_at < $3 - private.stuck_after()',
    'waitingForDelay', 'q.status = any (private.waiting_states())
      and greatest(q.not_before, q.next_retry_at) > $3',
    'waiting', 'q.status = any (private.waiting_states())',
    -- Both ways: true shows what was skipped on purpose alone, false everything else.
    'notSent', '(q.status = ''FAILED'' and q.provider_error_category = ''DETERMINISTIC_SKIP'')
      = ($2 ->> ''notSent'')::boolean',
    'q', 'q.id = any ($4)',
    'minAttempts', '', 'verdict', '', 'sentFrom', '', 'sentTo', '', 'sort', '')
$$;
create function private.queue_conditions(p_filter jsonb, p_status text) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_known jsonb := private.filter_conditions();
  v_unknown text := (
    select k from jsonb_object_keys(p_filter) k where not v_known ? k limit 1);
begin
  if v_unknown is not null then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', v_unknown));
  end if;
  return concat_ws(' and ', 'q.site_id = $1',
    (select string_agg(replace(c.value, 'q.updated_at', private.changed_at(p_status)), ' and ')
     from jsonb_each_text(v_known) c
     where p_filter ? c.key and c.value <> '' and case c.key
       when 'stuck' then (p_filter ->> c.key)::boolean
       when 'waitingForDelay' then (p_filter ->> c.key)::boolean
       when 'waiting' then (p_filter ->> c.key)::boolean
       else true end),
    case when (p_filter ->> 'minAttempts')::int > 0   -- each as its index has it
      then format('q.%I >= ($2 ->> ''minAttempts'')::int', case
        when p_status in ('PROCESSING', 'COMPLETED') then 'attempt_count' else 'tries' end) end,
    case when p_filter ?| '{verdict,sentFrom,sentTo}'
      then private.sent_condition(p_filter, p_status) end);
end
$$;
create function private.rows_in_flight(p_site_id uuid)
returns setof public.offline_conversion_queue
language sql stable security definer set search_path = ''
as $$
  select q.* from private.queue_leases l
    cross join lateral unnest(l.row_ids) i (id)
    join public.offline_conversion_queue q on q.id = i.id and q.claim_token = l.token
      and q.state in ('QUEUED', 'RETRY')
  where l.site_id = p_site_id
$$;
create function private.changed_at(p_status text) returns text
language sql immutable set search_path = ''
as $$
  select case p_status when 'PROCESSING' then 'greatest(q.updated_at, q.claimed_at)'
    else 'q.updated_at' end
$$;
create function private.matching_rows(
  p_site_id uuid, p_filter jsonb, p_after_at text, p_after_id uuid, p_limit int
) returns setof public.offline_conversion_queue
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_sort text := coalesce(p_filter ->> 'sort', 'created');
  -- Each index has the state before the order: each status is read by itself and the heads are
  -- merged. Only those that the filter can mean: a completed row has no error.
  v_states text[] := array(
    select s from unnest(private.queue_states()) s
    where s = coalesce(p_filter ->> 'status', s)
      and ((p_filter ->> 'notSent')::boolean is not true or s = 'FAILED')
      and ((p_filter ->> 'stuck')::boolean is not true or s = 'PROCESSING')
      and not (s = 'COMPLETED' and p_filter ?| '{errorCode,errorCategory}')
      and (s = any (private.waiting_states()) or (p_filter ->> 'waiting')::boolean is not true
        and (p_filter ->> 'waitingForDelay')::boolean is not true));
  v_found uuid[];
begin
  -- No index leads with the provider: a site has one, and an unknown name must not read every row.
  if p_filter ? 'provider' and not exists (
      select from private.queue_totals(array[p_site_id]) t
      where t.provider_key = p_filter ->> 'provider') then
    return;
  end if;
  if cardinality(v_states) = 0 then
    perform private.queue_conditions(p_filter, 'QUEUED');   -- refuses unknown keys
    return;
  end if;
  if p_filter ? 'q' then
    v_found := private.search_queue(p_site_id, p_filter ->> 'q');
  end if;
  return query execute (
      select format('select q.* from (%s) q order by %s desc, q.id desc limit $7',
        string_agg(format(
            '(select q.* from %s q where %s%s%s order by %s desc, q.id desc limit $7)',
            case x.status when 'PROCESSING' then 'private.rows_in_flight($1)'
              else 'public.offline_conversion_queue' end,
            private.queue_conditions(p_filter, x.status),
            case when x.status = any (private.waiting_states()) then
              format(' and q.state = %L and q.claim_token is null', x.status)
              when x.status <> 'PROCESSING' then format(' and q.state = %L', x.status) end,
            case when p_after_id is not null then format(' and (%s, q.id) < ($5::%s, $6)',
              o.place, case v_sort when 'value' then 'bigint' else 'timestamptz' end) end,
            o.place), ' union all '),
        -- Of all: in the order of change that of rows in flight, if they are among them.
        case when v_sort = 'updated' and 'PROCESSING' = any (v_states)
          then private.changed_at('PROCESSING') else max(o.place) end)
      from unnest(v_states) x (status)
        cross join lateral (select case v_sort when 'updated' then private.changed_at(x.status)
          when 'value' then 'q.value_cents' else 'q.created_at' end as place) o)
    using p_site_id, p_filter, private.current_moment(), v_found, p_after_at, p_after_id, p_limit;
end
$$;

-- 15_control/next_due.sql
create function private.next_due(p_site_id uuid, p_status text) returns timestamptz
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
    select min(greatest(w.due, b.waits_until))
    from (
      select q.sale_id, q.provider_key, q.kind, greatest(q.not_before, q.next_retry_at) as due
      from public.offline_conversion_queue q join public.sites s on s.id = q.site_id
      where q.site_id = p_site_id and q.state = p_status
        and q.state = any (private.waiting_states()) and q.claim_token is null
        and (q.kind = 'CONVERSION' or s.oci_sync_method = 'api' and q.by_hand_reason is null)
      order by greatest(q.not_before, q.next_retry_at) limit 100) w
      left join lateral (
        select x.waits_for, x.waits_until from private.adjustment_bases x
        -- Offset 0, here and below, keeps it a look-up for each row: joined, every dispatch and
        -- every sale was read.
        where x.sale_id = w.sale_id and x.provider_key = w.provider_key offset 0) b
        on w.kind <> 'CONVERSION'
    where coalesce(b.waits_for, 'DAY') = 'DAY'
      and (w.kind <> 'CONVERSION' or not exists (select from private.held_sales h
        where h.sale_id = w.sale_id and h.provider_key = w.provider_key offset 0)));
end
$$;

-- 15_control/queue_action_previews.sql
create function private.bare_code(p_code text) returns text
language sql immutable set search_path = ''
as $$ select regexp_replace(upper(p_code), '^PROCESSING_ERROR_(REASON_)?', '') $$;
create function public.preview_queue_action(
  p_public_id text, p_action text, p_filter jsonb, p_max_attempts int,
  p_unfixable text[] default '{}'
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_now timestamptz := private.current_moment();
  v_preview public.queue_action_previews;
  v_matching uuid[];
  v_facts jsonb;
begin
  if private.action_statuses(p_action) is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "action"}');
  end if;
  delete from public.queue_action_previews p
    where p.site_id = v_site.id and p.expires_at < v_now - interval '1 day';
  select array_agg(m.id) into v_matching
    from private.matching_rows(v_site.id, p_filter, null, null, 100001) m;
  with judged as materialized (
    select j.id, j.place, j.from_status, q.value_cents, q.currency, q.version,
      coalesce(j.skipped, case
        when p_action = 'RETRY_SELECTED' and j.from_status = 'FAILED'
          and private.bare_code(q.provider_error_code) = any (p_unfixable)
        then 'UNFIXABLE' end) as skipped
    from private.judge_queue_rows(v_site.id, p_action, null, v_matching[1:100000], null) j
      join private.versioned_queue q on q.id = j.id)
  select
      array_agg(j.id order by j.place) filter (where j.skipped is null),
      array_agg(j.version order by j.place) filter (where j.skipped is null),
      jsonb_build_object(
        'count', count(*) filter (where j.skipped is null),
        'valueCents', (
          select coalesce(jsonb_object_agg(v.currency, v.cents), '{}') from (
            select x.currency, sum(x.value_cents) as cents from judged x
            where x.skipped is null group by 1) v),
        'byStatus', (
          select coalesce(jsonb_object_agg(s.from_status, s.n), '{}') from (
            select x.from_status, count(*) as n from judged x
            where x.skipped is null group by 1) s),
        'ineligible', (
          select coalesce(jsonb_object_agg(s.skipped, s.n), '{}') from (
            select x.skipped, count(*) as n from judged x
            where x.skipped is not null group by 1) s))
    into v_preview.ids, v_preview.versions, v_facts from judged j;
  insert into public.queue_action_previews (site_id, actor_id, action, filter, ids, versions,
      digest, created_at, expires_at)
    values (v_site.id, auth.uid(), p_action, p_filter, coalesce(v_preview.ids, '{}'),
      coalesce(v_preview.versions, '{}'),
      encode(sha256(convert_to(concat_ws('|', v_site.public_id, p_action,
        array_to_string(v_preview.ids, ','), array_to_string(v_preview.versions, ',')),
        'UTF8')), 'hex'),
      v_now, v_now + interval '15 minutes')
    returning * into v_preview;
  return v_facts || jsonb_build_object(
    'previewId', v_preview.id,
    'digest', v_preview.digest,
    'expiresAt', v_preview.expires_at,
    'action', p_action,
    'truncated', coalesce(cardinality(v_matching), 0) > 100000,
    'sample', private.queue_rows_json(array(
      select q from public.offline_conversion_queue q where q.id = any (v_preview.ids[1:5])
      order by array_position(v_preview.ids[1:5], q.id)), p_max_attempts));
end
$$;

-- 15_control/queue_actions.sql
create table private.queue_action_rows (
  action_id uuid not null references public.queue_actions (id),
  place int not null,
  queue_id uuid not null,
  skipped text,
  before jsonb,
  after jsonb,
  version_after bigint,
  proof_id uuid,
  primary key (action_id, place),
  constraint changed_rows_are_proven check ((skipped is null) = (proof_id is not null))
);
create function private.undo_until(p_action public.queue_actions) returns timestamptz
language sql immutable set search_path = ''
as $$
  select p_action.updated_at + private.undo_window()
  where p_action.action <> 'UNDO' and p_action.affected > 0 and p_action.undone_by is null
$$;
create function public.list_queue_actions(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'actionId', a.id,
      'action', a.action,
      'by', private.actor_json(a.actor_kind, a.actor_id, a.created_at),
      'byYou', coalesce(a.actor_id = auth.uid(), false),
      'reason', a.reason,
      'filter', a.filter,
      'undoes', a.undoes,
      'undoneBy', a.undone_by,
      'total', a.total,
      'done', a.done,
      'affected', a.affected,
      'at', a.created_at,
      'undoUntil', (
        select u from private.undo_until(a) u where u > private.current_moment()))
    order by a.created_at desc, a.id desc), '[]')
  from (
    select x.* from public.queue_actions x
    where x.site_id = (private.require_site(p_public_id, 'viewer')).id
    order by x.created_at desc, x.id desc limit 50) a
$$;

-- 15_control/queue_charts.sql
create function private.not_sent_codes() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['SALE_CANCELLED', 'SUPERSEDED', 'NO_CONSENT'] $$;
create function public.queue_charts(p_public_id text, p_range text default '7d') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_now timestamptz := private.current_moment();
  v_bucket text := case when p_range in ('24h', '7d') then 'hour' else 'day' end;
  v_from timestamptz;
  v_activity jsonb;
  v_causes jsonb;
begin
  if p_range is null or p_range not in ('24h', '7d', '30d', '90d') then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "range"}');
  end if;
  v_from := date_trunc(v_bucket, v_now - p_range::interval, v_site.timezone);
  with outcomes as materialized (select o.* from private.outcomes_since(v_site.id, v_from) o),
  counted as (
    select date_trunc(v_bucket, o.quarter, v_site.timezone) as at,
      sum(o.n) filter (where o.outcome = 'COMPLETED') as delivered,
      sum(o.n) filter (where o.outcome = 'FAILED' and not o.is_not_sent) as failed,
      sum(o.n) filter (where o.outcome = 'FAILED' and o.is_not_sent) as not_sent,
      sum(o.n) filter (where o.outcome = 'RETRY') as retried
    from (
      select x.quarter, x.outcome, x.code = any (private.not_sent_codes()) as is_not_sent,
        sum(x.row_count) as n
      from outcomes x group by 1, 2, 3) o
    group by 1)
  select
      (select jsonb_agg(jsonb_build_object(
          'at', b.at,
          'delivered', coalesce(c.delivered, 0),
          'failed', coalesce(c.failed, 0),
          'notSent', coalesce(c.not_sent, 0),
          'retried', coalesce(c.retried, 0))
        order by b.at)
       from generate_series(v_from, v_now, ('1 ' || v_bucket)::interval, v_site.timezone) b (at)
         left join counted c on c.at = b.at),
      (select coalesce(jsonb_agg(jsonb_build_object(
          'code', c.code,
          'category', null,
          'count', c.n)
        order by c.n desc, c.code), '[]')
       from (
         select o.code, sum(o.row_count) as n from outcomes o
         where o.outcome = 'FAILED' and o.code <> all (private.not_sent_codes())
         group by 1 order by 2 desc, 1 limit 20) c)
    into v_activity, v_causes;
  return jsonb_build_object(
    'siteId', p_public_id,
    'range', p_range,
    'from', v_from,
    'to', v_now,
    'bucket', v_bucket,
    'activity', v_activity,
    'causes', v_causes,
    'latency', (
      select jsonb_build_object(
        'sample', count(*),
        'p50Seconds', percentile_disc(0.5) within group (order by l.seconds),
        'p90Seconds', percentile_disc(0.9) within group (order by l.seconds),
        'p95Seconds', percentile_disc(0.95) within group (order by l.seconds),
        'p99Seconds', percentile_disc(0.99) within group (order by l.seconds))
      from (
        select round(extract(epoch from q.uploaded_at - q.created_at)) as seconds
        from public.offline_conversion_queue q
        where q.site_id = v_site.id and q.provider_key = 'google_ads'
          and q.state = 'COMPLETED' and q.uploaded_at >= v_from and q.kind = 'CONVERSION'
        order by q.uploaded_at desc limit 2000) l),
    'failedNow', (
      select coalesce(jsonb_agg(jsonb_build_object(
          'code', f.code,
          'category', f.category,
          'count', f.n,
          'valueCents', f.v)
        order by f.n desc, f.code), '[]')
      from (
        select c.code, c.category, sum(c.n) as n, jsonb_object_agg(c.currency, c.v) as v
        from (
          select t.code, t.category, t.currency, sum(t.row_count) as n, sum(t.value_cents) as v
          from private.queue_totals(array[v_site.id]) t
          where t.status = 'FAILED' group by 1, 2, 3) c
        group by 1, 2 order by 3 desc, 1 limit 20) f));
end
$$;

-- 15_control/queue_row_story.sql
create function public.queue_row_story(p_public_id text, p_id uuid, p_max_attempts int)
returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_row public.offline_conversion_queue;
  v_sale public.sales;
begin
  select q.* into v_row from public.offline_conversion_queue q
    where q.id = p_id and q.site_id = v_site.id;
  if v_row.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  select s.* into v_sale from public.sales s where s.id = v_row.sale_id;
  return jsonb_build_object(
      'siteId', p_public_id,
      'row', private.queue_rows_json(array[v_row], p_max_attempts) -> 0,
      'sale', jsonb_build_object(
        'id', v_sale.id,
        'version', v_sale.version,
        'status', v_sale.status,
        'amountCents', v_sale.amount_cents,
        'currency', v_sale.currency,
        'deliveryBlock', v_sale.delivery_block,
        'adjustableUntil', v_sale.occurred_at + private.adjustments_end(),
        'atGoogle', private.standing_json(v_sale.id),
        'undo', private.undo_sale_json(v_sale)),
      'dispatches', (
        select coalesce(jsonb_agg(private.dispatch_json(d) order by d.dispatched_at, d.id), '[]')
        from public.provider_dispatches d
        where d.sale_id = v_row.sale_id and d.queue_id = v_row.id),
      'payload', private.payload_json(v_row, v_sale, private.conversion_name(v_site, 'seal')),
      'proofs', (
        select coalesce(jsonb_agg(jsonb_build_object(
            'id', p.id,
            'contract', p.contract,
            'from', p.from_state,
            'to', p.to_state,
            'at', p.occurred_at)
          order by p.occurred_at, p.id), '[]')
        from (
          select x.* from public.transition_proofs x
          where x.entity_id in (v_row.id, v_row.sale_id, v_row.call_id) and x.site_id = v_site.id
          order by x.occurred_at desc, x.id desc limit 200) p),
      'siblings', private.queue_rows_json(array(
        select q from public.offline_conversion_queue q
        where q.sale_id = v_row.sale_id and q.id <> v_row.id
        order by q.created_at, q.id), p_max_attempts))
    || private.ledger_json(v_sale)
    || private.row_choices(v_site.id, v_row.id)
    || private.queue_row_moves(v_row.id);
end
$$;
create function private.row_choices(p_site_id uuid, p_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with judged as materialized (
    select c.*, j.skipped
    from (values
        (1, 'RETRY_SELECTED', false), (2, 'RETRY_SELECTED', true), (3, 'SEND_AGAIN', false)
      ) c (place, action, over_api)
      cross join lateral private.judge_queue_rows(
        p_site_id, c.action, null, array[p_id], null, c.over_api) j)
  select jsonb_build_object(
    'canTryApi', bool_or(j.place = 1 and j.skipped is not distinct from 'BY_HAND')
      and bool_or(j.place = 2 and j.skipped is null),
    'canSendAgain', bool_or(j.place = 3 and j.skipped is null))
  from judged j);
end
$$;
create function private.ledger_json(p_sale public.sales) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  select jsonb_build_object(
    'seal', (array_agg(r.line - '{id,kind,deltaCents}'::text[] || jsonb_build_object(
        'note', private.readable_note(p_sale.site_id, p_sale.note)) order by r.sequence desc)
      filter (where r.kind in ('SEAL', 'RESTORE')))[1],
    'ledger', coalesce(jsonb_agg(r.line order by r.sequence), '[]'))
  from (
    select x.kind, x.sequence, jsonb_build_object(
      'id', x.id,
      'kind', x.kind,
      'amountCents', x.amount_cents,
      'deltaCents', x.delta_cents,
      'currency', x.currency,
      'valueSource', x.value_source,
      'by', private.actor_json(x.actor_kind, x.actor_id, x.created_at),
      'at', x.created_at) as line
    from public.revenue_snapshots x where x.sale_id = p_sale.id) r);
end
$$;
create function private.payload_json(
  p_row public.offline_conversion_queue, p_sale public.sales, p_name text
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  select jsonb_build_object(
    'sent', d.id is not null,
    'orderId', p_row.order_id,
    'conversionName', coalesce(d.conversion_name, p_row.conversion_name, p_name),
    'conversionTime', coalesce(d.conversion_time, p_row.conversion_time),
    'valueCents', coalesce(d.value_cents,
      case when p_row.status <> 'PROCESSING' and p_row.kind <> 'RETRACT'
        and p_sale.status = 'CONFIRMED' then p_sale.amount_cents end,
      p_row.value_cents),
    'currency', coalesce(d.currency, p_row.currency),
    'clickKind', case
      when c.gclid is not null then 'gclid'
      when c.gbraid is not null then 'gbraid'
      when c.wbraid is not null then 'wbraid' end,
    'clickId', private.masked_click(coalesce(c.gclid, c.gbraid, c.wbraid)),
    'clickForgotten', d.identifiers_hash is not null and i.queue_id is null)
  from (values (1)) one
    left join lateral (
      select x.* from public.provider_dispatches x
      where x.sale_id = p_row.sale_id and x.queue_id = p_row.id
      order by x.dispatched_at desc, x.id desc limit 1) d on true
    -- As handed out, while it is kept.
    left join public.dispatch_identifiers i
      on i.queue_id = p_row.id and d.identifiers_hash is not null
    cross join lateral (
      select
        case when d.id is null then p_sale.gclid else i.gclid end as gclid,
        case when d.id is null then p_sale.wbraid else i.wbraid end as wbraid,
        case when d.id is null then p_sale.gbraid else i.gbraid end as gbraid) c);
end
$$;
create function private.dispatch_json(p_sent public.provider_dispatches) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_sent.id,
    'kind', p_sent.kind,
    'transport', p_sent.transport,
    'orderId', p_sent.order_id,
    'valueCents', p_sent.value_cents,
    'currency', p_sent.currency,
    'providerRequestId', p_sent.provider_request_id,
    'at', p_sent.dispatched_at,
    'verdict', p_sent.verdict,
    'verdictReason', p_sent.verdict_reason,
    'verdictAt', p_sent.verdict_at,
    'nextCheckAt', private.next_verdict_check(p_sent))
$$;
create function private.next_verdict_check(p_sent public.provider_dispatches) returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select r.next_poll_at from public.provider_requests r
  where p_sent.transport = 'data_manager' and p_sent.verdict is null and r.finished_at is null
    and r.site_id = p_sent.site_id and r.request_id = p_sent.provider_request_id
$$;
create function private.queue_row_moves(p_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with moves as (
    select t.*, lead(t.to_status) over w as next_status, lead(t.created_at) over w as next_at,
      lead(t.provider_error_code) over w as next_code
    from (
      select x.* from public.queue_transitions x where x.queue_id = p_id
      order by x.id desc limit 500) t
    window w as (order by t.id)),
  batches as materialized (
    select s.created_at as started_at, jsonb_build_object(
      'requestId', f.provider_request_id,
      'durationMs', f.duration_ms,
      'claimed', s.claimed_count,
      'completed', f.completed_count,
      'failed', f.failed_count,
      'retried', f.retry_count,
      'errorCode', f.error_code,
      'errorCategory', f.error_category,
      'isFinished', f.id is not null) as facts
    from (
      select unnest(q.claims) as batch_id from public.offline_conversion_queue q
      where q.id = p_id) c
      join public.provider_upload_attempts s on s.batch_id = c.batch_id and s.phase = 'STARTED'
      left join public.provider_upload_attempts f
        on f.batch_id = c.batch_id and f.phase = 'FINISHED')
  select jsonb_build_object(
    'transitions', coalesce(jsonb_agg(jsonb_build_object(
        'from', m.from_status,
        'to', m.to_status,
        'reason', m.reason,
        'by', private.actor_json(m.actor_kind, m.actor_id, m.created_at),
        'attemptCount', m.attempt_count,
        'errorCode', m.provider_error_code,
        'at', m.created_at,
        'note', (
          select private.readable_note(p.site_id, n.note) from public.transition_proofs p
            join private.proof_notes n on n.proof_id = p.id
          where p.entity_id = p_id and p.occurred_at = m.created_at and p.to_state = m.to_status
          limit 1))
      order by m.id), '[]'),
    'attempts', coalesce(jsonb_agg(jsonb_build_object(
        'number', m.attempt_count,
        'by', private.actor_json(m.actor_kind, m.actor_id, m.created_at),
        'startedAt', m.created_at,
        'endedAt', m.next_at,
        'durationMs', round(extract(epoch from m.next_at - m.created_at) * 1000),
        'outcome', m.next_status,
        'errorCode', m.next_code,
        'batch', (select b.facts from batches b where b.started_at = m.created_at limit 1))
      order by m.id)
      filter (where m.to_status = 'PROCESSING' and m.from_status <> 'PROCESSING'), '[]'))
  from moves m);
end
$$;

-- 15_control/queue_row_version.sql
create function private.queue_row_version(q public.offline_conversion_queue) returns bigint
language sql immutable set search_path = ''
as $$
  select hashtextextended(concat_ws('|', q.status, q.attempt_count, q.attempt_base, q.snapshot_id,
    extract(epoch from q.updated_at), coalesce(extract(epoch from q.next_retry_at), 0),
    q.provider_error_code), 0)
$$;
create view private.versioned_queue as
  select q.*, hashtextextended(concat_ws('|', q.status, q.attempt_count, q.attempt_base,
    q.snapshot_id, extract(epoch from q.updated_at),
    coalesce(extract(epoch from q.next_retry_at), 0), q.provider_error_code), 0) as version
  from public.offline_conversion_queue q;
create function private.queue_row_state(q public.offline_conversion_queue) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'status', q.status,
    'state', q.state,
    'claimedAt', q.claimed_at,
    'claimToken', q.claim_token,
    'nextRetryAt', case when q.claim_token is null then q.next_retry_at end,
    'attemptBase', q.attempt_base,
    'lastError', q.last_error,
    'errorCode', q.provider_error_code,
    'errorCategory', q.provider_error_category,
    'attemptError', q.attempt_error,
    'attemptErrorCode', q.attempt_error_code,
    'attemptErrorCategory', q.attempt_error_category,
    'byHandReason', q.by_hand_reason,
    'mayHaveArrived', nullif(q.may_have_arrived, false)))
$$;

-- 15_control/queue_rows.sql
create function private.cursor_text(p_sort text, p_at text, p_id uuid) returns text
language sql immutable set search_path = ''
as $$
  select rtrim(translate(encode(convert_to(
    concat_ws('|', p_sort, p_at, p_id), 'UTF8'), 'base64'), E'+/\n', '-_'), '=')
$$;
create function private.place_of(p_row public.offline_conversion_queue, p_sort text) returns text
language sql stable set search_path = ''
as $$
  select case p_sort
    when 'value' then p_row.value_cents::text
    when 'updated' then private.exact_time(greatest(p_row.updated_at, p_row.claimed_at))
    else private.exact_time(p_row.created_at) end
$$;
create function private.cursor_parts(p_cursor text, p_sort text, out at text, out id uuid)
language plpgsql stable set search_path = ''
as $$
declare
  v_parts text[];
begin
  begin
    v_parts := string_to_array(convert_from(decode(
      translate(p_cursor, '-_', '+/') || repeat('=', (4 - length(p_cursor) % 4) % 4),
      'base64'), 'UTF8'), '|');
    at := v_parts[2];
    id := v_parts[3]::uuid;
    perform case p_sort when 'value' then at::bigint::text else at::timestamptz::text end;
  exception when others then
    v_parts := null;
  end;
  if p_cursor is not null and (v_parts[1] is distinct from p_sort or at is null or id is null) then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "cursor"}');
  end if;
end
$$;
create function public.queue_rows(
  p_public_id text, p_max_attempts int, p_filter jsonb default '{}', p_cursor text default null,
  p_limit int default 100
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_sort text := coalesce(p_filter ->> 'sort', 'created');
  v_limit int := least(greatest(p_limit, 1), 1000);
  v_after record;
  v_rows public.offline_conversion_queue[];
begin
  select * into v_after from private.cursor_parts(p_cursor, v_sort);
  select array_agg(m) into v_rows
    from private.matching_rows(v_site.id, p_filter, v_after.at, v_after.id, v_limit + 1) m;
  return jsonb_build_object(
    'siteId', p_public_id,
    'rows', private.queue_rows_json(v_rows[1:v_limit], p_max_attempts),
    'nextCursor', case when cardinality(v_rows) > v_limit then private.cursor_text(
      v_sort, private.place_of(v_rows[v_limit], v_sort), v_rows[v_limit].id) end);
end
$$;

-- 15_control/queue_rows_json.sql
create function private.action_obstacle(
  p_row public.offline_conversion_queue, out code text, out at timestamptz
)
language sql stable security definer set search_path = ''
as $$
  select case
      when a.blocked_at is not null then a.blocked_code
      when p_row.conversion_action is not null then case
        when not n.has_lines then 'MISSING'
        when private.is_elsewhere(p_row.site_id, p_row.conversion_action) then 'OTHER_ACCOUNT' end
      when a.site_id is null then 'MISSING'
      when a.google_name <> a.conversion_name and p_row.kind = 'CONVERSION'
        and (p_row.may_have_arrived or exists (select from public.provider_dispatches d
          where d.sale_id = p_row.sale_id and d.verdict is distinct from 'REJECTED' offset 0))
        then 'NAME_DIFFERS' end,
    a.blocked_at
  from (select private.conversion_name(s, 'seal') as seal,
          exists (select from public.provider_conversion_actions x where x.site_id = s.id
            and x.provider_key = p_row.provider_key) as has_lines
        from public.sites s where s.id = p_row.site_id) n
    left join lateral (
      select x.* from public.provider_conversion_actions x
      where x.site_id = p_row.site_id and x.provider_key = p_row.provider_key
        and case when p_row.conversion_action is not null then x.action = p_row.conversion_action
          else x.conversion_name = coalesce(p_row.conversion_name, n.seal)
            or x.conversion_name = n.seal and p_row.kind <> 'CONVERSION' end
      order by x.conversion_name = coalesce(p_row.conversion_name, n.seal) desc,
        x.blocked_at nulls last limit 1) a on true
$$;
create function private.queue_rows_json(
  p_rows public.offline_conversion_queue[], p_max_attempts int
) returns jsonb
language plpgsql stable security definer set search_path = ''
  set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return (
  with allowed as materialized (
    select x.id, x.actions
    from private.allowed_actions((p_rows[1]).site_id, array(select r.id from unnest(p_rows) r)) x)
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', q.id,
      'callId', q.call_id,
      'saleId', q.sale_id,
      'provider', q.provider_key,
      'kind', q.kind,
      'status', q.status,
      'orderId', q.order_id,
      -- A correction is made with what the sale is worth when it is made.
      'valueCents', case when q.kind = 'RESTATE' and w.is_waiting and s.status = 'CONFIRMED'
        then s.amount_cents else q.value_cents end,
      'currency', q.currency,
      'conversionTime', q.conversion_time,
      'channel', q.channel,
      'clickKind', case
        when s.gclid is not null then 'gclid'
        when s.gbraid is not null then 'gbraid'
        when s.wbraid is not null then 'wbraid' end,
      'phoneEnding', (
        select nullif(right(regexp_replace(c.phone, '\D', '', 'g'), 4), '')
        from public.calls c where c.id = q.call_id),
      'attemptCount', q.attempt_count,
      'attemptsLeft', greatest(0, p_max_attempts - (q.attempt_count - q.attempt_base)),
      'notBefore', q.not_before,
      'nextRetryAt', case when q.claim_token is null then q.next_retry_at end,
      'claimedAt', q.claimed_at,
      'stuck', q.status = 'PROCESSING' and q.claimed_at < n.stuck_before,
      'lastError', q.last_error,
      'providerErrorCode', q.provider_error_code,
      'providerErrorCategory', q.provider_error_category,
      'attemptError', q.attempt_error,
      'attemptErrorCode', q.attempt_error_code,
      'attemptErrorCategory', q.attempt_error_category,
      'freeWaits', q.free_waits,
      'byHandReason', q.by_hand_reason,
      'heldBy', h.held_by,
      'waitsFor', case
        when h.held_by is not null then 'RETRACTION'
        when b.waits_for is not null then b.waits_for
        when w.is_for_api and (private.action_obstacle(p_rows[i])).code is not null then 'ACTION'
        when p.paused_until is not null then 'PAUSE'
        when u.quota_until is not null then 'QUOTA' end,
      'waitsUntil', case
        when b.waits_for = 'DAY'
          then greatest(b.waits_until, p.paused_until, u.quota_until)
        when b.waits_for is null and h.held_by is null
          then greatest(p.paused_until, u.quota_until) end,
      'uploadedAt', q.uploaded_at,
      'providerRequestId', q.provider_request_id,
      'transport', d.transport,
      'verdict', d.verdict,
      'verdictReason', d.verdict_reason,
      'verdictAt', d.verdict_at,
      'allowedActions', coalesce(a.actions, '[]'),
      'takeBack', case
        when q.status = 'COMPLETED' and q.kind <> 'RETRACT' and s.status = 'CANCELED'
        then case when exists (select from public.provider_dispatches x
            where x.sale_id = q.sale_id and x.kind = 'RETRACT'
              and x.verdict is distinct from 'REJECTED' offset 0)
          then 'DONE' else 'PENDING' end end,
      'createdAt', q.created_at,
      'updatedAt', greatest(q.updated_at, q.claimed_at))
    order by i), '[]')
  from (select private.current_moment() - private.stuck_after() as stuck_before offset 0) n,
    generate_subscripts(p_rows, 1) i
    cross join lateral (select (p_rows[i]).*) q
    left join public.sales s on s.id = q.sale_id
    left join public.sites t on t.id = q.site_id
    left join allowed a on a.id = q.id
    cross join lateral (
      select q.status = any (private.waiting_states()) as is_waiting,
        q.status = any (private.waiting_states()) and q.by_hand_reason is null
          and t.oci_sync_method = 'api' as is_for_api) w
    left join lateral (
      select x.transport, x.verdict, x.verdict_reason, x.verdict_at
      from public.provider_dispatches x where x.sale_id = q.sale_id and x.queue_id = q.id
      order by x.dispatched_at desc, x.id desc limit 1) d on true
    left join lateral (
      select jsonb_build_object('saleId', x.by_sale_id, 'rowId', x.by_row_id) as held_by
      from private.held_sales x where x.sale_id = q.sale_id and x.provider_key = q.provider_key
      order by x.by_row_id desc limit 1) h on q.kind = 'CONVERSION' and w.is_waiting
    left join lateral (
      select x.waits_for, x.waits_until from private.adjustment_bases x
      -- Offset 0, here and above, keeps it a look-up for each row: joined or hashed, every dispatch
      -- was read.
      where x.sale_id = q.sale_id and x.provider_key = q.provider_key offset 0) b
      on q.kind <> 'CONVERSION' and w.is_for_api
    left join lateral (
      select greatest(x.quota_until, q.next_retry_at) as quota_until
      from public.provider_health_state x
      where x.site_id = q.site_id and x.provider_key = q.provider_key
        and x.quota_until > private.current_moment()) u on w.is_for_api
    left join lateral (
      select greatest(t.paused_until, q.not_before, q.next_retry_at) as paused_until
      where t.paused_until > private.current_moment()
        and t.paused_until > greatest(q.not_before, q.next_retry_at)) p
      on w.is_waiting and (q.kind = 'CONVERSION' or w.is_for_api));
end
$$;

-- 15_control/queue_stats.sql
create view private.connected_health as
  select h.* from public.provider_health_state h
    join public.sites s on s.id = h.site_id and s.oci_sync_method = 'api'
    join public.provider_credentials c
      on c.site_id = h.site_id and c.provider_key = h.provider_key;
create function private.health_of(p_sites uuid[], p_provider_key text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  select jsonb_build_object(
    'circuit', (
      select private.circuit_json(h.state, h.failure_count, h.next_probe_at)
      from private.connected_health h
      where h.site_id = any (p_sites)
        and h.provider_key = coalesce(p_provider_key, h.provider_key)
      order by array_position('{OPEN,HALF_OPEN,CLOSED}', h.state), h.failure_count desc,
        h.next_probe_at limit 1),
    'blocked', (
      select jsonb_build_object('code', h.blocked_code, 'since', h.blocked_at)
      from private.connected_health h
      where h.site_id = any (p_sites)
        and h.provider_key = coalesce(p_provider_key, h.provider_key)
        and h.blocked_at is not null
      order by h.blocked_at limit 1)));
end
$$;
create function private.rejected_causes(p_sites uuid[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('code', c.code, 'category', null, 'count', c.n)
    order by c.n desc, c.code), '[]')
  from (
    select coalesce(d.verdict_reason, 'UNKNOWN') as code, count(*) as n
    from unnest(p_sites) site (id)
      cross join lateral (
        select x.* from public.provider_dispatches x
        where x.site_id = site.id and x.verdict = 'REJECTED'
        order by x.dispatched_at desc limit 1000) d
      join public.sales s on s.id = d.sale_id
    where s.status = case d.kind when 'RETRACT' then 'CANCELED' else 'CONFIRMED' end
      and private.may_send(s, d.kind)
      and not exists (select from public.provider_dispatches o
        where o.sale_id = d.sale_id and o.provider_key = d.provider_key
          and case when o.verdict is distinct from 'REJECTED' and d.kind = 'CONVERSION' then true
            else o.kind = d.kind and (o.dispatched_at, o.id) > (d.dispatched_at, d.id) end)
      and not exists (select from public.offline_conversion_queue q
        where q.sale_id = d.sale_id and q.provider_key = d.provider_key and q.kind = d.kind
          and q.state = any (private.waiting_states()))
    group by 1) c
$$;
create function private.queue_totals_json(p_sites uuid[]) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with lines as materialized (select t.* from private.queue_totals(p_sites) t),
  states as (select unnest(private.queue_states()) as status),
  figures as (   -- a null key: of all providers
    select k.provider_key, jsonb_build_object(
      'totals', (
        select jsonb_object_agg(s.status, coalesce((
          select sum(l.row_count) from lines l where l.status = s.status
            and l.provider_key = coalesce(k.provider_key, l.provider_key)), 0))
        from states s),
      'valueWaitingCents', (
        select coalesce(jsonb_object_agg(w.currency, w.v), '{}') from (
          select l.currency, sum(l.value_cents) as v from lines l
          where l.status = any (private.waiting_states())
            and l.provider_key = coalesce(k.provider_key, l.provider_key)
          group by 1) w))
      || private.health_of(p_sites, k.provider_key) as facts
    from (select distinct l.provider_key from lines l union all select null) k),
  ended as (
    select sum(l.row_count) filter (where l.status = 'FAILED') as failed,
      sum(l.row_count) as all_ended
    from lines l
    where l.status = 'COMPLETED' or (l.status = 'FAILED' and l.category <> 'DETERMINISTIC_SKIP')),
  causes as (
    select l.code, l.category, sum(l.row_count) as n from lines l
    where l.status = 'FAILED' group by 1, 2)
  select (select f.facts from figures f where f.provider_key is null) || jsonb_build_object(
    'notSent', (
      select coalesce(sum(c.n), 0) from causes c where c.category = 'DETERMINISTIC_SKIP'),
    'failedRatio', (
      select round(coalesce(e.failed, 0)::numeric / e.all_ended, 4)
      from ended e where e.all_ended > 0),
    'perProvider', (
      select coalesce(jsonb_agg(jsonb_build_object('provider', f.provider_key) || f.facts
        order by f.provider_key), '[]')
      from figures f where f.provider_key is not null),
    'mainCause', (
      select jsonb_build_object('code', c.code, 'category', c.category, 'count', c.n)
      from causes c where c.category <> 'DETERMINISTIC_SKIP' order by c.n desc, c.code limit 1),
    'failedCauses', (
      select coalesce(jsonb_agg(
        jsonb_build_object('code', c.code, 'category', c.category, 'count', c.n)
        order by c.n desc, c.code), '[]')
      from (
        select x.* from causes x where x.n > 0 order by x.n desc, x.code limit 100) c)));
end
$$;
create function private.connections_json(p_sites uuid[]) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return (
  with api as materialized (   -- the sites that send by API, with how their last turns went
    select s.id, exists (select from public.provider_credentials c where c.site_id = s.id)
        as is_connected, t.served_at,
      case when h.last_failure_at > coalesce(h.last_success_at, '-infinity')
        then coalesce(h.last_failure_code, 'TRANSIENT_ERROR') end as failure_code
    from public.sites s
      left join public.provider_health_state h
        on h.site_id = s.id and h.provider_key = 'google_ads'
      left join private.delivery_turns t
        on t.site_id = s.id and t.provider_key = 'google_ads' and t.pipeline = 'seals'
    where s.id = any (p_sites) and s.oci_sync_method = 'api')
  select jsonb_build_object(
    'quotaUntil', (
      select max(h.quota_until) from api a join public.provider_health_state h
        on h.site_id = a.id and h.quota_until > private.current_moment()),
    'pause', (
      select private.pause_json(s) from public.sites s
      where cardinality(p_sites) = 1 and s.id = p_sites[1]),
    'connected', (select bool_and(a.is_connected) from api a),
    'blockedActions', (
      select coalesce(jsonb_agg(jsonb_build_object(
          'conversionName', x.conversion_name, 'code', x.blocked_code, 'since', x.blocked_at)
        order by x.blocked_at, x.conversion_name), '[]')
      from api a join public.provider_conversion_actions x
        on x.site_id = a.id and x.blocked_at is not null),
    'missingActions', (
      select coalesce(jsonb_agg(m.name order by m.place, m.name), '[]') from (
        select n.name, min(n.place) as place
        from api a join public.sites s on s.id = a.id and a.is_connected
          cross join lateral jsonb_array_elements_text(private.missing_actions(s))
            with ordinality n (name, place)
        group by n.name) m),
    'lastRun', (
      select jsonb_build_object(
        'at', r.at,
        'ok', r.error_code is null,
        'kind', r.kind,
        'errorCode', r.error_code)
      from (
        (select x.at, x.error_code, x.kind
         from unnest(p_sites) site (id) cross join lateral (
           select y.* from public.script_runs y where y.site_id = site.id
           order by y.at desc, y.id desc limit 1) x
         where site.id not in (select a.id from api a))
        union all
        select a.served_at, a.failure_code, 'worker' from api a where a.served_at is not null) r
      order by r.at desc limit 1)));
end
$$;
create function public.queue_stats(p_public_id text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_stuck_before timestamptz := private.current_moment() - private.stuck_after();
  v_sites uuid[] := case
    when p_public_id is not null then array[(private.require_site(p_public_id, 'viewer')).id]
    else array(
      select m.site_id from public.site_members m join public.sites s on s.id = m.site_id
      where m.user_id = auth.uid() and s.archived_at is null) end;
begin
  return jsonb_build_object(
      'siteId', p_public_id,
      'scope', case when p_public_id is null then 'multi' else 'site' end,
      'rejectedCauses', private.rejected_causes(v_sites))
    || private.queue_totals_json(v_sites)
    || private.connections_json(v_sites)
    || (
    select jsonb_build_object(
      'stuckProcessing', coalesce(sum(x.stuck), 0),
      'waitingByHand', coalesce(sum(x.by_hand), 0),
      'lastUpdatedAt', max(x.updated_at),
      'oldestWaitingAt', min(x.oldest),
      'refusedAccess', coalesce(sum(x.refused), 0),
      'nextDueAt', jsonb_build_object('QUEUED', min(x.queued_due), 'RETRY', min(x.retry_due)))
    from unnest(v_sites) site (id), lateral (select
      (select count(*) from private.queue_in_flight q
       where q.site_id = site.id and q.leased_at < v_stuck_before) as stuck,
      (select count(*)
       from public.offline_conversion_queue q join public.sites s on s.id = q.site_id
       where q.site_id = site.id and q.state = any (private.waiting_states())
         and private.waits_for_person(
         q.kind, q.status, q.by_hand_reason, s.oci_sync_method)) as by_hand,
      cardinality(private.refused_rows(site.id, 'google_ads')) as refused,
      greatest(
        (select t.created_at from private.queue_moves t
         where t.site_id = site.id order by t.created_at desc limit 1),
        (select d.updated_at from private.queue_delivered d
         where d.site_id = site.id order by d.updated_at desc limit 1),
        (select max(l.claimed_at) from private.queue_leases l
         where l.site_id = site.id and l.row_ids <> '{}')) as updated_at,
      least(
        (select q.created_at from public.offline_conversion_queue q
         where q.site_id = site.id and q.state = 'QUEUED' and q.claim_token is null
         order by q.created_at limit 1),
        (select q.created_at from public.offline_conversion_queue q
         where q.site_id = site.id and q.state = 'RETRY' and q.claim_token is null
         order by q.created_at limit 1))
        as oldest,
      private.next_due(site.id, 'QUEUED') as queued_due,
      private.next_due(site.id, 'RETRY') as retry_due) x);
end
$$;

-- 16_reports/delivery_days.sql
create function public.delivery_days(
  p_public_id text, p_from date default null, p_to date default null
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_to date := coalesce(p_to, private.today_at(v_site));
  v_from date := coalesce(p_from, v_to - 29);
  v_since timestamptz;
  v_until timestamptz;
  v_days jsonb;
begin
  if v_from > v_to or v_to - v_from > 91 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "from"}');
  end if;
  v_since := private.start_of_day(v_site, v_from);
  v_until := private.start_of_day(v_site, v_to + 1);
  select coalesce(jsonb_agg(jsonb_build_object(
        'day', t.day,
        'currency', t.currency,
        'sent', jsonb_build_object(
          'script', t.script,
          'data_manager', t.data_manager,
          'ads_api', t.ads_api,
          'by_hand', t.by_hand),
        'confirmed', t.confirmed,
        'duplicate', t.duplicate,
        'rejected', t.rejected,
        'unknown', t.unknown,
        'waiting', t.waiting,
        'noVerdict', t.no_verdict,
        'sentCents', t.sent_cents,
        'confirmedCents', t.confirmed_cents,
        'rejectedCents', t.rejected_cents,
        'restated', t.restated,
        'retracted', t.retracted,
        'adjustmentsRejected', t.adjustments_rejected)
      order by t.day, t.currency), '[]')
    into v_days
    from (
      select (d.dispatched_at at time zone v_site.timezone)::date as day, d.currency,
        count(*) filter (where c.is_new and d.transport = 'script') as script,
        count(*) filter (where c.is_new and d.transport = 'data_manager') as data_manager,
        count(*) filter (where c.is_new and d.transport = 'ads_api') as ads_api,
        count(*) filter (where c.is_new and d.transport = 'by_hand') as by_hand,
        count(*) filter (where c.is_new and d.verdict = 'CONFIRMED') as confirmed,
        count(*) filter (where c.is_new and d.verdict = 'DUPLICATE') as duplicate,
        count(*) filter (where c.is_new and d.verdict = 'REJECTED') as rejected,
        count(*) filter (where c.is_new and d.verdict = 'UNKNOWN') as unknown,
        count(*) filter (where c.is_new and d.verdict is null
          and d.transport = 'data_manager') as waiting,
        count(*) filter (where c.is_new and d.verdict is null
          and d.transport <> 'data_manager') as no_verdict,
        coalesce(sum(d.value_cents) filter (where c.is_new), 0) as sent_cents,
        coalesce(sum(d.value_cents) filter (where c.is_new
          and d.verdict in ('CONFIRMED', 'DUPLICATE')), 0) as confirmed_cents,
        coalesce(sum(d.value_cents) filter (where c.is_new and d.verdict = 'REJECTED'), 0)
          as rejected_cents,
        count(*) filter (where d.kind = 'RESTATE') as restated,
        count(*) filter (where d.kind = 'RETRACT') as retracted,
        count(*) filter (where not c.is_new and d.verdict = 'REJECTED') as adjustments_rejected
      from public.provider_dispatches d
        cross join lateral (select d.kind = 'CONVERSION' as is_new) c
      where d.site_id = v_site.id and d.provider_key = 'google_ads'
        and d.dispatched_at >= v_since and d.dispatched_at < v_until
      group by 1, 2) t;
  return jsonb_build_object(
    'siteId', p_public_id,
    'timezone', v_site.timezone,
    'from', v_from,
    'to', v_to,
    'days', v_days);
end
$$;

-- 16_reports/search_sites.sql
create function private.search_in(p_site public.sites, p_text text, p_max int) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_is_operator boolean := public.has_site_role(p_site.id, 'operator');
  v_digits text := right(regexp_replace(p_text, '\D', '', 'g'),
    case when v_is_operator then 9 else 4 end);
  v_like text := private.search_pattern(p_text);
begin
  return jsonb_build_object(
    'leads', coalesce((
      select jsonb_agg(jsonb_build_object(
          'siteId', p_site.public_id, 'id', c.id, 'phone', private.masked_phone(c.phone),
          'name', private.readable_note(c.site_id, c.contact_name),
          'channel', c.channel, 'status', c.status, 'calledAt', c.called_at)
        order by c.called_at desc, c.id)
      from (
        select x.* from public.calls x
        where x.site_id = p_site.id and x.id in (
          (select n.id from public.calls n
            where n.site_id = p_site.id and length(v_digits) >= 2 and n.phone is not null
              and reverse(regexp_replace(n.phone, '\D', '', 'g')) like reverse(v_digits) || '%'
            order by n.called_at desc limit p_max)
          union
          (select n.id from public.calls n
            where n.site_id = p_site.id and v_is_operator and n.contact_name is not null
              and translate(lower(translate(n.contact_name, 'Iİ', 'ii')), 'ı', 'i') like v_like
            order by n.called_at desc limit p_max))
        order by x.called_at desc, x.id limit p_max) c), '[]'),
    'sales', coalesce((
      select jsonb_agg(jsonb_build_object(
          'siteId', p_site.public_id, 'id', s.id, 'orderId', s.order_id,
          'externalRef', s.external_ref,
          'amountCents', s.amount_cents, 'currency', s.currency, 'occurredAt', s.occurred_at,
          'callId', s.call_id, 'rowId', (
            select q.id from public.offline_conversion_queue q
            where q.sale_id = s.id order by q.created_at desc, q.id desc limit 1))
        order by s.occurred_at desc, s.id)
      from (
        select x.* from public.sales x
        where x.site_id = p_site.id
          and translate(lower(translate(
            concat_ws(E'\n', x.order_id, x.external_ref), 'Iİ', 'ii')), 'ı', 'i') like v_like
        order by x.occurred_at desc, x.id limit p_max) s), '[]'));
end
$$;
create function public.search_sites(p_text text, p_first text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_text text := btrim(left(p_text, 80));
begin
  if char_length(v_text) < 2 then
    perform private.refuse_setting('text');
  end if;
  return (
    with found as materialized (
      select coalesce(s.public_id = p_first, false) as is_first,
        private.search_in(s, v_text, 8) as it
      from public.sites s
      where s.id in (
          select m.site_id from public.site_members m where m.user_id = (select auth.uid()))
        and (s.archived_at is null or s.public_id = p_first)),
    ranked as (
      select k.kind, f.is_first, e.item,
        row_number() over (partition by k.kind, f.is_first order by
          coalesce(e.item ->> 'calledAt', e.item ->> 'occurredAt')::timestamptz desc,
          e.item ->> 'id') as place
      from found f
        cross join (values ('leads'), ('sales')) k (kind)
        cross join jsonb_array_elements(f.it -> k.kind) e (item))
    select jsonb_object_agg(k.kind, coalesce((
      select jsonb_agg(r.item order by r.is_first desc, r.place)
      from ranked r where r.kind = k.kind and r.place <= 8), '[]'))
    from (values ('leads'), ('sales')) k (kind));
end
$$;

-- 16_reports/site_version.sql
create function private.newest_moments(p_site_id uuid, p_table regclass, p_column name)
returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_moments text;
begin
  execute format($q$
    with recursive newest as (
      (select t.%2$I as at, t.%2$I - interval '10 minutes' as since, 1 as place
       from %1$s t where t.site_id = $1 and t.%2$I is not null order by t.%2$I desc limit 1)
      union all
      select (select t.%2$I from %1$s t
              where t.site_id = $1 and t.%2$I < n.at and t.%2$I >= n.since
              order by t.%2$I desc limit 1), n.since, n.place + 1
      from newest n where n.at is not null and n.place < 100)
    select string_agg(extract(epoch from n.at)::text, ' ' order by n.place) from newest n
  $q$, p_table, p_column) into v_moments using p_site_id;
  return v_moments;
end
$$;
create function private.delivery_state(p_site public.sites) returns text
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_array(p_site.oci_sync_method, p_site.archived_at,
    p_site.paused_until, p_site.pause_reason,
    (select jsonb_agg(jsonb_build_array(h.state, h.next_probe_at, h.blocked_code, h.quota_until)
       order by h.provider_key)
     from public.provider_health_state h where h.site_id = p_site.id),
    (select jsonb_agg(jsonb_build_array(c.provider_key, c.version) order by c.provider_key)
     from public.provider_credentials c where c.site_id = p_site.id),
    (select jsonb_agg(jsonb_build_array(a.conversion_name, a.blocked_code)
       order by a.conversion_name)
     from public.provider_conversion_actions a where a.site_id = p_site.id))::text
$$;
create function public.site_version(p_public_id text, p_of text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_parts text[];
begin
  v_parts := case
    when p_of in ('leads', 'queue', 'sales') then array[
      private.newest_moments(v_site.id, 'public.sales', 'updated_at'),
      private.newest_moments(v_site.id, 'private.queue_moves', 'created_at'),
      private.newest_moments(v_site.id, 'private.queue_delivered', 'updated_at'),
      -- By themselves: one that commits late is behind a hundred deliveries.
      private.newest_moments(v_site.id, 'private.queue_delivered', 'verdict_at'),
      (select string_agg(l.token::text, ' ' order by l.token) from private.queue_leases l
        where l.site_id = v_site.id and l.row_ids <> '{}'),   -- what is in flight
      case p_of
        when 'leads' then private.newest_moments(v_site.id, 'public.calls', 'updated_at')
        when 'queue' then private.delivery_state(v_site) end]
    when p_of = 'activity' then
      array[private.newest_moments(v_site.id, 'public.transition_proofs', 'occurred_at')]
    when p_of = 'events' then
      array[private.newest_moments(v_site.id, 'public.ingest_idempotency', 'created_at')]
    when p_of = 'setup' then array[private.setup_state(v_site)]
  end;
  if v_parts is null then
    perform private.fail(400, 'VALIDATION_FAILED', jsonb_build_object('field', 'of'));
  end if;
  return jsonb_build_object(
    'version', md5(array_to_string(v_parts, '|', '-')), 'at', private.current_moment());
end
$$;

-- 16_reports/sites_overview.sql
create function private.delivery_health(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('way', p_site.oci_sync_method) || case
    when private.is_paused(p_site)
      then jsonb_build_object('code', 'PAUSED', 'at', p_site.paused_until)
    when p_site.oci_sync_method = 'script' then (
      select jsonb_build_object('at', r.at, 'code', case
        when r.at is null then case when exists (select from public.site_api_keys k
          where k.site_id = p_site.id and k.revoked_at is null) then 'NEVER_RAN' else 'NO_KEY' end
        when r.error_code is not null then 'FAILED'
        when r.at < private.current_moment() - interval '25 hours' then 'SILENT'
        else 'WELL' end)
      from (select 1) one left join lateral (
        select x.at, x.error_code from public.script_runs x where x.site_id = p_site.id
        order by x.at desc, x.id desc limit 1) r on true)
    else (
      select jsonb_build_object('at', coalesce(h.blocked_at, t.served_at), 'code', case
        when c.site_id is null then 'NOT_CONNECTED'
        when h.blocked_at is not null then 'BLOCKED'
        when h.state <> 'CLOSED' then 'CIRCUIT'
        when h.last_failure_at > coalesce(h.last_success_at, '-infinity') then 'FAILED'
        else 'WELL' end)
      from (select 1) one
        left join public.provider_credentials c
          on c.site_id = p_site.id and c.provider_key = 'google_ads'
        left join public.provider_health_state h
          on h.site_id = p_site.id and h.provider_key = 'google_ads'
        left join private.delivery_turns t on t.site_id = p_site.id
          and t.provider_key = 'google_ads' and t.pipeline = 'seals') end
$$;
create function private.sealed_by_day(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_agg(coalesce(w.cents, 0) order by d.day)
  from generate_series(private.today_at(p_site) - 13, private.today_at(p_site),
      interval '1 day') d (day)
    left join (
      select (c.status_at at time zone p_site.timezone)::date as day, sum(s.amount_cents) as cents
      from public.calls c
        join public.sales s on s.call_id = c.id and s.status = 'CONFIRMED'
          and s.currency = p_site.currency
      where c.site_id = p_site.id and c.status = 'sealed'
        and c.status_at >= private.start_of_day(p_site, private.today_at(p_site) - 13)
      group by 1) w on w.day = d.day
$$;
create function public.sites_overview() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'siteId', s.public_id,
      'lastEventAt', (
        select max(e.created_at) from public.ingest_idempotency e where e.site_id = s.id),
      'leadsToday', (
        select count(*) from public.calls c where c.site_id = s.id
          and c.called_at >= private.start_of_day(s, private.today_at(s))),
      'sealedByDay', private.sealed_by_day(s),
      'waiting', q.waiting,
      'failed', q.failed,
      'needsYou', (
        select count(*) from private.matching_leads(s, '{"view": "needs_you"}', 500)),
      'health', private.delivery_health(s))
    order by s.name, s.public_id), '[]')
  from public.site_members m
    join public.sites s on s.id = m.site_id and s.archived_at is null
    cross join lateral (
      select coalesce(sum(t.row_count)
          filter (where t.status = any (private.waiting_states())), 0) as waiting,
        coalesce(sum(t.row_count) filter (where t.status = 'FAILED'
          and t.category is distinct from 'DETERMINISTIC_SKIP'), 0) as failed
      from private.queue_totals(array[s.id]) t) q
  where m.user_id = auth.uid()
$$;

-- 16_reports/why_not_counted.sql
create function public.why_not_counted(p_public_id text, p_sale_id uuid) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_sale public.sales;
  v_sent public.provider_dispatches;
  v_row public.offline_conversion_queue;
  v_why jsonb;
begin
  select s.* into v_sale from public.sales s where s.id = p_sale_id and s.site_id = v_site.id;
  if v_sale.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  -- The conversion that Google has; without one, the newest that it rejected.
  select d.* into v_sent from public.provider_dispatches d
    where d.sale_id = v_sale.id and d.provider_key = 'google_ads' and d.kind = 'CONVERSION'
    order by d.verdict is distinct from 'REJECTED' desc, d.dispatched_at desc, d.id desc limit 1;
  select q.* into v_row from public.offline_conversion_queue q
    where q.sale_id = v_sale.id and q.provider_key = 'google_ads' and q.kind = 'CONVERSION'
    order by q.created_at desc, q.id desc limit 1;
  v_why := case
    when v_sale.status = 'CANCELED' then private.why_cancelled(v_site, v_sale)
    when v_sent.verdict is distinct from 'REJECTED' and v_sent.id is not null
        and not (v_sent.verdict is not distinct from 'UNKNOWN'   -- it is sent again
          and v_row.status = any (private.open_states()))
      then private.why_sent(v_sent)
    when v_sale.delivery_block is not null
      then private.why_blocked(v_sale.delivery_block, v_sale.clicked_at)
    when v_sale.status = 'DRAFT' and v_site.archived_at is not null
      then private.link('ARCHIVED', null, v_site.archived_at)
    when v_sale.status = 'DRAFT' then private.link('SEAL', 'DRAFT', v_sale.created_at)
    when v_row.status = any (private.waiting_states())
      then private.why_waiting(v_site, v_sale, v_row)
    when v_row.status = 'PROCESSING' then private.link('IN_FLIGHT',
      case when v_row.claimed_at < private.current_moment() - private.stuck_after()
        then 'STUCK' end,
      v_row.claimed_at)
    when v_row.status = 'FAILED' then private.why_failed(v_site, v_sale, v_row)
    when v_sent.id is not null
      then private.link('REJECTED', v_sent.verdict_reason, v_sent.verdict_at)
    else private.link('FAILED', 'UNKNOWN', v_sale.updated_at) end;
  return jsonb_build_object('saleId', v_sale.id) || v_why || jsonb_build_object('facts',
    jsonb_strip_nulls(jsonb_build_object(
      'amountCents', v_sale.amount_cents,
      'currency', v_sale.currency,
      'orderId', v_sale.order_id,
      'rowId', v_row.id,
      'archivedAt', v_site.archived_at,
      'canRestore', case when v_site.archived_at is not null
        then public.has_site_role(v_site.id, 'owner') end,
      'isSealed', v_sale.status = 'CONFIRMED',
      'isOwner', public.has_site_role(v_site.id, 'owner'),
      'syncMethod', v_site.oci_sync_method,
      'transport', v_sent.transport,
      'sentAt', v_sent.dispatched_at,
      'requestId', v_sent.provider_request_id,
      'conversionName', coalesce(v_sent.conversion_name, v_row.conversion_name,
        private.conversion_name(v_site, 'seal')),
      'atGoogleCents', private.standing_json(v_sale.id) -> 'valueCents',
      'clickMinAgeHours', v_site.click_min_age_hours,
      'error', v_row.attempt_error,
      'attemptCount', v_row.attempt_count)) || (v_why -> 'facts'));
end
$$;
create function private.link(
  p_link text, p_code text, p_at timestamptz, p_facts jsonb default '{}'
) returns jsonb
language sql immutable set search_path = ''
as $$
  select jsonb_build_object('link', p_link, 'code', p_code, 'at', p_at, 'facts', p_facts)
$$;
create function private.why_blocked(p_block text, p_clicked_at timestamptz) returns jsonb
language sql immutable set search_path = ''
as $$
  select case p_block
    when 'NO_CONSENT' then private.link('CONSENT', p_block, null)
    when 'CLICK_EXPIRED'
      then private.link('CLICK_AGE', p_block, p_clicked_at + private.click_life())
    else private.link('CLICK', p_block, null) end
$$;
create function private.why_cancelled(p_site public.sites, p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.link('CANCELLED', case
      when d.id is null and exists (select from public.offline_conversion_queue q
        where q.sale_id = p_sale.id and q.status = 'PROCESSING') then 'IN_FLIGHT'
      when d.id is null then 'NEVER_SENT'
      when d.kind = 'RETRACT' then 'RETRACTED'
      when r.status = any (private.waiting_states())
        and (p_site.oci_sync_method = 'script' or r.by_hand_reason is not null) then 'BY_HAND'
      when r.status = any (private.open_states()) then 'RETRACTING'
      when r.id is null or r.provider_error_code = 'ADJUSTMENT_EXPIRED'
        then 'TOO_LATE'
      else 'RETRACT_FAILED' end,
    coalesce(case when d.kind = 'RETRACT' then d.dispatched_at end, p_sale.updated_at),
    jsonb_strip_nulls(jsonb_build_object('retractionId', r.id,
      'retractionCode', r.provider_error_code)))
  from (select 1) one
    left join private.standing_dispatches d
      on d.sale_id = p_sale.id and d.provider_key = 'google_ads'
    left join lateral (
      select q.* from public.offline_conversion_queue q
      where q.sale_id = p_sale.id and q.kind = 'RETRACT'
      order by q.created_at desc, q.id desc limit 1) r on true
$$;
create function private.why_sent(p_sent public.provider_dispatches) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sent.verdict = 'CONFIRMED' then private.link('COUNTED', null, p_sent.verdict_at)
    when p_sent.verdict = 'DUPLICATE' then private.link('DUPLICATE', null, p_sent.verdict_at)
    when p_sent.verdict = 'UNKNOWN'
      then private.link('UNKNOWN', p_sent.verdict_reason, p_sent.verdict_at)
    when p_sent.transport = 'data_manager' then private.link('VERDICT', 'NO_VERDICT_YET',
      private.next_verdict_check(p_sent))
    else private.link('NO_VERDICT', p_sent.transport, p_sent.dispatched_at) end
$$;

-- 16_reports/why_waiting.sql
create function private.why_failed(
  p_site public.sites, p_sale public.sales, p_row public.offline_conversion_queue
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_row.provider_error_code in ('CLICK_EXPIRED', 'NO_CONSENT')
      then private.why_blocked(p_row.provider_error_code, p_sale.clicked_at)
    when p_row.provider_error_category = 'AUTH' and h.blocked_at is not null
      then private.link('BLOCKED', h.blocked_code, h.blocked_at)
    -- MAX_ATTEMPTS says little; the error of the last attempt says more.
    else private.link('FAILED', coalesce(case when p_row.provider_error_code = 'MAX_ATTEMPTS'
      then p_row.attempt_error_code end, p_row.provider_error_code), p_row.updated_at) end
  from (select 1) one left join public.provider_health_state h
    on h.site_id = p_site.id and h.provider_key = p_row.provider_key
      and p_site.oci_sync_method = 'api'
$$;
create function private.why_waiting(
  p_site public.sites, p_sale public.sales, p_row public.offline_conversion_queue
) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_held record;
begin
  select h.by_sale_id, h.by_row_id into v_held from private.held_sales h
    where h.sale_id = p_sale.id and h.provider_key = p_row.provider_key
    order by h.by_row_id desc limit 1;
  return case
    when p_site.archived_at is not null and p_row.click_expires_at > v_now
      then private.link('ARCHIVED', null, p_site.archived_at)
    when v_held.by_row_id is not null then private.link('HELD', 'RETRACTION', null,
      jsonb_build_object('heldBy',
        jsonb_build_object('saleId', v_held.by_sale_id, 'rowId', v_held.by_row_id)))
    when p_row.click_expires_at <= v_now
      then private.why_blocked('CLICK_EXPIRED', p_sale.clicked_at)
    when private.is_paused(p_site) and p_site.paused_until > p_row.not_before
      then private.link('WAITS', 'SENDING_PAUSED',
        greatest(p_site.paused_until, p_row.next_retry_at))
    when p_row.not_before > v_now then private.link('WAITS', case
      when p_sale.clicked_at + make_interval(hours => p_site.click_min_age_hours)
        >= p_row.not_before then 'CLICK_TOO_YOUNG'
      when exists (select from public.provider_dispatches d
        where d.sale_id = p_sale.id and d.verdict = 'REJECTED') then 'GOOGLE_ASKED'
      else 'UNDO_WINDOW' end, p_row.not_before)
    when p_site.oci_sync_method = 'script' then
      coalesce(private.why_again(p_row), private.link('WAITS', 'SCRIPT_RUN', p_row.not_before))
    else coalesce(private.why_no_way(p_site, p_row), private.why_again(p_row),
      private.link('WAITS', 'DUE', p_row.not_before)) end;
end
$$;
create function private.why_no_way(
  p_site public.sites, p_row public.offline_conversion_queue
) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when c.site_id is null then private.link('CONNECTION', 'NOT_CONNECTED', null)
    when h.blocked_at is not null then private.link('BLOCKED', h.blocked_code, h.blocked_at)
    when a.code is not null then private.link('ACTION', a.code, a.at)
    when h.quota_until > private.current_moment() then private.link('WAITS', 'QUOTA',
      greatest(h.quota_until, p_row.next_retry_at))
    when h.state <> 'CLOSED' then private.link('CIRCUIT', h.state, h.next_probe_at) end
  from private.action_obstacle(p_row) a
    left join public.provider_credentials c
      on c.site_id = p_site.id and c.provider_key = p_row.provider_key
    left join public.provider_health_state h
      on h.site_id = p_site.id and h.provider_key = p_row.provider_key
$$;
create function private.why_again(p_row public.offline_conversion_queue) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_row.status <> 'RETRY' then null
    -- Nothing is sent until somebody fixes this, so it comes before the last attempt's error.
    when p_row.provider_error_code in
        ('VAULT_KEY_MISSING', 'VAULT_KEY_MISMATCH', 'CREDENTIALS_UNREADABLE')
      then private.link('WAITS', p_row.provider_error_code, p_row.next_retry_at)
    when p_row.attempt_error is not null or p_row.attempt_error_code is not null
      then private.link('RETRIES', p_row.attempt_error_code, p_row.next_retry_at)
    when p_row.provider_error_code is not null
      then private.link('WAITS', p_row.provider_error_code, p_row.next_retry_at) end
$$;

-- 17_acts/key_acts.sql
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

-- 17_acts/note_act.sql
create function private.owner_contracts() returns text[]
language sql immutable parallel safe set search_path = ''
as $$ select array['key', 'member', 'invitation', 'secret', 'plan', 'site', 'actions'] $$;
create function private.note_act(p_site_id uuid, p_act jsonb) returns void
language sql security definer set search_path = ''
as $$
  select private.prove(p_site_id, private.connecting_actor(),
    p_act || jsonb_build_object('contractVersion', (p_act ->> 'contract') || '/1'))
$$;
create function private.site_entity(p_site_id uuid) returns uuid
language sql stable security definer set search_path = ''
as $$ select s.public_id::uuid from public.sites s where s.id = p_site_id $$;
create function private.changed_fields(p_before jsonb, p_after jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  with fields as (
    select side, case when jsonb_typeof(e.value) = 'object' then e.key || '.' || i.key
        else e.key end as field,
      case when jsonb_typeof(e.value) = 'object' then i.value else e.value end as value
    from (values ('before', p_before), ('after', p_after)) v (side, row)
      cross join jsonb_each(v.row) e
      left join lateral jsonb_each(
        case when jsonb_typeof(e.value) = 'object' then e.value else '{}' end) i on true)
  select coalesce(jsonb_object_agg(d.field, jsonb_build_array(d.before, d.after)), '{}')
  from (
    select f.field, min(f.value::text) filter (where f.side = 'before')::jsonb as before,
      min(f.value::text) filter (where f.side = 'after')::jsonb as after
    from fields f where f.field is not null and f.value <> 'null' group by f.field) d
  where d.before is distinct from d.after
$$;
create function private.is_new_site(p_site_id uuid, p_at timestamptz) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.sites s
    where s.id = p_site_id and s.created_at = p_at and s.created_by = auth.uid())
$$;

-- 17_acts/people_acts.sql
create function private.note_member_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_user uuid := case tg_op when 'DELETE' then old.user_id else new.user_id end;
  v_site uuid := case tg_op when 'DELETE' then old.site_id else new.site_id end;
  v_from text := case when tg_op <> 'INSERT' then old.role::text end;
  v_to text := case
    when tg_op <> 'DELETE' then new.role::text
    when old.user_id = auth.uid() then 'left'
    else 'removed' end;
begin
  if v_from = v_to then
    return null;
  end if;
  if tg_op = 'INSERT' and v_to = 'owner' and private.is_new_site(v_site, new.created_at) then
    return null;
  end if;
  perform private.note_act(v_site, jsonb_build_object(
    'contract', 'member',
    'entityId', v_user,
    'from', v_from,
    'to', v_to,
    'note', private.actor_email(v_user, private.current_moment())));
  return null;
end
$$;
create function private.note_invitation_act() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_invitation public.site_invitations := case tg_op when 'DELETE' then old else new end;
  v_is_invited boolean := exists (
    select from auth.users u
    where u.id = auth.uid() and u.email_confirmed_at is not null
      and lower(u.email) = v_invitation.email);
begin
  if tg_op = 'DELETE' and v_is_invited and exists (
      select from public.site_members m
      where m.site_id = old.site_id and m.user_id = auth.uid()
        and m.created_at = private.current_moment()) then
    return null;
  end if;
  perform private.note_act(v_invitation.site_id, jsonb_build_object(
    'contract', 'invitation',
    'entityId', v_invitation.id,
    'from', case when tg_op <> 'INSERT' then 'invited' end,
    'to', case
      when tg_op <> 'DELETE' then 'invited'
      when v_is_invited then 'declined'
      when auth.uid() is null then 'expired'
      else 'withdrawn' end,
    'facts', jsonb_build_object('role', v_invitation.role),
    'note', v_invitation.email));
  return null;
end
$$;

-- 17_acts/person_addresses.sql
create table private.person_addresses (
  user_id uuid not null,
  since timestamptz not null,
  email text not null,
  primary key (user_id, since)
);
create function private.keep_address() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if new.email is not null then
    insert into private.person_addresses (user_id, since, email)
      values (new.id, private.current_moment(), new.email)
      on conflict (user_id, since) do update set email = excluded.email;
  end if;
  return null;
end
$$;
create function private.actor_email(p_user_id uuid, p_at timestamptz) returns text
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    (select a.email from private.person_addresses a
     where a.user_id = p_user_id and a.since <= p_at order by a.since desc limit 1),
    (select a.email from private.person_addresses a
     where a.user_id = p_user_id order by a.since limit 1))
$$;
create function private.actor_as_of(p_kind text, p_id uuid, p_at timestamptz) returns text
language sql stable security definer set search_path = ''
as $$
  select case p_kind
    when 'user' then private.actor_email(p_id, p_at)
    when 'api_key' then (select k.name from public.site_api_keys k where k.id = p_id) end
$$;

-- 17_acts/site_acts.sql
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

-- 18_privacy/find_person.sql
create type private.person as (
  site_id uuid,
  visitors text[],
  call_ids uuid[],
  sale_ids uuid[],
  stamps text[],
  clicks text[],
  asked_clicks text[],
  caller_hashes text[],
  phone_hashes text[],
  email_hashes text[],
  phone text,
  email text
);

-- 18_privacy/erase_found.sql
create function private.erase_found(p_site public.sites, p private.person) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.mark_erased(p_site.id, 'visitor', p.visitors);
  perform private.mark_erased(p_site.id, 'stamp', p.stamps);
  perform private.mark_erased(p_site.id, 'click', p.clicks);
  perform private.erase_leads(p_site, p);
  delete from private.proof_notes n where n.proof_id in (select private.notes_of(p));
  update public.queue_actions a set reason = null
    where a.site_id = p_site.id and private.mentions(p, a.reason);
  update public.queue_actions a set filter = '{}'
    where a.site_id = p_site.id and private.names_person(p, a.filter::text);
  delete from public.queue_action_previews v
    where v.site_id = p_site.id and private.names_person(p, v.filter::text);
  perform private.erase_visits(p.visitors, private.sessions_of(p), p_site.id);
  delete from private.held_reports h where h.site_id = p_site.id
    and h.intent_stamp in (select private.held_of(p_site, p));
  perform private.empty_captured(array(select private.captured_of(p_site, p)));
  perform private.clean_errors(p);
end
$$;
create function private.erase_leads(p_site public.sites, p private.person) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        click_is_signed = false, phone = null, caller_hash = null, caller_key_id = null,
        contact_name = null, page_url = null,
        visitor_id = private.erased_name(coalesce(c.session_id, c.id)), updated_at = v_now
    where c.id = any (p.call_ids);
  perform from public.sales s where s.id = any (p.sale_ids) order by s.id for update;
  perform private.silence_calls(p.call_ids);
  perform private.silence_sales(array(
    select s.id from public.sales s where s.id = any (p.sale_ids)
      and not coalesce(s.call_id = any (p.call_ids), false)
      and not coalesce(s.sibling_call_id = any (p.call_ids), false)));
  -- The hash over what a till sent could be tested for a number.
  update public.sales s set note = null, external_hash = null, updated_at = v_now
    where s.id = any (p.sale_ids);
  update public.sales s set note = null, updated_at = v_now
    where s.site_id = p_site.id and s.note is not null and private.mentions(p, s.note);
end
$$;
create function private.erased_name(p_id uuid) returns text
language sql immutable set search_path = ''
as $$ select 'erased-' || p_id $$;
create function private.erase_visits(p_visitors text[], p_session_ids uuid[], p_site_id uuid)
returns void
language plpgsql security definer set search_path = ''
as $$
begin
  delete from private.events e where e.session_id = any (p_session_ids);
  delete from public.sessions s where s.id = any (p_session_ids)
    and not exists (select from public.calls c where c.session_id = s.id);
  perform private.empty_visits(p_session_ids);
  delete from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = any (p_visitors);
  delete from private.click_sightings c
    where c.site_id = p_site_id and c.visitor_id = any (p_visitors);
end
$$;
create function private.empty_visits(p_session_ids uuid[]) returns void
language sql security definer set search_path = ''
as $$
  update public.sessions s
    set visitor_id = private.erased_name(s.id), landing_url = null, referrer = null,
        device = null, country = null, city = null, utm = '{}', gclid = null, wbraid = null,
        gbraid = null, clicked_at = null, marketing_consent = false
    where s.id = any (p_session_ids)
$$;
create function private.empty_captured(p_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
begin
  perform from public.ingest_fallback_buffer b where b.id = any (p_ids) order by b.id for update;
  insert into public.site_usage_monthly as u (site_id, year_month, event_count, updated_at)
    select b.site_id, private.billing_month(b.created_at), count(*), v_now
    from public.ingest_fallback_buffer b where b.id = any (p_ids) and not b.counted
    group by 1, 2 order by 1, 2
    on conflict (site_id, year_month) do update
      set event_count = u.event_count + excluded.event_count, updated_at = excluded.updated_at;
  update public.ingest_fallback_buffer b
    set status = 'RECOVERED', claim_token = null, claimed_at = null, counted = true,
        last_error = null, payload = '{}', updated_at = v_now
    where b.id = any (p_ids);
end
$$;
create function private.without_ids(p_text text, p_ids text[]) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_id text;
begin
  foreach v_id in array p_ids loop
    p_text := replace(p_text, v_id, '…');
  end loop;
  return p_text;
end
$$;
create function private.plain_ids(p private.person) returns text[]
language sql immutable set search_path = ''
as $$
  select array(
    select i from unnest(p.clicks || p.visitors || p.phone_hashes || p.email_hashes) i
    where i ~ '^[A-Za-z0-9_.-]{12,}$')
$$;
create function private.names_person(p private.person, p_text text) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(private.mentions(p, p_text)
    or p_text <> private.without_ids(p_text, private.plain_ids(p)), false)
$$;
create function private.clean_errors(p private.person) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids text[] := private.plain_ids(p);
begin
  update public.offline_conversion_queue q
    set last_error = private.without_ids(q.last_error, v_ids),
        attempt_error = private.without_ids(q.attempt_error, v_ids)
    where q.sale_id = any (p.sale_ids)
      and concat(q.last_error, q.attempt_error)
        <> private.without_ids(concat(q.last_error, q.attempt_error), v_ids);
  update private.queue_action_rows r
    set before = private.without_ids(r.before::text, v_ids)::jsonb,
        after = private.without_ids(r.after::text, v_ids)::jsonb
    where r.queue_id in (
        select q.id from public.offline_conversion_queue q where q.sale_id = any (p.sale_ids))
      and concat(r.before, r.after) <> private.without_ids(concat(r.before, r.after), v_ids);
  update public.marketing_signals g set last_error = private.without_ids(g.last_error, v_ids)
    where g.call_id = any (p.call_ids)
      and g.last_error <> private.without_ids(g.last_error, v_ids);
end
$$;

-- 18_privacy/erase_person.sql
create function public.erase_person(
  p_public_id text, p_person jsonb, p_receipt_id uuid default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.erase_step(v_site, private.user_actor(), p_person, p_receipt_id);
end
$$;
create function private.erase_step(
  p_site public.sites, p_actor private.actor, p_asked jsonb, p_receipt_id uuid
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_limit constant int := 200;
  v_seen private.person := private.find_person(p_site, p_asked, v_limit);
  v_person private.person;
  v_receipt public.erasure_receipts :=
    private.open_receipt(p_site.id, p_actor, p_asked ->> 'kind', p_receipt_id);
  v_counts jsonb;
begin
  -- A robot's visit can have any number of events. They go first: nothing else refers to them.
  with gone as (
    delete from private.events e using (
      select x.received_at, x.id from private.events x
      where x.session_id = any (private.sessions_of(v_seen)) limit 5000) t
    where e.received_at = t.received_at and e.id = t.id
    returning 1)
  select jsonb_build_object('events', count(*)) into v_counts from gone;
  if (v_counts ->> 'events')::int < 5000 then
    -- As store_events locks: visitors by their hash, then calls by their id. A telephone system's
    -- report is stored under its stamp.
    perform pg_catalog.pg_advisory_xact_lock(t.visitor) from (
      select distinct hashtextextended(p_site.id || '/' || v, 0) as visitor
      from unnest(v_seen.visitors || v_seen.stamps) v order by 1) t;
    perform private.lock_calls(v_seen.call_ids);
    v_person := private.find_person(p_site, p_asked, v_limit);
  end if;
  -- Somebody stored more of this person before we had the locks: the next step takes them all.
  if v_person.site_id is null or not (v_person.visitors <@ v_seen.visitors
      and v_person.stamps <@ v_seen.stamps and v_person.call_ids <@ v_seen.call_ids) then
    update public.erasure_receipts r set counts = private.add_counts(r.counts, v_counts)
      where r.id = v_receipt.id;
    return jsonb_build_object(
      'isDone', false, 'receiptId', v_receipt.id, 'visitors', to_jsonb(v_seen.visitors));
  end if;
  select private.add_counts(v_counts, jsonb_object_agg(k.kind, k.rows)) into v_counts
    from private.person_kinds(p_site, v_person) k;
  perform private.erase_found(p_site, v_person);
  update public.erasure_receipts r set counts = private.add_counts(r.counts, v_counts)
    where r.id = v_receipt.id returning * into v_receipt;
  if cardinality(v_person.call_ids) >= v_limit then
    return jsonb_build_object(
      'isDone', false, 'receiptId', v_receipt.id, 'visitors', to_jsonb(v_person.visitors));
  end if;
  return jsonb_build_object(
    'isDone', true, 'receiptId', v_receipt.id, 'visitors', to_jsonb(v_person.visitors),
    'receipt', private.finish_receipt(p_site, p_actor, p_asked, v_receipt));
end
$$;

-- 18_privacy/erasure_receipts.sql
create table public.erasure_receipts (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  asked_by text not null,
  identifier_hash text,
  actor_kind text not null,
  actor_id uuid,
  counts jsonb not null default '{}',
  proof_id uuid,
  started_at timestamptz not null,
  finished_at timestamptz,
  constraint asked_by_is_known check (asked_by in ('phone', 'email', 'click', 'visitor')),
  constraint identifier_hash_is_sha_256 check (identifier_hash ~ '^[0-9a-f]{64}$'),
  constraint erasure_actor_is_known check (actor_kind in ('user', 'system')),
  constraint finished_erasures_are_proven check (
    (finished_at is null) = (proof_id is null) and (proof_id is null) = (identifier_hash is null))
);

-- 18_privacy/erase_person.sql
create function private.finish_receipt(
  p_site public.sites, p_actor private.actor, p_asked jsonb, p_receipt public.erasure_receipts
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_salt text := encode(extensions.gen_random_bytes(16), 'hex');
  v_asked private.person := private.asked_person(p_site, p_asked);
  v_hash text := private.sha256_hex(v_salt || ':'
    || coalesce(v_asked.phone, v_asked.email, v_asked.clicks[1], v_asked.visitors[1]));
  v_counts jsonb := private.add_counts(p_receipt.counts, jsonb_build_object(
    'pageViews', least(greatest(coalesce((p_asked ->> 'pageViews')::int, 0), 0), 1000000)));
  v_receipt public.erasure_receipts;
begin
  update public.erasure_receipts r
    set counts = v_counts, identifier_hash = v_hash, finished_at = private.current_moment(),
        proof_id = private.prove(p_site.id, p_actor, jsonb_build_object(
          'contract', 'privacy',
          'contractVersion', 'privacy/1',
          'entityId', p_receipt.id,
          'to', 'erased',
          'facts', jsonb_build_object(
            'askedBy', p_receipt.asked_by, 'identifierHash', v_hash, 'counts', v_counts)))
    where r.id = p_receipt.id returning * into v_receipt;
  return private.receipt_json(v_receipt) || jsonb_build_object('salt', v_salt);
end
$$;

-- 18_privacy/erased_marks.sql
create table private.erased_marks (
  site_id uuid not null,
  mark bytea not null,
  erased_at timestamptz not null,
  primary key (site_id, mark),
  constraint mark_is_sha_256 check (octet_length(mark) = 32)
);
create function private.mark_of(p_site_id uuid, p_kind text, p_id text) returns bytea
language sql stable
as $$
  select pg_catalog.sha256(
    pg_catalog.convert_to(p_site_id::text || '/' || p_kind || '/' || p_id, 'UTF8'))
$$;
create function private.is_forgotten(p_site_id uuid, p_at timestamptz, p_event jsonb)
returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from private.erased_marks m
    where m.site_id = p_site_id
      and (m.mark = private.mark_of(p_site_id, 'stamp', p_event ->> 'intentStamp')
        or (m.mark = private.mark_of(p_site_id, 'visitor', p_event ->> 'visitor')
          and p_at <= m.erased_at)))
$$;
create function private.sites_with_erasures(p_rows jsonb) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select distinct b.site_id from public.ingest_fallback_buffer b
    where b.id in (select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r)
      and exists (select from private.erased_marks m where m.site_id = b.site_id))
$$;
create function private.mark_erased(p_site_id uuid, p_kind text, p_ids text[]) returns void
language sql security definer set search_path = ''
as $$
  insert into private.erased_marks (site_id, mark, erased_at)
    select p_site_id, m.mark, private.current_moment()
    from (
      select distinct private.mark_of(p_site_id, p_kind, i) as mark from unnest(p_ids) i
      where i is not null) m
    order by m.mark
    on conflict (site_id, mark) do update set erased_at = excluded.erased_at
$$;

-- 18_privacy/erasure_receipts.sql
create function private.open_receipt(
  p_site_id uuid, p_actor private.actor, p_asked_by text, p_id uuid
) returns public.erasure_receipts
language plpgsql security definer set search_path = ''
as $$
declare
  v_receipt public.erasure_receipts;
begin
  if p_id is null then
    insert into public.erasure_receipts (site_id, asked_by, actor_kind, actor_id, started_at)
      values (p_site_id, p_asked_by, p_actor.kind, p_actor.id, private.current_moment())
      returning * into v_receipt;
    return v_receipt;
  end if;
  select r.* into v_receipt from public.erasure_receipts r
    where r.id = p_id and r.site_id = p_site_id and r.asked_by = p_asked_by
      and r.finished_at is null
      and (r.actor_kind, r.actor_id) is not distinct from (p_actor.kind, p_actor.id)
    for update;
  if v_receipt.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return v_receipt;
end
$$;
create function private.add_counts(p_one jsonb, p_other jsonb) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_object_agg(t.kind, t.rows), '{}') from (
    select e.key as kind, sum(e.value::bigint) as rows
    from (select * from jsonb_each_text(p_one) union all select * from jsonb_each_text(p_other)) e
    group by e.key) t
$$;
create function private.receipt_json(p_receipt public.erasure_receipts) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_receipt.id,
    'askedBy', p_receipt.asked_by,
    'identifierHash', p_receipt.identifier_hash,
    'actor', private.actor_json(
      p_receipt.actor_kind, p_receipt.actor_id, p_receipt.started_at),
    'counts', p_receipt.counts,
    'proofId', p_receipt.proof_id,
    'startedAt', p_receipt.started_at,
    'finishedAt', p_receipt.finished_at)
$$;
create function public.list_erasures(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return (
    select coalesce(jsonb_agg(private.receipt_json(t) order by t.started_at desc, t.id), '[]')
    from (
      select * from public.erasure_receipts r
      where r.site_id = v_site.id order by r.started_at desc limit 50) t);
end
$$;

-- 18_privacy/export_person.sql
create function public.export_person(p_public_id text, p_person jsonb, p_after text default null)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.export_page(v_site, private.user_actor(), p_person, p_after);
end
$$;
create function private.export_page(
  p_site public.sites, p_actor private.actor, p_asked jsonb, p_after text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_page constant int := 1000;
  v_person private.person := private.find_person(p_site, p_asked, 5000);
  v_at timestamptz := nullif(split_part(p_after, '_', 1), '')::timestamptz;
  v_id uuid := nullif(split_part(p_after, '_', 2), '')::uuid;
  v_events jsonb;
begin
  select coalesce(jsonb_agg(to_jsonb(t) - '{site_id}'::text[] order by t.received_at, t.id), '[]')
    into v_events from (
      select e.* from private.events e
      where e.session_id = any (private.sessions_of(v_person))
        and (v_at is null or (e.received_at, e.id) > (v_at, v_id))
      order by e.received_at, e.id limit v_page) t;
  perform private.prove(p_site.id, p_actor, jsonb_build_object(
    'contract', 'privacy',
    'contractVersion', 'privacy/1',
    'entityId', private.uuid_v7(),
    'to', 'exported',
    'facts', jsonb_build_object('askedBy', p_asked ->> 'kind')));
  return jsonb_build_object(
    'person', case when p_after is null then private.person_json(p_site, v_person) end,
    'events', v_events,
    'next', case when jsonb_array_length(v_events) = v_page
      then (v_events -> -1 ->> 'received_at') || '_' || (v_events -> -1 ->> 'id') end);
end
$$;
create function private.person_json(p_site public.sites, p private.person) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'site', jsonb_build_object('siteId', p_site.public_id, 'name', p_site.name),
    'exportedAt', private.current_moment(),
    'visitorIds', to_jsonb(p.visitors),
    'leads', private.rows_json(array(
      select to_jsonb(c) from public.calls c where c.id = any (p.call_ids) order by c.called_at)),
    'sales', private.rows_json(array(
      select to_jsonb(s) || jsonb_build_object(
        'ledger', private.rows_json(array(
          select to_jsonb(r) - '{actor_kind,actor_id}'::text[] from public.revenue_snapshots r
          where r.sale_id = s.id order by r.sequence)),
        'sent_to_google', private.rows_json(array(
          select to_jsonb(d) from public.provider_dispatches d
          where d.sale_id = s.id order by d.dispatched_at)))
      from public.sales s where s.id = any (p.sale_ids) order by s.occurred_at)),
    'notes', private.rows_json(array(
      select jsonb_build_object('at', t.occurred_at, 'about', t.contract, 'note', n.note)
      from private.proof_notes n join public.transition_proofs t on t.id = n.proof_id
      where n.proof_id in (select private.notes_of(p)) order by t.occurred_at)),
    'signals', private.rows_json(array(
      select to_jsonb(g) - '{claim_token,last_claim}'::text[] from public.marketing_signals g
      where g.call_id = any (p.call_ids) order by g.occurred_at)),
    'identifiersHandedOut', private.rows_json(array(
      select to_jsonb(i) - 'salt' from public.dispatch_identifiers i
        join public.offline_conversion_queue q on q.id = i.queue_id
      where q.sale_id = any (p.sale_ids) and q.attempt_count > 0 order by i.handed_at)),
    'visits', private.rows_json(array(
      select to_jsonb(s) from public.sessions s
      where s.site_id = p_site.id and s.visitor_id = any (p.visitors) order by s.started_at)),
    'choices', private.rows_json(array(
      select to_jsonb(c) - 'id' from public.consent_choices c
      where c.site_id = p_site.id and c.visitor_id = any (p.visitors) order by c.chosen_at)),
    'clicksFirstSeen', private.rows_json(array(
      select to_jsonb(c) from private.click_sightings c
      where c.site_id = p_site.id and c.visitor_id = any (p.visitors)
      order by c.first_seen_at)),
    'captured', private.rows_json(array(
      select jsonb_build_object('receivedAt', b.created_at, 'payload', b.payload)
      from public.ingest_fallback_buffer b
      where b.id in (select private.captured_of(p_site, p)) order by b.created_at)),
    'heldReports', private.rows_json(array(
      select to_jsonb(h) from private.held_reports h
      where h.site_id = p_site.id and h.intent_stamp in (select private.held_of(p_site, p)))))
$$;
create function private.rows_json(p_rows jsonb[]) returns jsonb
language sql immutable set search_path = ''
as $$
  select coalesce(jsonb_agg(r - 'site_id' order by place), '[]')
  from unnest(p_rows) with ordinality t (r, place)
$$;

-- 18_privacy/find_person.sql
create function private.caller_hashes_of(p_phone_hashes text[], p_asked jsonb) returns text[]
language sql immutable set search_path = ''
as $$
  select p_phone_hashes || array(
    select jsonb_array_elements_text(coalesce(p_asked -> 'callerHashes', '[]')))
$$;
create function private.email_hashes_of(p_email text) returns text[]
language sql immutable set search_path = ''
as $$
  select array(
    select distinct private.sha256_hex(t.address) from (
      select e.address from (select lower(btrim(p_email)) as address) e
      union all
      select replace(split_part(split_part(lower(btrim(p_email)), '@', 1), '+', 1), '.', '')
        || '@' || split_part(lower(btrim(p_email)), '@', 2)
      where lower(btrim(p_email)) ~ '@(gmail|googlemail)\.com$') t)
$$;
create function private.joined(p_one text[], p_other text[]) returns text[]
language sql immutable set search_path = ''
as $$
  select array(
    select distinct t from unnest(coalesce(p_one, '{}') || coalesce(p_other, '{}')) t
    where t is not null and t not like 'erased-%' order by t)
$$;
create function private.loose_number(p_site public.sites, p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select right(t.digits, 9)
  from (select ltrim(regexp_replace(p_phone, '\D', '', 'g'), '0') as digits) t
  where char_length(t.digits) >= case when private.calling_code(p_site) is null then 7 else 9 end
$$;
create function private.end_alike(p_one text, p_other text) returns boolean
language sql immutable set search_path = ''
as $$ select right(p_one, char_length(p_other)) = right(p_other, char_length(p_one)) $$;
create function private.asked_person(p_site public.sites, p_asked jsonb) returns private.person
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_value text := btrim(p_asked ->> 'value');
  v private.person;
begin
  v.site_id := p_site.id;
  v.visitors := '{}'; v.call_ids := '{}'; v.sale_ids := '{}'; v.stamps := '{}'; v.clicks := '{}';
  v.asked_clicks := '{}';
  v.caller_hashes := '{}'; v.phone_hashes := '{}'; v.email_hashes := '{}';
  case p_asked ->> 'kind'
    when 'phone' then
      v.phone := coalesce(private.e164(p_site, v_value), private.loose_number(p_site, v_value));
      v.phone_hashes := private.joined(
        array[private.phone_hash(private.e164(p_site, v_value))], null);
      v.caller_hashes := private.caller_hashes_of(v.phone_hashes, p_asked);
    when 'email' then
      v.email := lower(v_value);
      v.email_hashes := private.email_hashes_of(v_value);
    when 'click' then
      v.clicks := private.joined(array[v_value], null);
      v.asked_clicks := v.clicks;
    when 'visitor' then v.visitors := private.joined(array[v_value], null);
    else null;
  end case;
  if v_value is null or char_length(v_value) not between 3 and 512
      or (p_asked ->> 'kind' = 'email' and v_value !~ '^[^@\s]+@[^@\s]+$')
      or (cardinality(v.visitors || v.clicks || v.email_hashes) = 0 and v.phone is null) then
    perform private.refuse_setting('value');
  end if;
  return v;
end
$$;
create function private.visitors_captured(
  p_site public.sites, p_phone_hashes text[], p_clicks text[], p_loose text
) returns text[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select b.payload ->> 'visitor' from public.ingest_fallback_buffer b
    where b.site_id = p_site.id and b.status <> 'RECOVERED'
      and (array[b.payload ->> 'gclid', b.payload ->> 'wbraid', b.payload ->> 'gbraid'] && p_clicks
        or (b.payload ->> 'phone' is not null and private.phone_hash(
          private.e164(p_site, b.payload ->> 'phone')) = any (p_phone_hashes))
        or (private.e164(p_site, b.payload ->> 'phone') is null
          and private.end_alike(private.loose_number(p_site, b.payload ->> 'phone'), p_loose))))
$$;
create function private.is_switchboard(p_site_id uuid, p_caller_hashes text[]) returns boolean
language sql stable security definer set search_path = ''
as $$
  select count(*) > 20 from (
    select from public.calls c
    where c.site_id = p_site_id and c.caller_hash = any (p_caller_hashes) limit 21) t
$$;
create function private.find_person(p_site public.sites, p_asked jsonb, p_limit int)
returns private.person
language plpgsql stable security definer set search_path = ''
as $$
declare
  v private.person := private.asked_person(p_site, p_asked);
  v_asked_hashes text[] := v.caller_hashes;
  v_loose text[] := private.joined(array[private.loose_number(p_site, v.phone)], null);
  v_size int := -1;
begin
  v.caller_hashes := private.joined(v.caller_hashes, array(
    select h from jsonb_array_elements_text(coalesce(p_asked -> 'foundHashes', '[]')) h
    where not private.is_switchboard(p_site.id, array[h])));
  v.visitors := private.joined(v.visitors,
    private.visitors_captured(p_site, v.phone_hashes, v.clicks, v_loose[1]));
  if cardinality(v.clicks) > 0 then
    v.visitors := private.joined(v.visitors, array(
      select s.visitor_id from private.click_sightings s
      where s.site_id = p_site.id and s.click_hash in (
        select h from unnest(v.clicks) c cross join private.click_hashes(c, c, c) h)));
    v.call_ids := array(
      select c.id from public.calls c where c.site_id = p_site.id and c.gclid = any (v.clicks)
      union select c.id from public.calls c
        where c.site_id = p_site.id and c.wbraid = any (v.clicks)
      union select c.id from public.calls c
        where c.site_id = p_site.id and c.gbraid = any (v.clicks));
  end if;
  loop
    v.call_ids := array(
      select unnest(v.call_ids)
      union
      select c.id from public.calls c
        where c.site_id = p_site.id and c.visitor_id = any (v.visitors)
      union
      (select c.id from public.calls c
        where c.site_id = p_site.id and c.caller_hash = any (v_asked_hashes)
        order by c.called_at limit p_limit)
      union
      select c.id from public.calls c
        where c.site_id = p_site.id and c.caller_hash = any (v.caller_hashes)
          and c.caller_hash <> all (v_asked_hashes)
      union   -- not read in full, it has no hash; typed, one that nobody checked
      select c.id from public.calls c
          cross join lateral private.loose_number(p_site, c.phone) l
          join unnest(v_loose) n on private.end_alike(l, n)
        where c.site_id = p_site.id and c.phone is not null
          and (c.caller_hash is null or v.phone not like '+%'
            or (c.phone = v.phone and c.caller_hash <> all (v_asked_hashes)))
      union
      select s.call_id from public.sales s
        where s.id = any (v.sale_ids) and s.call_id is not null);
    v_loose := private.joined(v_loose, array(
      select t.number from (
        select private.loose_number(p_site, c.phone) as number from public.calls c
        where c.id = any (v.call_ids) and c.caller_hash is null) t
      where 20 >= (   -- as is_switchboard
        select count(*) from public.calls c
        where c.site_id = p_site.id and c.phone is not null and c.caller_hash is null
          and private.loose_number(p_site, c.phone) = t.number)));
    select private.joined(v.visitors, array_agg(c.visitor_id)),
        private.joined(v.stamps, array_agg(c.intent_stamp)),
        private.joined(v.caller_hashes, array_agg(c.caller_hash) filter (where t.is_own)),
        private.joined(v.phone_hashes,
          array_agg(private.phone_hash(private.e164(p_site, c.phone))) filter (where t.is_own)),
        private.joined(v.clicks, array_agg(c.gclid) || array_agg(c.wbraid) || array_agg(c.gbraid))
      into v.visitors, v.stamps, v.caller_hashes, v.phone_hashes, v.clicks
      from public.calls c
        cross join lateral (select c.caller_hash = any (v_asked_hashes)
          or not private.is_switchboard(p_site.id, array[c.caller_hash]) as is_own) t
      where c.id = any (v.call_ids);
    select private.joined(v.clicks,
        array_agg(s.gclid) || array_agg(s.wbraid) || array_agg(s.gbraid))
      into v.clicks from public.sessions s
      where s.site_id = p_site.id and s.visitor_id = any (v.visitors) and s.clicked_at is not null;
    v.sale_ids := array(
      select s.id from public.sales s where s.call_id = any (v.call_ids)
      union select s.id from public.sales s where s.sibling_call_id = any (v.call_ids)
      union select s.id from public.sales s
        where s.site_id = p_site.id and (s.customer_hash = any (v.phone_hashes)
          or s.caller_hash = any (v.caller_hashes) or s.email_hash = any (v.email_hashes)
          -- A link with a click is passed on: a call of somebody else is not this person's.
          or (array[s.gclid, s.wbraid, s.gbraid] && v.clicks and (s.call_id is null
            or s.call_id = any (v.call_ids)
            or array[s.gclid, s.wbraid, s.gbraid] && v.asked_clicks))));
    select private.joined(v.email_hashes, array_agg(s.email_hash)),
        private.joined(v.clicks, array_agg(s.gclid) || array_agg(s.wbraid) || array_agg(s.gbraid)),
        private.joined(v.phone_hashes, array_agg(s.customer_hash) filter (where
          not private.is_switchboard(p_site.id, array[s.caller_hash]))),
        private.joined(v.caller_hashes, array_agg(s.caller_hash) filter (where
          not private.is_switchboard(p_site.id, array[s.caller_hash])))
      into v.email_hashes, v.clicks, v.phone_hashes, v.caller_hashes
      from public.sales s where s.id = any (v.sale_ids);
    v.caller_hashes := private.joined(v.caller_hashes,
      private.caller_hashes_of(v.phone_hashes, null));
    exit when cardinality(v.call_ids) + cardinality(v.sale_ids) + cardinality(v.visitors) = v_size;
    v_size := cardinality(v.call_ids) + cardinality(v.sale_ids) + cardinality(v.visitors);
  end loop;
  v.stamps := private.joined(v.stamps, array(select private.held_of(p_site, v)));
  return v;
end
$$;
create function private.mentions(p_person private.person, p_text text) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(strpos(lower(p_text), p_person.email) > 0, false)
    or coalesce(strpos(regexp_replace(p_text, '\D', '', 'g'), right(p_person.phone, 9)) > 0, false)
$$;

-- 18_privacy/forget_old_leads.sql
create function private.cleared_until(p_site_id uuid, p_kind text) returns timestamptz
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select t.cleared_until from private.retention_progress t
    where t.site_id = p_site_id and t.kind = p_kind), '-infinity')
$$;
create function private.forget_old_calls(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[];
  v_until timestamptz;
  v_visitors text[];
  v_sessions uuid[];
begin
  select array_agg(t.id), max(t.called_at) into v_ids, v_until from (
    select c.id, c.called_at from public.calls c
    where c.site_id = p_site_id and c.called_at < p_before
      and c.called_at >= private.cleared_until(p_site_id, 'leads')
      and c.visitor_id not like 'erased-%'
    order by c.called_at, c.id limit p_limit) t;
  select array_agg(c.visitor_id), array_agg(c.session_id) into v_visitors, v_sessions
    from public.calls c where c.id = any (v_ids);
  perform private.lock_calls(v_ids);
  update public.calls c
    set marketing_consent = false, gclid = null, wbraid = null, gbraid = null, clicked_at = null,
        click_is_signed = false, phone = null, caller_hash = null, caller_key_id = null,
        contact_name = null, page_url = null,
        visitor_id = private.erased_name(coalesce(c.session_id, c.id)),
        updated_at = private.current_moment()
    where c.id = any (v_ids);
  delete from private.proof_notes n using public.transition_proofs p
    where p.id = n.proof_id and p.entity_id = any (v_ids) and p.contract in ('call', 'lead');
  -- A visit with a lead that is not cleared yet waits for it.
  perform private.empty_visits(array(
    select s.id from public.sessions s where s.id = any (v_sessions)
      and not exists (select from public.calls c
        where c.session_id = s.id and c.visitor_id not like 'erased-%')));
  delete from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and not exists (
      select from public.sessions s where s.site_id = p_site_id and s.visitor_id = c.visitor_id);
  delete from private.click_sightings c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and not exists (
      select from public.sessions s where s.site_id = p_site_id and s.visitor_id = c.visitor_id);
  perform private.note_removed(
    p_site_id, 'leads', coalesce(v_until, p_before), coalesce(cardinality(v_ids), 0));
  return coalesce(cardinality(v_ids), 0);
end
$$;
create function private.forget_old_sales(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[];
  v_until timestamptz;
begin
  select array_agg(t.id), max(t.occurred_at) into v_ids, v_until from (
    select s.id, s.occurred_at from public.sales s
    where s.site_id = p_site_id and s.occurred_at < p_before
      and s.occurred_at >= private.cleared_until(p_site_id, 'sales')
      and num_nonnulls(s.note, s.customer_hash, s.email_hash, s.external_hash, s.caller_hash,
        s.gclid, s.wbraid, s.gbraid) > 0
    order by s.occurred_at, s.id limit p_limit for update) t;
  update public.sales s
    set note = null, customer_hash = null, email_hash = null, external_hash = null,
        caller_hash = null, caller_key_id = null, gclid = null, wbraid = null, gbraid = null,
        clicked_at = null, updated_at = private.current_moment()
    where s.id = any (v_ids);
  perform private.note_removed(
    p_site_id, 'sales', coalesce(v_until, p_before), coalesce(cardinality(v_ids), 0));
  return coalesce(cardinality(v_ids), 0);
end
$$;
create function private.forget_old_notes(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[];
  v_until timestamptz;
begin
  select array_agg(t.id), max(t.occurred_at) into v_ids, v_until from (
    select p.id, p.occurred_at from public.transition_proofs p
      join private.proof_notes n on n.proof_id = p.id
    where p.site_id = p_site_id and p.occurred_at < p_before
      and p.occurred_at >= private.cleared_until(p_site_id, 'notes')
    order by p.occurred_at, p.id limit p_limit) t;
  delete from private.proof_notes n where n.proof_id = any (v_ids);
  perform private.note_removed(
    p_site_id, 'notes', coalesce(v_until, p_before), coalesce(cardinality(v_ids), 0));
  return coalesce(cardinality(v_ids), 0);
end
$$;

-- 18_privacy/person_rows.sql
create function private.notes_of(p_person private.person) returns setof uuid
language sql stable security definer set search_path = ''
as $$
  select n.proof_id from private.proof_notes n
    join public.transition_proofs p on p.id = n.proof_id
  where p.entity_id = any (p_person.call_ids || p_person.sale_ids || array(
    select q.id from public.offline_conversion_queue q where q.sale_id = any (p_person.sale_ids)))
  union
  select n.proof_id from public.transition_proofs p
    join private.proof_notes n on n.proof_id = p.id
  where coalesce(p_person.phone, p_person.email) is not null
    and p.site_id = p_person.site_id and private.mentions(p_person, n.note)
    -- Who was invited, and why a day was credited, is the record of an act, not of a visitor.
    and p.contract <> all (private.owner_contracts() || array['credit'])
$$;
create function private.captured_of(p_site public.sites, p_person private.person)
returns setof uuid
language sql stable security definer set search_path = ''
as $$
  select b.id from public.ingest_fallback_buffer b
  where b.site_id = p_site.id and b.status <> 'RECOVERED'
    and (b.payload ->> 'visitor' = any (p_person.visitors)
      or b.payload ->> 'intentStamp' = any (p_person.stamps)
      or array[b.payload ->> 'gclid', b.payload ->> 'wbraid', b.payload ->> 'gbraid']
        && p_person.asked_clicks
      or (b.payload ->> 'phone' is not null and private.phone_hash(
        private.e164(p_site, b.payload ->> 'phone')) = any (p_person.phone_hashes)))
$$;
create function private.held_of(p_site public.sites, p_person private.person) returns setof text
language sql stable security definer set search_path = ''
as $$
  select h.intent_stamp from private.held_reports h
  where h.site_id = p_site.id
    and (h.intent_stamp = any (p_person.stamps || p_person.visitors)
      or array[h.report ->> 'gclid', h.report ->> 'wbraid', h.report ->> 'gbraid']
        && p_person.asked_clicks
      or private.phone_hash(private.e164(p_site, h.report ->> 'phone'))
        = any (p_person.phone_hashes)
      or (private.e164(p_site, h.report ->> 'phone') is null
        and private.end_alike(private.loose_number(p_site, h.report ->> 'phone'),
          private.loose_number(p_site, p_person.phone))))
$$;
create function private.person_kinds(p_site public.sites, p_person private.person)
returns table (kind text, rows bigint, first_at timestamptz, last_at timestamptz)
language sql stable security definer set search_path = ''
as $$
  select 'leads', count(*), min(c.called_at), max(c.called_at)
    from public.calls c where c.id = any (p_person.call_ids)
  union all
  select 'sales', count(*), min(s.occurred_at), max(s.occurred_at)
    from public.sales s where s.id = any (p_person.sale_ids)
  union all
  select 'visits', count(*), min(s.started_at), max(s.last_seen_at) from public.sessions s
    where s.site_id = p_site.id and s.visitor_id = any (p_person.visitors)
  union all
  select 'events', count(*), min(e.happened_at), max(e.happened_at)
    from private.events e where e.session_id = any (private.sessions_of(p_person))
  union all
  select 'choices', count(*), min(c.chosen_at), max(c.last_said_at)
    from public.consent_choices c
    where c.site_id = p_site.id and c.visitor_id = any (p_person.visitors)
  union all
  select 'notes', count(*), min(t.at), max(t.at) from (
    select p.occurred_at as at from public.transition_proofs p
    where p.id in (select private.notes_of(p_person))
    union all
    select s.updated_at from public.sales s
    where s.site_id = p_site.id and s.note is not null
      and (s.id = any (p_person.sale_ids) or private.mentions(p_person, s.note))) t
  union all
  select 'captured', count(*), min(b.created_at), max(b.created_at)
    from public.ingest_fallback_buffer b
    where b.id in (select private.captured_of(p_site, p_person))
  union all
  select 'held', count(*), min(h.held_until - interval '1 hour'),
      max(h.held_until - interval '1 hour')
    from private.held_reports h
    where h.site_id = p_site.id
      and h.intent_stamp in (select private.held_of(p_site, p_person))
  union all
  select 'identifiers', count(*), min(i.handed_at), max(i.handed_at)
    from public.dispatch_identifiers i
    join public.offline_conversion_queue q on q.id = i.queue_id
    where q.sale_id = any (p_person.sale_ids)
$$;
create function private.sessions_of(p_person private.person) returns uuid[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select s.id from public.sessions s
    where s.site_id = p_person.site_id and s.visitor_id = any (p_person.visitors))
$$;
create function public.preview_erasure(p_public_id text, p_person jsonb) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  return private.preview_person(v_site, p_person);
end
$$;
create function private.preview_person(p_site public.sites, p_asked jsonb) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_person private.person := private.find_person(p_site, p_asked, 5000);
begin
  return jsonb_build_object(
    'kinds', (
      select jsonb_agg(jsonb_build_object(
        'kind', k.kind, 'rows', k.rows, 'firstAt', k.first_at, 'lastAt', k.last_at))
      from private.person_kinds(p_site, v_person) k),
    'visitors', to_jsonb(v_person.visitors),
    'phoneHashes', to_jsonb(v_person.phone_hashes),
    'atGoogle', (
      select count(distinct d.sale_id) from private.standing_dispatches d
      where d.sale_id = any (v_person.sale_ids)),
    'inFlight', (
      select count(*) from public.offline_conversion_queue q
      where q.sale_id = any (v_person.sale_ids) and q.status = 'PROCESSING'));
end
$$;

-- 18_privacy/retention.sql
create table private.retention_progress (
  site_id uuid not null,
  kind text not null,
  cleared_until timestamptz not null,
  removed bigint not null default 0,
  removed_at timestamptz,
  primary key (site_id, kind),
  constraint retention_kind_is_known
    check (kind in ('events', 'visits', 'leads', 'sales', 'notes', 'captured', 'keys'))
);
create table private.site_retention (
  site_id uuid primary key references public.sites (id),
  personal_months int not null,
  changed_at timestamptz not null,
  constraint personal_months_are_bounded check (personal_months between 4 and 120)
);
create function private.whole_installation() returns uuid
language sql immutable parallel safe set search_path = ''
as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$;
create function private.personal_months_of(p_site_id uuid, p_months int) returns int
language sql stable security definer set search_path = ''
as $$
  select least(p_months, (
    select r.personal_months from private.site_retention r where r.site_id = p_site_id))
$$;
create function private.note_removed(
  p_site_id uuid, p_kind text, p_until timestamptz, p_removed bigint
) returns void
language sql security definer set search_path = ''
as $$
  insert into private.retention_progress as t
      (site_id, kind, cleared_until, removed, removed_at)
    values (p_site_id, p_kind, p_until, p_removed,
      case when p_removed > 0 then private.current_moment() end)
    on conflict (site_id, kind) do update
      set cleared_until = greatest(t.cleared_until, excluded.cleared_until),
          removed = case
            when p_removed = 0 then t.removed
            when t.removed_at > private.current_moment() - interval '1 hour'
              then t.removed + p_removed
            else p_removed end,
          removed_at = case
            when p_removed = 0 then t.removed_at else private.current_moment() end
$$;
create function private.reopen_retention(p_site_id uuid, p_kind text, p_at timestamptz)
returns void
language sql security definer set search_path = ''
as $$
  update private.retention_progress t set cleared_until = p_at
    where t.site_id = p_site_id and t.kind = p_kind and t.cleared_until > p_at
$$;
create function private.drop_old_events(p_before timestamptz) returns jsonb
language plpgsql security definer set search_path = '' set lock_timeout = '500ms'
as $$
declare
  v_name text;
  v_dropped text[] := '{}';
  v_rows bigint;
  v_removed bigint := 0;
  v_busy boolean := false;
begin
  for v_name, v_rows in
    -- An estimate: counting a month would take long.
    select c.relname, greatest(c.reltuples, 1)::bigint from pg_catalog.pg_inherits i
      join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'private.events'::regclass and c.relname ~ '^events_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month'
        <= p_before at time zone 'UTC'
    order by 1
  loop
    begin
      execute format('lock table private.events, private.%I in access exclusive mode', v_name);
      execute format('drop table private.%I', v_name);
      v_dropped := v_dropped || v_name;
      v_removed := v_removed + v_rows;
    exception when lock_not_available then
      v_busy := true;
      exit;
    end;
  end loop;
  delete from private.events_default e using (
    select x.received_at, x.id from private.events_default x
    where x.received_at < p_before order by x.received_at limit 5000) t
    where e.received_at = t.received_at and e.id = t.id;
  get diagnostics v_rows = row_count;
  perform private.note_removed(
    private.whole_installation(), 'events', p_before, v_removed + v_rows);
  return jsonb_build_object('dropped', v_dropped, 'deleted', v_rows, 'isBusy', v_busy);
end
$$;
create function private.forget_visits(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_visitors text[];
  v_removed bigint;
  v_until timestamptz;
  v_settled timestamptz := private.current_moment() - interval '2 days';
begin
  with old as (
    select s.id from public.sessions s
    where s.site_id = p_site_id and s.started_at < p_before
      and s.started_at >= private.cleared_until(p_site_id, 'visits')
      and not exists (select from public.calls c where c.session_id = s.id)
    order by s.started_at limit p_limit for update
  ), gone as (
    delete from public.sessions s using old where s.id = old.id
    returning s.visitor_id, s.started_at)
  select array_agg(distinct g.visitor_id), count(*), max(g.started_at)
    into v_visitors, v_removed, v_until from gone g;
  v_visitors := array(
    select v from unnest(v_visitors) v
    where not exists (
      select from public.sessions s where s.site_id = p_site_id and s.visitor_id = v));
  -- What was said or seen in these days may belong to a visit that is not stored yet.
  -- purge_consent_choices decides about it when it has been here for two days.
  delete from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and c.last_said_at < v_settled;
  update public.consent_choices c set received_at = private.current_moment()
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors);
  delete from private.click_sightings c
    where c.site_id = p_site_id and c.visitor_id = any (v_visitors) and c.first_seen_at < v_settled;
  perform private.note_removed(p_site_id, 'visits', coalesce(v_until, p_before), v_removed);
  return v_removed;
end
$$;

-- 18_privacy/run_retention.sql
create function public.run_retention(p_periods jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_started timestamptz := clock_timestamp();
  v_events timestamptz := v_now - make_interval(months => (p_periods ->> 'eventsMonths')::int);
  v_events_gone jsonb;
  v_site record;
  v_step jsonb;
  v_removed jsonb := '{}';
  v_done boolean := true;
begin
  if (p_periods ->> 'eventsMonths')::int not between 3 and 120
      or (p_periods ->> 'personalMonths')::int not between 4 and 120
      or (p_periods ->> 'failedDays')::int not between 7 and 3650
      or (p_periods ->> 'revokedKeysDays')::int not between 30 and 3650
      or num_nulls(p_periods ->> 'eventsMonths', p_periods ->> 'personalMonths',
        p_periods ->> 'failedDays', p_periods ->> 'revokedKeysDays') > 0 then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "periods"}');
  end if;
  if not pg_catalog.pg_try_advisory_xact_lock(hashtext('run_retention')) then
    return '{"isDone": true, "removed": {}}';
  end if;
  v_events_gone := private.drop_old_events(v_events);
  if jsonb_array_length(v_events_gone -> 'dropped') > 0 then
    -- Ends here: the drop keeps everybody from the events until this commits.
    return jsonb_build_object('isDone', false, 'removed', jsonb_build_object(
      'partitions', jsonb_array_length(v_events_gone -> 'dropped'),
      'events', (v_events_gone ->> 'deleted')::int));
  end if;
  v_done := (v_events_gone ->> 'deleted')::int < 5000;
  v_removed := jsonb_build_object(
    'partitions', jsonb_array_length(v_events_gone -> 'dropped'),
    'events', (v_events_gone ->> 'deleted')::int,
    'keys', private.forget_old_keys(
      v_now - make_interval(days => (p_periods ->> 'revokedKeysDays')::int)));
  for v_site in
    select s.id, v_now - make_interval(months => private.personal_months_of(
      s.id, (p_periods ->> 'personalMonths')::int)) as personal
    from public.sites s
    order by (
      select min(t.cleared_until) from private.retention_progress t where t.site_id = s.id
    ) nulls first, s.id
  loop
    if clock_timestamp() > v_started + interval '2 seconds' then
      v_done := false;
      exit;
    end if;
    v_step := jsonb_build_object(
      'visits', private.forget_visits(v_site.id, v_events, 500),
      'leads', private.forget_old_calls(v_site.id, v_site.personal, 500),
      'sales', private.forget_old_sales(v_site.id, v_site.personal, 500),
      'notes', private.forget_old_notes(v_site.id, v_site.personal, 500),
      'captured', private.forget_failed(
        v_site.id, v_now - make_interval(days => (p_periods ->> 'failedDays')::int), 500));
    v_removed := private.add_counts(v_removed, v_step);
    v_done := v_done and not exists (
      select from jsonb_each_text(v_step) e where e.value::int >= 500);
  end loop;
  return jsonb_build_object('isDone', v_done, 'removed', v_removed);
end
$$;
create function private.forget_failed(p_site_id uuid, p_before timestamptz, p_limit int)
returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_ids uuid[] := array(
    select b.id from public.ingest_fallback_buffer b
    where b.site_id = p_site_id and b.status = 'FAILED' and b.created_at < p_before
    order by b.created_at limit p_limit for update skip locked);
begin
  perform private.empty_captured(v_ids);
  perform private.note_removed(p_site_id, 'captured', p_before, cardinality(v_ids));
  return cardinality(v_ids);
end
$$;
create function private.forget_old_keys(p_before timestamptz) returns bigint
language plpgsql security definer set search_path = ''
as $$
declare
  v_removed bigint;
begin
  delete from public.site_api_keys k where k.revoked_at < p_before;
  get diagnostics v_removed = row_count;
  perform private.note_removed(private.whole_installation(), 'keys', p_before, v_removed);
  return v_removed;
end
$$;
create function public.site_retention(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
begin
  return jsonb_build_object(
    'personalMonths', (
      select r.personal_months from private.site_retention r where r.site_id = v_site.id),
    -- What other crons delete, by the rules that they follow.
    'keptDays', jsonb_build_object(
      'customerHashes', extract(day from private.click_life()),
      'handedOut', extract(day from private.identifiers_kept()),
      'origins', extract(day from private.billed_rows_kept())),
    'removed', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'kind', t.kind,
        'until', t.cleared_until,
        'at', t.removed_at,
        'rows', case when t.site_id = v_site.id then t.removed end)
        order by t.removed_at desc, t.kind), '[]')
      from private.retention_progress t
      where t.site_id in (v_site.id, private.whole_installation())
        and t.removed_at is not null and t.kind <> 'keys'));
end
$$;
create function public.set_site_retention(p_public_id text, p_personal_months int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  perform private.require_fresh_sign_in();
  if p_personal_months not between 4 and 120 then
    perform private.refuse_setting('personalMonths');
  end if;
  if p_personal_months is null then
    delete from private.site_retention r where r.site_id = v_site.id;
  else
    insert into private.site_retention as r (site_id, personal_months, changed_at)
      values (v_site.id, p_personal_months, private.current_moment())
      on conflict (site_id) do update
        set personal_months = excluded.personal_months, changed_at = excluded.changed_at;
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- 19_setup/call_reports.sql
create table private.call_reports (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  result text not null,
  times int not null default 1,
  at timestamptz not null,
  constraint call_result_is_known check (result in (
    'signed', 'no_time', 'old_time', 'no_signature', 'no_secret', 'wrong_signature'))
);
create function public.note_call_report(p_public_id text, p_result text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site public.sites;
begin
  select s.* into v_site from public.sites s
    where s.public_id = p_public_id and s.archived_at is null;
  if v_site.id is null then
    return '{"ok": false}';
  end if;
  if p_result = 'signed' then
    perform private.write_tick(v_site, 'calls', v_now);
  end if;
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('calls/' || v_site.id, 0));
  update private.call_reports r set times = least(r.times, 999999) + 1, at = v_now
    where r.id = (
      select x.id from private.call_reports x
      where x.site_id = v_site.id
      order by x.at desc, x.id desc limit 1)
      and r.result = p_result and r.at > v_now - interval '1 minute';
  if not found then
    insert into private.call_reports (site_id, result, at) values (v_site.id, p_result, v_now);
    delete from private.call_reports r where r.id in (
      select x.id from private.call_reports x
      where x.site_id = v_site.id order by x.at desc, x.id desc offset 20);
  end if;
  return '{"ok": true}';
end
$$;
create function private.call_reports_json(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object('result', r.result, 'times', r.times, 'at', r.at)
    order by r.at desc, r.id desc), '[]')
  from (
    select x.* from private.call_reports x
    where x.site_id = p_site_id order by x.at desc, x.id desc limit 10) r
$$;

-- 19_setup/consent_cost.sql
create function public.consent_cost(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_since timestamptz := private.current_moment() - interval '1 day';
begin
  return jsonb_build_object('events', (
    select count(*) from (
      select from public.sessions s
        join private.events e on e.session_id = s.id and e.received_at > v_since
      -- A visit goes on for a day at most in practice; one that began earlier is read by its start.
      where s.site_id = v_site.id and s.started_at > v_since - interval '1 day'
        and s.last_seen_at > v_since - interval '1 day'
        and s.visitor_id not like 'system/%'
        and not coalesce('analytics' = any (
          (private.newest_choice(s.site_id, s.visitor_id)).scopes), false)
      limit 100000) e));
end
$$;

-- 19_setup/refused_origins.sql
create table private.refused_origins (
  site_id uuid not null references public.sites (id),
  host text not null,
  network text not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  days int not null default 1,
  primary key (site_id, host, network),
  constraint refused_host_is_bounded check (char_length(host) <= 253),
  constraint network_is_a_range check (network = '' or network ~ '/(24|48)$')
);
create function private.is_subdomain(p_site public.sites, p_host text) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(bool_or(right(p_host, char_length(l) + 1) = '.' || l), false)
  from unnest(p_site.domains) l
$$;
create function private.refused_hosts(p_site public.sites)
returns table (
  host text, first_at timestamptz, last_at timestamptz, ranges bigint, is_subdomain boolean,
  place bigint
)
language sql stable security definer set search_path = ''
as $$
  select t.host, t.first_at, t.last_at, t.ranges, t.is_subdomain, row_number() over (
    order by t.ranges >= 3 desc, t.is_subdomain desc, t.ranges desc, t.days desc, t.first_at,
      t.host)
  from (
    select r.host, min(r.first_at) as first_at, max(r.last_at) as last_at, max(r.days) as days,
      count(*) as ranges, private.is_subdomain(p_site, r.host) as is_subdomain
    from private.refused_origins r
    where r.site_id = p_site.id and r.host <> all (p_site.domains)
      and r.last_at >= private.current_moment() - interval '7 days'
    group by r.host) t
  where t.ranges > 1 or t.last_at >= private.current_moment() - interval '1 day'
$$;
create function public.note_refused_origin(p_site_id uuid, p_host text, p_network text default null)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_host text := left(p_host, 253);
  v_network text := coalesce(p_network, '');
  v_site public.sites;
begin
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('refused/' || p_site_id, 0));
  select s.* into v_site from public.sites s where s.id = p_site_id;
  update private.refused_origins r
    set last_at = v_now,
        days = r.days + (date_trunc('day', r.last_at, 'UTC') < date_trunc('day', v_now, 'UTC'))::int
    where r.site_id = p_site_id and r.host = v_host and r.network = v_network;
  if found or 8 <= (select count(*) from private.refused_origins r
      where r.site_id = p_site_id and r.host = v_host) then
    return jsonb_build_object('ok', true);
  end if;
  delete from private.refused_origins r
    where r.site_id = p_site_id
      and r.host not in (select h.host from private.refused_hosts(v_site) h);
  delete from private.refused_origins r
    where r.site_id = p_site_id and r.network = v_network and r.host in (
      select x.host from private.refused_origins x
      where x.site_id = p_site_id and x.network = v_network
      order by x.last_at desc, x.host offset 4);
  if 200 <= (select count(*) from private.refused_origins r where r.site_id = p_site_id) then
    delete from private.refused_origins r
      where r.site_id = p_site_id and r.host = (
        select h.host from private.refused_hosts(v_site) h order by h.ranges, h.last_at limit 1);
  end if;
  insert into private.refused_origins (site_id, host, network, first_at, last_at)
    values (p_site_id, v_host, v_network, v_now, v_now);
  return jsonb_build_object('ok', true);
end
$$;
create function private.refused_host(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('host', h.host, 'at', h.first_at, 'isSubdomain', h.is_subdomain)
  from private.refused_hosts(p_site) h where h.place = 1
$$;
create function public.add_site_domain(p_public_id text, p_host text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  select s.* into v_site from public.sites s where s.id = v_site.id for no key update;
  if p_host = any (v_site.domains) then
    return jsonb_build_object('ok', true);
  end if;
  if cardinality(v_site.domains) >= 20 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  perform private.check_site_fields(
    v_site.name, v_site.domains || p_host, v_site.currency, v_site.timezone);
  update public.sites s
    set domains = s.domains || p_host, updated_at = private.current_moment()
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;

-- 19_setup/setup_tests.sql
create table private.setup_tests (
  site_id uuid not null references public.sites (id),
  way text not null,
  order_id text not null,
  at timestamptz not null,
  problem text,
  field text,
  primary key (site_id, way),
  constraint test_way_is_known check (way in ('script', 'api')),
  constraint test_order_is_marked check (order_id ~ '^test_[0-9a-f-]{36}$'),
  constraint test_problem_is_bounded check (
    char_length(problem) <= 64 and char_length(field) <= 256)
);
create function private.last_test_json(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('orderId', t.order_id, 'at', t.at, 'problem', t.problem,
    'field', t.field)
  from private.setup_tests t where t.site_id = p_site.id and t.way = p_site.oci_sync_method
$$;
create function private.test_mark(p_site public.sites) returns text
language sql immutable set search_path = ''
as $$
  select left(encode(sha256(convert_to(
    p_site.id || '/' || private.conversion_name(p_site, 'seal'), 'UTF8')), 'hex'), 12)
$$;
create function public.test_conversion(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'orderId', 'test_' || left(pg_catalog.gen_random_uuid()::text, 24) || private.test_mark(s),
    'conversionName', private.conversion_name(s, 'seal'),
    'conversionAction', a.action,
    'via', c.transport,
    'valueCents', case s.oci_sync_method when 'api'
      then private.expected_value_cents(s, 'sealed') else 0 end,
    'currency', s.currency,
    'conversionTime', private.current_moment(),
    'timezone', s.timezone,
    'gclid', v.gclid,
    'wbraid', case when v.gclid is null then v.wbraid end,
    'gbraid', case when v.gclid is null and v.wbraid is null then v.gbraid end)
  from public.sites s
    cross join lateral (
      select x.gclid, x.wbraid, x.gbraid from (
        select y.* from public.sessions y
        where y.site_id = s.id order by y.started_at desc limit 500) x
      where num_nonnulls(x.gclid, x.wbraid, x.gbraid) > 0 and x.marketing_consent
        and x.clicked_at > private.current_moment() - private.click_life()
      order by x.clicked_at desc limit 1) v
    left join public.provider_credentials c
      on c.site_id = s.id and c.provider_key = 'google_ads'
    left join public.provider_conversion_actions a
      on a.site_id = s.id and a.provider_key = 'google_ads'
        and a.conversion_name = private.conversion_name(s, 'seal')
  where s.id = p_site_id and s.archived_at is null
$$;
create function public.record_test(p_site_id uuid, p_answer jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
  v_now timestamptz := private.current_moment();
  v_problem text := left(p_answer ->> 'problem', 64);
begin
  select s.* into v_site from public.sites s where s.id = p_site_id for share;
  if v_site.oci_sync_method is distinct from p_answer ->> 'way' then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  if not coalesce(p_answer ->> 'orderId' ~ '^test_[0-9a-f-]{36}$', false) then
    perform private.refuse_setting('orderId');
  end if;
  if v_problem is distinct from 'NO_CLICK'
      and right(p_answer ->> 'orderId', 12) <> private.test_mark(v_site) then
    return jsonb_build_object('ok', true);
  end if;
  insert into private.setup_tests as t (site_id, way, order_id, at, problem, field)
    values (v_site.id, v_site.oci_sync_method, p_answer ->> 'orderId', v_now, v_problem,
      left(p_answer ->> 'field', 256))
    on conflict (site_id, way) do update
      set order_id = excluded.order_id, at = excluded.at, problem = excluded.problem,
          field = excluded.field;
  if (p_answer ->> 'hasAction')::boolean then
    perform private.write_tick(v_site, 'actions', v_now,
      jsonb_build_object('name', private.conversion_name(v_site, 'seal')));
  end if;
  if v_problem is null then
    perform private.write_tick(v_site, 'test', v_now);
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- 19_setup/setup_ticks.sql
create table private.setup_ticks (
  site_id uuid not null references public.sites (id),
  step text not null,
  at timestamptz not null,
  facts jsonb not null default '{}',
  primary key (site_id, step),
  constraint setup_step_is_known check (step in ('snippet', 'clicks', 'consent', 'calls', 'values',
    'actions:script', 'actions:api', 'delivery:script', 'delivery:api', 'test:script', 'test:api',
    'delivered:script', 'delivered:api'))
);
create function private.setup_steps() returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array['snippet', 'clicks', 'consent', 'calls', 'values', 'actions', 'delivery', 'test',
    'delivered']
$$;
create function private.tick_of(p_site public.sites, p_step text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_step in ('actions', 'delivery', 'test', 'delivered')
    then p_step || ':' || p_site.oci_sync_method else p_step end
$$;
create function private.write_tick(
  p_site public.sites, p_step text, p_at timestamptz, p_facts jsonb default '{}'
) returns void
language sql security definer set search_path = ''
as $$
  insert into private.setup_ticks (site_id, step, at, facts)
    values (p_site.id, private.tick_of(p_site, p_step), p_at, p_facts)
    on conflict (site_id, step) do nothing
$$;
create function public.skip_calls(p_public_id text, p_skipped boolean) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_skipped then
    perform private.write_tick(
      v_site, 'calls', private.current_moment(), '{"isSkipped": true}');
  else
    delete from private.setup_ticks t
      where t.site_id = v_site.id and t.step = 'calls' and t.facts ? 'isSkipped';
  end if;
  return jsonb_build_object('ok', true);
end
$$;

-- 19_setup/site_setup.sql
create function private.seen_visit(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_strip_nulls(jsonb_build_object('at', s.started_at,
    'page', left(substring(s.landing_url from '^[a-z]+://(?:[^/?#@]*@)?([^/?#@]+)'), 253)))
  from public.sessions s
  where s.site_id = p_site.id and s.visitor_id not like 'system/%' and s.landing_url is not null
  order by s.started_at limit 1
$$;
create function private.seen_click(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('at', s.clicked_at, 'kind', case
    when s.gclid is not null then 'gclid' when s.wbraid is not null then 'wbraid'
    else 'gbraid' end)
  from (
    select x.* from public.sessions x
    where x.site_id = p_site.id order by x.started_at desc limit 500) s
  where num_nonnulls(s.gclid, s.wbraid, s.gbraid) > 0
  order by s.started_at desc limit 1
$$;
create function private.seen_consent(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case when p_site.consent_mode = 'off'
    then jsonb_build_object('at', p_site.consent_set_at, 'isOff', true)
    else (
      select jsonb_build_object('at', s.last_seen_at)
      from (
        select x.* from public.sessions x
        where x.site_id = p_site.id order by x.started_at desc limit 500) s
      where s.last_seen_at >= p_site.consent_set_at
        and 'analytics' = any ((private.newest_choice(s.site_id, s.visitor_id)).scopes)
      order by s.last_seen_at limit 1) end
$$;
create function private.seen_step(p_site public.sites, p_step text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  return case p_step
    when 'snippet' then private.seen_visit(p_site)
    when 'clicks' then private.seen_click(p_site)
    when 'consent' then private.seen_consent(p_site)
    when 'calls' then (
      select jsonb_build_object('at', r.at) from private.call_reports r
      where r.site_id = p_site.id and r.result = 'signed' order by r.at limit 1)
    when 'values' then (
      select jsonb_build_object('at', p_site.updated_at)
      where cardinality(p_site.amount_presets) > 0 or exists (   -- or it has sealed amounts
        select from public.sales s
        where s.site_id = p_site.id and s.value_source = 'OPERATOR'))
    when 'actions' then (
      select jsonb_build_object('at', a.updated_at, 'name', a.conversion_name)
      from public.provider_conversion_actions a
      where p_site.oci_sync_method = 'api' and a.site_id = p_site.id
        and a.provider_key = 'google_ads' and a.blocked_at is null
        and a.conversion_name = private.conversion_name(p_site, 'seal'))
    when 'delivery' then case p_site.oci_sync_method
      when 'script' then (
        select jsonb_build_object('at', r.at) from public.script_runs r
        where r.site_id = p_site.id and r.error_code is null order by r.at desc limit 1)
      else (
        select jsonb_build_object('at', c.connected_at) from public.provider_credentials c
        where c.site_id = p_site.id and c.provider_key = 'google_ads') end
    when 'delivered' then (
      select jsonb_build_object('at', coalesce(d.verdict_at, d.uploaded_at), 'order', d.order_id)
      from private.queue_delivered d
      where d.site_id = p_site.id and d.provider_key = 'google_ads' and d.kind = 'CONVERSION'
        and case p_site.oci_sync_method
          when 'script' then d.transport = 'script' else d.verdict = 'CONFIRMED' end
      order by d.uploaded_at limit 1) end;
end
$$;
create function public.site_setup(p_public_id text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'owner');
  v_step text;
  v_seen jsonb;
begin
  foreach v_step in array private.setup_steps() loop
    continue when exists (select from private.setup_ticks t
      where t.site_id = v_site.id and t.step = private.tick_of(v_site, v_step));
    v_seen := private.seen_step(v_site, v_step);
    if v_seen is not null then
      perform private.write_tick(
        v_site, v_step, (v_seen ->> 'at')::timestamptz, v_seen - 'at');
    end if;
  end loop;
  return jsonb_build_object(
    'way', v_site.oci_sync_method,
    'consentMode', v_site.consent_mode,
    'steps', (
      select jsonb_agg(jsonb_build_object(
        'step', k.step, 'at', t.at, 'facts', coalesce(t.facts, '{}')) order by k.place)
      from unnest(private.setup_steps()) with ordinality k (step, place)
        left join private.setup_ticks t
          on t.site_id = v_site.id and t.step = private.tick_of(v_site, k.step)),
    'refusedHost', private.refused_host(v_site),
    'callReports', private.call_reports_json(v_site.id),
    'hasSecret', exists (select from private.site_secrets x
      where x.site_id = v_site.id and x.sealed is not null),
    'hasKey', exists (select from public.site_api_keys k
      where k.site_id = v_site.id and k.revoked_at is null and 'script' = any (k.scopes)),
    'lastEventAt', (
      select s.last_seen_at from public.sessions s
      where s.site_id = v_site.id order by s.started_at desc limit 1),
    'lastTest', private.last_test_json(v_site));
end
$$;
create function private.setup_state(p_site public.sites) returns text
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_array(p_site.updated_at,
    (select s.last_seen_at from public.sessions s
     where s.site_id = p_site.id order by s.started_at desc limit 1),
    (select max(r.at) from public.script_runs r where r.site_id = p_site.id),
    (select jsonb_agg(jsonb_build_array(k.revoked_at, k.scopes, k.scope_used) order by k.id)
     from public.site_api_keys k where k.site_id = p_site.id),
    (select x.rotated_at from private.site_secrets x where x.site_id = p_site.id),
    (select max(r.at) from private.call_reports r where r.site_id = p_site.id),
    (select max(r.first_at) from private.refused_origins r where r.site_id = p_site.id),
    (select count(*) from private.setup_ticks t where t.site_id = p_site.id),
    (select max(t.at) from private.setup_tests t where t.site_id = p_site.id),
    private.delivery_state(p_site),
    private.newest_moments(p_site.id, 'private.queue_delivered', 'verdict_at'),
    (select max(d.uploaded_at) from private.queue_delivered d
     where d.site_id = p_site.id and d.provider_key = 'google_ads'))::text
$$;

-- 01_ground/database_readiness.sql
grant execute on function public.database_readiness() to opsmantik_app, service_role;

-- 01_ground/limits.sql
grant execute on function private.max_attempts() to opsmantik_app, service_role;

-- 02_tenancy/answer_invitations.sql
grant execute on function public.accept_invitation(uuid) to authenticated;
grant execute on function public.decline_invitation(uuid) to authenticated;
grant execute on function public.purge_expired_invitations() to opsmantik_app, service_role;

-- 02_tenancy/change_site.sql
grant execute on function public.create_site(text, text[], text, text, text, text, text, jsonb)
  to authenticated;
grant execute on function public.update_site(text, text, text[], text, text, text, bigint)
  to authenticated;
grant execute on function public.set_site_archived(text, boolean) to authenticated;
grant execute on function public.set_site_privacy(text, text, boolean) to authenticated;

-- 02_tenancy/invitation_mail.sql
create trigger invitations_are_named before insert or update of raw_user_meta_data, email
  on auth.users for each row execute function private.keep_invitation_words();
create trigger invited_people_are_told after insert or update or delete on public.site_invitations
  for each row execute function private.tell_invited();

-- 02_tenancy/my_account.sql
grant execute on function public.my_account() to authenticated;
grant execute on function public.delete_my_account() to authenticated;

-- 02_tenancy/password_changes.sql
create trigger passwords_need_a_recent_sign_in before update of encrypted_password on auth.users
  for each row
  when (coalesce(old.encrypted_password, '') <> ''
    and new.encrypted_password is distinct from old.encrypted_password)
  execute function private.guard_password();

-- 02_tenancy/read_sites.sql
grant execute on function public.get_site(text) to authenticated;
grant execute on function public.list_my_sites() to authenticated;

-- 02_tenancy/sign_in.sql
grant execute on function public.account_to_ask(text) to opsmantik_app, service_role;

-- 02_tenancy/site_access.sql
grant execute on function public.has_site_role(uuid, public.site_role) to authenticated;

-- 02_tenancy/site_api_keys.sql
create index keys_of_a_site on public.site_api_keys (site_id);
alter table public.site_api_keys enable row level security;
create policy owners_see_api_keys on public.site_api_keys for select to authenticated
  using (public.has_site_role(site_id, 'owner'));
grant select (id, name, prefix, scopes, created_at, scope_used, revoked_at)
  on public.site_api_keys to authenticated;
grant execute on function public.list_site_api_keys(text) to authenticated;
grant execute on function public.create_site_api_key(text, text, text[]) to authenticated;
grant execute on function public.revoke_site_api_key(text, uuid) to authenticated;
grant execute on function public.narrow_site_api_key(text, uuid, text[]) to authenticated;

-- 02_tenancy/site_invitations.sql
create index invitations_of_an_address on public.site_invitations (email);
create index invitations_by_expiry on public.site_invitations (expires_at);
alter table public.site_invitations enable row level security;
create policy owners_see_invitations on public.site_invitations for select to authenticated
  using (public.has_site_role(site_id, 'owner'));
grant select (id, email, role, created_at, expires_at) on public.site_invitations to authenticated;
grant execute on function public.invite_site_member(text, text, public.site_role, text, text)
  to authenticated;
grant execute on function public.record_invitation_mail(text, uuid, boolean, text, text)
  to authenticated;
grant execute on function public.withdraw_invitation(text, uuid, text, text) to authenticated;

-- 02_tenancy/site_members.sql
create index memberships_of_a_user on public.site_members (user_id);
alter table public.site_members enable row level security;
create policy owners_see_their_team on public.site_members for select to authenticated
  using (user_id = (select auth.uid()) or public.has_site_role(site_id, 'owner'));
grant select (user_id, role, created_at) on public.site_members to authenticated;
create trigger a_site_keeps_an_owner after delete or update of role on public.site_members
  for each row when (old.role = 'owner') execute function private.keep_an_owner();
grant execute on function public.list_site_members(text) to authenticated;
grant execute on function public.change_member_role(text, uuid, public.site_role, text, text)
  to authenticated;
grant execute on function public.remove_member(text, uuid, text, text) to authenticated;

-- 02_tenancy/site_secrets.sql
alter table private.site_secrets enable row level security;
grant execute on function public.call_event_secret(text) to authenticated;
grant execute on function public.replace_call_event_secret(text, text, text) to authenticated;
grant execute on function public.call_event_secrets(text) to opsmantik_app, service_role;
grant execute on function public.purge_replaced_secrets() to opsmantik_app, service_role;
grant execute on function public.list_sealed_call_secrets(text, int)
  to opsmantik_app, service_role;
grant execute on function public.reseal_call_secret(uuid, text, text, text)
  to opsmantik_app, service_role;

-- 02_tenancy/sites.sql
alter table public.sites enable row level security;
create policy members_see_their_site on public.sites for select to authenticated
  using (public.has_site_role(id, 'viewer'));
grant select (
  public_id, name, domains, currency, timezone, locale, oci_sync_method, created_at, archived_at
) on public.sites to authenticated;
create trigger sites_are_never_deleted before delete on public.sites
  for each row execute function private.refuse_change();
create trigger sites_are_never_truncated before truncate on public.sites
  for each statement execute function private.refuse_change();

-- 02_tenancy/use_api_key.sql
grant execute on function public.authenticate_api_key(text, text[]) to opsmantik_app, service_role;
grant execute on function public.api_key_site(uuid) to opsmantik_app, service_role;

-- 03_contracts/contract_moves.sql
alter table public.contracts enable row level security;
alter table public.contract_moves enable row level security;
grant execute on function public.list_contract_moves() to authenticated;

-- 03_contracts/hos_idempotency_keys.sql
create index keys_by_expiry on public.hos_idempotency_keys (expires_at);
alter table public.hos_idempotency_keys enable row level security;
grant execute on function public.purge_idempotency_keys(int) to opsmantik_app, service_role;

-- 03_contracts/proof_blocks.sql
alter table public.proof_blocks enable row level security;
create trigger blocks_are_permanent before update or delete on public.proof_blocks
  for each row execute function private.refuse_change();
create trigger blocks_are_never_truncated before truncate on public.proof_blocks
  for each statement execute function private.refuse_change();
grant execute on function public.seal_proof_blocks() to opsmantik_app, service_role;

-- 03_contracts/proof_receipts.sql
grant execute on function public.get_proof(uuid) to authenticated;
grant execute on function public.get_proof_for_key(uuid, uuid) to opsmantik_app, service_role;

-- 03_contracts/transition_proofs.sql
create index proofs_of_an_entity on public.transition_proofs (entity_id, occurred_at desc, id desc);
create index proofs_of_a_site on public.transition_proofs (site_id, occurred_at desc, id desc);
alter table public.transition_proofs enable row level security;
create trigger proofs_are_permanent before update or delete on public.transition_proofs
  for each row execute function private.refuse_change();
create trigger proofs_are_never_truncated before truncate on public.transition_proofs
  for each statement execute function private.refuse_change();
alter table private.proof_notes enable row level security;
alter table private.unsealed_proofs enable row level security;

-- 03_contracts/transitions.sql
grant execute on function public.transition_contract(jsonb, text, text) to authenticated;
grant execute on function public.transition_contract_for_key(uuid, jsonb, text, text)
  to opsmantik_app, service_role;

-- 04_ingest/admit_events.sql
grant execute on function public.site_for_ingest(text) to opsmantik_app, service_role;
grant execute on function public.admit_events(uuid, jsonb) to opsmantik_app, service_role;

-- 04_ingest/claim_events.sql
grant execute on function public.get_and_claim_fallback_batch(int) to opsmantik_app, service_role;
grant execute on function public.release_fallback_event(uuid, uuid, text)
  to opsmantik_app, service_role;
grant execute on function public.purge_stored_events() to opsmantik_app, service_role;

-- 04_ingest/consent_choices.sql
create index choices_by_arrival on public.consent_choices (received_at);
create index newest_choice_of_a_visitor
  on public.consent_choices (site_id, visitor_id, chosen_at desc, id desc);
alter table public.consent_choices enable row level security;
grant execute on function public.purge_consent_choices() to opsmantik_app, service_role;

-- 04_ingest/drops.sql
alter table public.ingest_drop_deltas enable row level security;
alter table public.ingest_drops_daily enable row level security;
grant execute on function public.count_drops(uuid, text, int) to opsmantik_app, service_role;
grant execute on function public.fold_drops() to opsmantik_app, service_role;

-- 04_ingest/events.sql
create index events_of_a_session on private.events (session_id, received_at);
alter table private.events enable row level security;
alter table private.events_default enable row level security;
grant execute on function public.ensure_event_partitions() to opsmantik_app, service_role;

-- 04_ingest/failed_events.sql
grant execute on function public.ingest_status(text) to authenticated;
grant execute on function public.list_failed_events(text) to authenticated;
grant execute on function public.replay_failed_events(text, uuid[]) to authenticated;

-- 04_ingest/ingest_fallback_buffer.sql
create index pending_events
  on public.ingest_fallback_buffer (created_at, position, id) where status = 'PENDING';
create index claimed_events
  on public.ingest_fallback_buffer (claimed_at) where status = 'PROCESSING';
create index failed_events
  on public.ingest_fallback_buffer (site_id, created_at) where status = 'FAILED';
create index stored_events
  on public.ingest_fallback_buffer (updated_at) where status = 'RECOVERED';
alter table public.ingest_fallback_buffer enable row level security;

-- 04_ingest/ingest_idempotency.sql
create unique index one_row_per_client_event
  on public.ingest_idempotency (site_id, eid) where eid is not null;
create index billable_rows_of_a_month on public.ingest_idempotency (site_id, created_at);
create index rows_by_expiry on public.ingest_idempotency (expires_at);
alter table public.ingest_idempotency enable row level security;
create trigger billable_rows_never_change
  before update of site_id, idempotency_key, created_at on public.ingest_idempotency
  for each row execute function private.refuse_change();
create trigger late_rows_are_noted after insert on public.ingest_idempotency
  for each row execute function private.note_late_row();
create trigger lost_rows_are_noted after delete on public.ingest_idempotency for each row
  when (old.expires_at > now() and old.created_at < now())
  execute function private.note_lost_row();

-- 04_ingest/lead_room.sql
alter table private.lead_room_taken enable row level security;

-- 04_ingest/record_consent.sql
grant execute on function public.record_consent(uuid, jsonb) to opsmantik_app, service_role;
grant execute on function public.record_consents(uuid, jsonb, boolean)
  to opsmantik_app, service_role;
grant execute on function public.visitors_without_marketing(uuid, text[])
  to opsmantik_app, service_role;

-- 04_ingest/site_ceilings.sql
alter table private.site_ceilings enable row level security;
alter table private.busy_days enable row level security;
grant execute on function public.read_site_ceilings(text) to authenticated;
grant execute on function public.set_site_ceilings(text, int, int) to authenticated;
grant execute on function public.note_busy_days(int) to opsmantik_app, service_role;

-- 04_ingest/store_events.sql
grant execute on function public.store_events(uuid, jsonb) to opsmantik_app, service_role;

-- 05_leads/caller_vouchers.sql
alter table private.voucher_key enable row level security;
grant execute on function public.vouch_callers(text, jsonb) to opsmantik_app, service_role;

-- 05_leads/calls.sql
create index calls_of_a_site on public.calls (site_id, called_at desc, id desc);
create index calls_of_a_visitor on public.calls (site_id, visitor_id);
create index calls_of_a_caller on public.calls (site_id, caller_hash, called_at desc)
  where caller_hash is not null;
create index callers_by_vault_key on public.calls (caller_key_id, id)
  where caller_hash is not null;
create index calls_of_a_gclid on public.calls (site_id, gclid) where gclid is not null;
create index calls_of_a_wbraid on public.calls (site_id, wbraid) where wbraid is not null;
create index calls_of_a_gbraid on public.calls (site_id, gbraid) where gbraid is not null;
create index open_leads_newest_first on public.calls (site_id, called_at desc, id desc)
  where status in ('intent', 'qualified', 'meeting');
create index ended_leads_newest_first on public.calls (site_id, called_at desc, id desc)
  where status in ('junk', 'cancelled');
create index sealed_leads_newest_first on public.calls (site_id, called_at desc, id desc)
  where status = 'sealed';
create index sealed_leads_by_seal on public.calls (site_id, status_at) where status = 'sealed';
create index leads_by_phone_ending
  on public.calls (site_id, reverse(regexp_replace(phone, '\D', '', 'g')) text_pattern_ops)
  where phone is not null;
create index named_leads on public.calls (site_id, called_at desc) where contact_name is not null;
create index leads_of_a_visit on public.calls (session_id);
create index changed_leads on public.calls (site_id, updated_at);
alter table public.calls enable row level security;

-- 05_leads/click_sightings.sql
create index visitors_of_a_click on private.click_sightings (site_id, click_hash);
alter table private.click_sightings enable row level security;

-- 05_leads/held_reports.sql
create index held_reports_by_age on private.held_reports (held_until);
alter table private.held_reports enable row level security;

-- 05_leads/lead_contacts.sql
grant execute on function public.set_lead_contact(text, uuid, jsonb) to authenticated;
grant execute on function public.add_lead_note(text, uuid, text) to authenticated;

-- 05_leads/move_call.sql
grant execute on function public.change_call(text, jsonb, text, text) to authenticated;
grant execute on function public.undo_call(text, jsonb, text, text) to authenticated;

-- 05_leads/phone_numbers.sql
grant execute on function public.phone_hashes(text, text[]) to opsmantik_app, service_role;
grant execute on function public.add_caller_number(uuid, text, text, jsonb)
  to opsmantik_app, service_role;

-- 05_leads/sessions.sql
create index newest_session_of_a_visitor
  on public.sessions (site_id, visitor_id, last_seen_at desc);
create index sessions_of_a_site on public.sessions (site_id, started_at desc);
alter table public.sessions enable row level security;

-- 06_billing/billing_credits.sql
alter table private.billing_credits enable row level security;
create trigger credits_never_change before update or delete on private.billing_credits
  for each row execute function private.refuse_change();
create trigger credits_are_never_truncated before truncate on private.billing_credits
  for each statement execute function private.refuse_change();

-- 06_billing/billing_overview.sql
grant execute on function public.billing_overview(text) to authenticated;
grant execute on function public.list_counted_events(text, text, text, int) to authenticated;

-- 06_billing/counted_days.sql
create index open_days on private.counted_days (site_id, day) where closed_at is null;
alter table private.counted_days enable row level security;
create index changed_days_of_a_site on private.changed_days (site_id, day);
alter table private.changed_days enable row level security;

-- 06_billing/freeze_invoices.sql
grant execute on function public.freeze_invoices(text, int) to opsmantik_app, service_role;

-- 06_billing/invoices.sql
alter table public.invoices enable row level security;
create trigger invoices_never_change before update or delete on public.invoices
  for each row execute function private.refuse_change();
create trigger invoices_are_never_truncated before truncate on public.invoices
  for each statement execute function private.refuse_change();
grant execute on function public.list_invoices(text) to authenticated;
grant execute on function public.get_invoice(text, text) to authenticated;

-- 06_billing/ledger_watermark.sql
alter table private.ledger_watermark enable row level security;

-- 06_billing/purge_expired_idempotency.sql
grant execute on function public.purge_expired_idempotency(int) to opsmantik_app, service_role;

-- 06_billing/reconcile_usage.sql
grant execute on function public.reconcile_usage(int) to opsmantik_app, service_role;

-- 06_billing/site_plans.sql
alter table public.site_plans enable row level security;
create index plan_of_a_moment on private.plan_changes (site_id, changed_at desc, id desc);
alter table private.plan_changes enable row level security;
create trigger plan_changes_never_change before update or delete on private.plan_changes
  for each row execute function private.refuse_change();
create trigger plan_changes_are_never_truncated before truncate on private.plan_changes
  for each statement execute function private.refuse_change();
create trigger plan_changes_are_kept after insert or update of updated_at on public.site_plans
  for each row execute function private.note_plan_change();
create trigger sites_begin_with_a_plan after insert on public.sites
  for each row execute function private.give_first_plan();
create trigger plans_are_never_deleted before delete on public.site_plans
  for each row execute function private.refuse_change();
create trigger plans_are_never_truncated before truncate on public.site_plans
  for each statement execute function private.refuse_change();
grant execute on function public.set_lead_share(text, int) to authenticated;

-- 06_billing/site_usage_monthly.sql
alter table public.site_usage_monthly enable row level security;

-- 06_billing/usage_origins.sql
create index origins_by_day on private.usage_origins (day);
alter table private.usage_origins enable row level security;
grant execute on function public.list_usage_origins(text, date) to authenticated;
grant execute on function public.purge_usage_origins(int) to opsmantik_app, service_role;

-- 07_sales/confirm_sale.sql
grant execute on function public.confirm_sale_and_enqueue(uuid, jsonb, text, text)
  to opsmantik_app, service_role;
grant execute on function public.confirm_sale(text, jsonb, text, text) to authenticated;

-- 07_sales/customer_hashes.sql
grant execute on function public.purge_customer_hashes() to opsmantik_app, service_role;
grant execute on function public.list_caller_hashes(text, int) to opsmantik_app, service_role;
grant execute on function public.rekey_caller_hashes(jsonb) to opsmantik_app, service_role;

-- 07_sales/import_sales.sql
grant execute on function public.import_sales(text, jsonb, boolean) to authenticated;
grant execute on function public.preview_import(text, jsonb, uuid[]) to authenticated;

-- 07_sales/list_sales.sql
grant execute on function public.list_sales(text, jsonb) to authenticated;

-- 07_sales/move_sale.sql
grant execute on function public.correct_sale(text, jsonb, text, text) to authenticated;
grant execute on function public.cancel_sale(text, jsonb, text, text) to authenticated;

-- 07_sales/record_external_sale.sql
grant execute on function public.record_external_sale(uuid, jsonb, text, text)
  to opsmantik_app, service_role;

-- 07_sales/revenue_snapshots.sql
alter table public.revenue_snapshots enable row level security;
create trigger snapshots_are_permanent before update or delete on public.revenue_snapshots
  for each row execute function private.refuse_change();
create trigger snapshots_are_never_truncated before truncate on public.revenue_snapshots
  for each statement execute function private.refuse_change();

-- 07_sales/sales.sql
create unique index one_living_sale_per_call on public.sales (call_id) where status <> 'CANCELED';
create index sales_of_a_call on public.sales (call_id);
create index sales_beside_a_call on public.sales (sibling_call_id)
  where sibling_call_id is not null;
create index sales_of_a_site on public.sales (site_id, occurred_at desc, id);
create index changed_sales on public.sales (site_id, updated_at);
create index sales_by_gclid on public.sales (site_id, gclid) where gclid is not null;
create index sales_by_wbraid on public.sales (site_id, wbraid) where wbraid is not null;
create index sales_by_gbraid on public.sales (site_id, gbraid) where gbraid is not null;
create index sales_with_hashes on public.sales (occurred_at)
  where customer_hash is not null or email_hash is not null;
create index sale_callers_by_vault_key on public.sales (caller_key_id, id)
  where caller_hash is not null;
alter table public.sales enable row level security;

-- 07_sales/seal_sale.sql
grant execute on function public.seal_call(text, jsonb, text, text) to authenticated;

-- 07_sales/undo_sale.sql
grant execute on function public.undo_sale(text, jsonb, text, text) to authenticated;

-- 08_queue/enqueue.sql
grant execute on function public.get_pending_conversions_for_worker(uuid, int)
  to opsmantik_app, service_role;

-- 08_queue/fold_queue_counts.sql
grant execute on function public.fold_queue_counts() to opsmantik_app, service_role;

-- 08_queue/offline_conversion_queue.sql
alter table public.offline_conversion_queue enable row level security;
create trigger queue_rows_are_never_deleted before delete on public.offline_conversion_queue
  for each statement execute function private.refuse_change();
create trigger rows_stay_the_same_conversion
  before update of site_id, sale_id, kind, order_id, currency, conversion_time
  on public.offline_conversion_queue for each statement execute function private.refuse_change();
create trigger queue_is_never_truncated before truncate on public.offline_conversion_queue
  for each statement execute function private.refuse_change();
create trigger new_rows_are_recorded after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.record_queue_moves();
create trigger changes_are_recorded after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.record_queue_moves();
create trigger new_rows_make_sense after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.check_queue_rows();
create trigger changed_rows_make_sense after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.check_queue_rows();
create trigger new_rows_are_counted after insert on public.offline_conversion_queue
  referencing new table as after_rows
  for each statement execute function private.count_new_queue_rows();
create trigger changes_are_counted after update on public.offline_conversion_queue
  referencing old table as before_rows new table as after_rows
  for each statement execute function private.count_changed_queue_rows();

-- 08_queue/queue_check.sql
alter table private.queue_check enable row level security;
alter table private.queue_check_counts enable row level security;
alter table private.queue_count_checks enable row level security;

-- 08_queue/queue_counts.sql
alter table private.queue_counts enable row level security;
create index deltas_of_a_site on private.queue_count_deltas (site_id, hour);
alter table private.queue_count_deltas enable row level security;

-- 08_queue/queue_delivered.sql
alter table private.queue_delivered enable row level security;
create index delivered_rows_of_a_sale on private.queue_delivered (sale_id, uploaded_at);
create index idx_offline_conversion_queue_uploaded_at on private.queue_delivered
  (site_id, provider_key, uploaded_at);
create index delivered_rows on private.queue_delivered (site_id, created_at, id);
create index delivered_rows_by_change on private.queue_delivered
  (site_id, updated_at, id);
create index delivered_rows_by_channel on private.queue_delivered
  (site_id, channel, created_at, id);
create index delivered_rows_by_value on private.queue_delivered (site_id, value_cents);
create index delivered_adjustments on private.queue_delivered
  (site_id, kind, created_at, id) where kind <> 'CONVERSION';
create index verdicts_of_a_site on private.queue_delivered (site_id, verdict_at)
  where verdict_at is not null;
create index delivered_rows_not_confirmed on private.queue_delivered
  (site_id, verdict, uploaded_at)
  where verdict in ('REJECTED', 'DUPLICATE', 'UNKNOWN');
create index delivered_rows_tried_again on private.queue_delivered (site_id, attempt_count)
  where attempt_count > 1;
create trigger delivered_rows_are_permanent before delete on private.queue_delivered
  for each row execute function private.refuse_change();
create trigger delivered_rows_are_never_truncated before truncate on private.queue_delivered
  for each statement execute function private.refuse_change();
create trigger delivered_rows_say_what_was_sent
  before update of id, site_id, sale_id, snapshot_id, kind, provider_key, status, transport,
    order_id, conversion_name, conversion_action, conversion_time, value_cents, currency,
    identifiers_hash, click_kind, record_index, uploaded_at, claim_token, provider_error_code,
    provider_error_category, last_error
  on private.queue_delivered for each row execute function private.refuse_change();

-- 08_queue/queue_leases.sql
alter table private.queue_leases alter column row_ids set storage external;
create index idx_offline_conversion_queue_processing_claimed_at
  on private.queue_leases (claimed_at);
alter table private.queue_leases enable row level security;

-- 08_queue/queue_open.sql
alter table private.queue_open enable row level security;
create index idx_offline_conversion_queue_eligible_scan on private.queue_open
  (site_id, provider_key, (coalesce(next_retry_at, '-infinity')), created_at, id)
  where state in ('QUEUED', 'RETRY');
create index waiting_rows_that_are_not_plain on private.queue_open
  (site_id, provider_key, (coalesce(next_retry_at, '-infinity')), created_at, id)
  where state in ('QUEUED', 'RETRY') and not is_plain;
create index transient_failures_to_retry on private.queue_open (next_retry_at)
  where state = 'FAILED' and next_retry_at is not null;
create index waiting_rows_by_click_expiry on private.queue_open (click_expires_at)
  where state in ('QUEUED', 'RETRY');
create index waiting_rows_that_were_tried on private.queue_open (updated_at)
  where state in ('QUEUED', 'RETRY') and tries > attempt_base;
create unique index one_open_row_per_sale_and_kind on private.queue_open
  (sale_id, kind, provider_key, (case when state = 'FAILED' then id end)) nulls not distinct;
create index queue_rows_by_status on private.queue_open (site_id, state, created_at, id);
create index queue_rows_by_change on private.queue_open (site_id, state, updated_at, id);
create index queue_rows_by_channel
  on private.queue_open (site_id, channel, state, created_at, id);
create index queue_rows_by_value on private.queue_open (site_id, state, value_cents);
create index queue_rows_by_error_code on private.queue_open
  (site_id, provider_error_code, state, created_at, id)
  where provider_error_code is not null;
create index queue_rows_by_error_category on private.queue_open
  (site_id, provider_error_category, state, created_at, id)
  where provider_error_category is not null;
create index queue_adjustments on private.queue_open (site_id, kind, created_at, id)
  where kind <> 'CONVERSION';
create index corrections_that_wait on private.queue_open (site_id)
  where kind <> 'CONVERSION' and state in ('QUEUED', 'RETRY');
create index queue_rows_tried_again on private.queue_open (site_id, state, tries) where tries > 1;
create index waiting_rows_by_due_time on private.queue_open
  (site_id, state, greatest(not_before, next_retry_at)) where state in ('QUEUED', 'RETRY');
create trigger queue_rows_are_never_deleted before delete on private.queue_open
  for each statement when (current_setting('opsmantik.delivers', true) is distinct from 'yes')
  execute function private.refuse_change();
create trigger open_rows_are_never_truncated before truncate on private.queue_open
  for each statement execute function private.refuse_change();
create trigger rows_stay_the_same_conversion
  before update of site_id, sale_id, kind, order_id, currency, conversion_time
  on private.queue_open for each statement execute function private.refuse_change();
create trigger only_sealed_sales_are_queued before insert on private.queue_open
  for each row execute function private.require_sealed_sale();
create trigger rows_are_completed before insert on private.queue_open
  for each row execute function private.complete_new_row();
create trigger changed_sales_end_plain_rows after update on public.sales for each row
  when ((old.status, old.amount_cents, old.currency, old.delivery_block,
      old.gclid, old.wbraid, old.gbraid, old.call_id, old.sibling_call_id)
    is distinct from (new.status, new.amount_cents, new.currency, new.delivery_block,
      new.gclid, new.wbraid, new.gbraid, new.call_id, new.sibling_call_id))
  execute function private.mark_changed_sale();

-- 08_queue/queue_outcomes.sql
alter table private.queue_outcomes enable row level security;

-- 08_queue/queue_transitions.sql
create index moves_of_a_site on private.queue_moves (site_id, created_at);
alter table private.queue_moves enable row level security;
create trigger moves_are_permanent before update or delete on private.queue_moves
  for each row execute function private.refuse_change();
create trigger moves_are_never_truncated before truncate on private.queue_moves
  for each statement execute function private.refuse_change();
alter table private.queue_batch_moves enable row level security;
create trigger batch_moves_are_permanent before update or delete on private.queue_batch_moves
  for each row execute function private.refuse_change();
create trigger batch_moves_are_never_truncated before truncate on private.queue_batch_moves
  for each statement execute function private.refuse_change();

-- 08_queue/reconcile_queue_counts.sql
grant execute on function public.reconcile_queue_counts(int) to opsmantik_app, service_role;

-- 09_claims/claim_conversions.sql
grant execute on function public.claim_offline_conversion_rows_for_script_export(
    uuid[], uuid, int, uuid)
  to opsmantik_app, service_role;
grant execute on function public.claim_offline_conversion_jobs_v2(uuid, text, int, int)
  to opsmantik_app, service_role;

-- 09_claims/complete_rows.sql
grant execute on function public.complete_adjustment_by_hand(text, jsonb) to authenticated;

-- 09_claims/due_conversions.sql
grant execute on function public.list_offline_conversion_groups(int, int)
  to opsmantik_app, service_role;
grant execute on function public.defer_offline_conversion_jobs(
    uuid, text, int, timestamptz, text, text, int, int)
  to opsmantik_app, service_role;
grant execute on function public.conversion_job(uuid, uuid) to opsmantik_app, service_role;

-- 09_claims/script_answers.sql
grant execute on function public.ack_offline_conversions(uuid, uuid[], uuid)
  to opsmantik_app, service_role;
grant execute on function public.fail_offline_conversions(
    uuid, uuid[], text, text, text, int, uuid, jsonb)
  to opsmantik_app, service_role;
grant execute on function public.fail_unexportable_rows(uuid, jsonb, uuid)
  to opsmantik_app, service_role;

-- 09_claims/settle_and_claim.sql
grant execute on function public.settle_and_claim_conversion_jobs(
    uuid, text, uuid, jsonb, jsonb, int, int, jsonb, uuid[], int[])
  to opsmantik_app, service_role;

-- 09_claims/settle_conversions.sql
grant execute on function public.settle_offline_conversion_jobs(uuid, uuid, jsonb, text, int, jsonb)
  to opsmantik_app, service_role;

-- 09_claims/sweeps.sql
grant execute on function public.oci_attempt_cap(int, int) to opsmantik_app, service_role;
grant execute on function public.recover_stuck_offline_conversion_jobs(int)
  to opsmantik_app, service_role;

-- 10_connections/connect_provider.sql
grant execute on function public.connect_provider(text, jsonb) to authenticated;
grant execute on function public.seed_provider_credentials(uuid, jsonb)
  to opsmantik_app, service_role;
grant execute on function public.disconnect_provider(text) to authenticated;

-- 10_connections/connection_blocks.sql
grant execute on function public.block_provider(uuid, text, text, text, int)
  to opsmantik_app, service_role;
grant execute on function public.release_provider(uuid, text) to opsmantik_app, service_role;

-- 10_connections/pause_sending.sql
grant execute on function public.preview_pause(text, timestamptz) to authenticated;
grant execute on function public.pause_sending(text, timestamptz, text) to authenticated;

-- 10_connections/provider_connection.sql
grant execute on function public.provider_connection(text) to authenticated;

-- 10_connections/provider_conversion_actions.sql
alter table public.provider_conversion_actions enable row level security;
alter table private.action_names enable row level security;

-- 10_connections/provider_credentials.sql
create index credentials_by_vault_key
  on public.provider_credentials (key_id, site_id, provider_key);
alter table public.provider_credentials enable row level security;
grant execute on function public.provider_credentials_for(uuid, text)
  to opsmantik_app, service_role;
grant execute on function public.list_sealed_credentials(text, int) to opsmantik_app, service_role;
grant execute on function public.reseal_credentials(uuid, text, int, text, text)
  to opsmantik_app, service_role;

-- 10_connections/record_provider_test.sql
grant execute on function public.record_provider_test(uuid, text, int, boolean, jsonb, text, text[])
  to opsmantik_app, service_role;

-- 10_connections/site_delivery.sql
grant execute on function public.set_site_delivery(text, jsonb) to authenticated;
grant execute on function public.site_delivery(text) to authenticated;

-- 10_connections/switch_delivery.sql
grant execute on function public.preview_delivery_switch(text, text) to authenticated;
grant execute on function public.switch_delivery(text, text) to authenticated;

-- 10_connections/write_actions.sql
grant execute on function public.set_conversion_actions(text, jsonb) to authenticated;

-- 11_delivery/circuit.sql
grant execute on function public.record_provider_outcome(uuid, text, boolean, boolean, uuid)
  to opsmantik_app, service_role;

-- 11_delivery/delivery_turns.sql
alter table private.delivery_turns enable row level security;

-- 11_delivery/dispatch_identifiers.sql
create index identifiers_by_age on public.dispatch_identifiers using brin (handed_at)
  with (autosummarize = on);
alter table public.dispatch_identifiers enable row level security;
grant execute on function public.purge_dispatch_identifiers() to opsmantik_app, service_role;

-- 11_delivery/provider_dispatches.sql
create index assumed_dispatches_of_a_sale on private.assumed_dispatches (sale_id);
create index assumed_dispatches_of_a_row on private.assumed_dispatches (queue_id);
create index assumed_dispatches_of_a_site on private.assumed_dispatches (site_id, dispatched_at);
alter table private.assumed_dispatches enable row level security;
create trigger assumed_dispatches_are_never_deleted before delete on private.assumed_dispatches
  for each row execute function private.refuse_change();
create trigger assumed_dispatches_say_what_was_sent
  before update of id, site_id, queue_id, sale_id, snapshot_id, kind, provider_key, transport,
    order_id, conversion_name, conversion_action, conversion_time, value_cents, currency,
    identifiers_hash, click_kind, dispatched_at
  on private.assumed_dispatches for each row execute function private.refuse_change();
create trigger assumed_dispatches_are_never_truncated before truncate
  on private.assumed_dispatches for each statement execute function private.refuse_change();

-- 11_delivery/provider_health_state.sql
create index half_open_circuits on public.provider_health_state (probe_until)
  where state = 'HALF_OPEN';
alter table public.provider_health_state enable row level security;

-- 11_delivery/provider_requests.sql
alter table public.provider_requests alter column row_ids set storage external;
create index requests_to_poll on public.provider_requests (next_poll_at)
  where finished_at is null;
alter table public.provider_requests enable row level security;
grant execute on function public.claim_verdict_polls(int, int) to opsmantik_app, service_role;

-- 11_delivery/provider_upload_attempts.sql
create index attempts_of_a_provider
  on private.finished_batches (site_id, provider_key, finished_at);
alter table private.finished_batches enable row level security;
create trigger attempts_are_permanent before update or delete on private.finished_batches
  for each row execute function private.refuse_change();
create trigger attempts_are_never_truncated before truncate on private.finished_batches
  for each statement execute function private.refuse_change();

-- 11_delivery/provider_upload_metrics.sql
alter table private.upload_metric_totals enable row level security;
alter table private.upload_metric_deltas enable row level security;
grant execute on function public.increment_provider_upload_metrics(uuid, text, int, int, int, int)
  to opsmantik_app, service_role;

-- 11_delivery/record_verdicts.sql
grant execute on function public.record_verdicts(uuid, text, jsonb) to opsmantik_app, service_role;

-- 11_delivery/send_again.sql
grant execute on function public.send_again(text, uuid) to authenticated;

-- 12_signals/claim_signal_jobs.sql
grant execute on function public.list_signal_groups(int, int) to opsmantik_app, service_role;
grant execute on function public.claim_marketing_signal_jobs(uuid, text, int, int)
  to opsmantik_app, service_role;

-- 12_signals/marketing_signals.sql
create index signals_of_a_request on public.marketing_signals (site_id, provider_request_id)
  where provider_request_id is not null;
create index signals_refused_by_auth on public.marketing_signals (site_id)
  where dispatch_status = 'FAILED' and provider_error_category = 'AUTH';
create index claimable_signals
  on public.marketing_signals (site_id, next_retry_at nulls first, created_at, id)
  where dispatch_status = 'PENDING';
create index waiting_signals_by_name on public.marketing_signals (site_id, conversion_name)
  where dispatch_status = 'PENDING' and conversion_name is not null;
create index signals_by_handout on public.marketing_signals (site_id, last_claimed_at)
  where last_claimed_at is not null;
create index processing_signals on public.marketing_signals (claimed_at)
  where dispatch_status = 'PROCESSING';
alter table public.marketing_signals enable row level security;

-- 12_signals/script_signals.sql
grant execute on function public.claim_marketing_signals(uuid, int, int)
  to opsmantik_app, service_role;
grant execute on function public.ack_marketing_signals(uuid, uuid[]) to opsmantik_app, service_role;
grant execute on function public.fail_marketing_signals(uuid, uuid[], text, text, int, jsonb)
  to opsmantik_app, service_role;
grant execute on function public.recover_marketing_signals(int, int)
  to opsmantik_app, service_role;

-- 12_signals/settle_signal_jobs.sql
grant execute on function public.settle_marketing_signal_jobs(uuid, uuid, jsonb, jsonb, int)
  to opsmantik_app, service_role;

-- 13_script/export_page.sql
grant execute on function public.get_export_page(uuid, int, int) to opsmantik_app, service_role;
grant execute on function public.preview_export_page(text, int, int) to authenticated;

-- 13_script/script_runs.sql
create index script_runs_of_a_site on public.script_runs (site_id, at desc);
create index script_runs_by_age on public.script_runs (at);
alter table public.script_runs enable row level security;
grant execute on function public.record_script_run(text, jsonb) to opsmantik_app, service_role;
grant execute on function public.record_wrong_keys(jsonb) to opsmantik_app, service_role;
grant execute on function public.purge_script_runs() to opsmantik_app, service_role;
grant execute on function public.script_status(text) to authenticated;

-- 14_desk/desk_figures.sql
grant execute on function public.desk_figures(text, int) to authenticated;
grant execute on function public.amount_presets(text) to authenticated;
grant execute on function public.open_leads() to authenticated;

-- 14_desk/desk_lead.sql
grant execute on function public.desk_lead(text, uuid) to authenticated;

-- 14_desk/desk_leads.sql
grant execute on function public.desk_leads(text, jsonb) to authenticated;

-- 14_desk/list_activity.sql
grant execute on function public.list_activity(text, jsonb) to authenticated;

-- 15_control/act_on_queue.sql
grant execute on function public.act_on_queue(text, jsonb, text, text) to authenticated;
grant execute on function public.undo_queue_action(text, jsonb, text, text) to authenticated;

-- 15_control/queue_action_previews.sql
alter table public.queue_action_previews
  alter column ids set storage external, alter column versions set storage external;
create index previews_of_a_site on public.queue_action_previews (site_id, expires_at);
alter table public.queue_action_previews enable row level security;
grant execute on function public.preview_queue_action(text, text, jsonb, int, text[])
  to authenticated;

-- 15_control/queue_actions.sql
create index actions_of_a_site on public.queue_actions (site_id, created_at desc, id desc);
alter table public.queue_actions enable row level security;
alter table private.queue_action_rows enable row level security;
grant execute on function public.list_queue_actions(text) to authenticated;

-- 15_control/queue_charts.sql
grant execute on function public.queue_charts(text, text) to authenticated;

-- 15_control/queue_row_story.sql
grant execute on function public.queue_row_story(text, uuid, int) to authenticated;

-- 15_control/queue_rows.sql
grant execute on function public.queue_rows(text, int, jsonb, text, int) to authenticated;

-- 15_control/queue_stats.sql
grant execute on function public.queue_stats(text) to authenticated;

-- 16_reports/delivery_days.sql
grant execute on function public.delivery_days(text, date, date) to authenticated;

-- 16_reports/search_sites.sql
grant execute on function public.search_sites(text, text) to authenticated;

-- 16_reports/site_version.sql
grant execute on function public.site_version(text, text) to authenticated;

-- 16_reports/sites_overview.sql
grant execute on function public.sites_overview() to authenticated;

-- 16_reports/why_not_counted.sql
grant execute on function public.why_not_counted(text, uuid) to authenticated;

-- 17_acts/key_acts.sql
create trigger acts_leave_a_line after insert or update on public.site_api_keys
  for each row execute function private.note_key_act();
create trigger acts_leave_a_line after insert or update of rotated_at on private.site_secrets
  for each row execute function private.note_secret_act();
create trigger acts_leave_a_line after insert or update or delete on public.provider_credentials
  for each row execute function private.note_connection_act();
create constraint trigger acts_leave_a_line
  after insert or update or delete on public.provider_conversion_actions
  deferrable initially deferred
  for each row execute function private.note_actions_act();

-- 17_acts/people_acts.sql
create trigger acts_leave_a_line after insert or update or delete on public.site_members
  for each row execute function private.note_member_act();
create trigger acts_leave_a_line after insert or update or delete on public.site_invitations
  for each row execute function private.note_invitation_act();

-- 17_acts/person_addresses.sql
alter table private.person_addresses enable row level security;
create trigger addresses_are_kept after insert or update of email on auth.users
  for each row execute function private.keep_address();

-- 17_acts/site_acts.sql
create trigger acts_leave_a_line after insert or update on public.sites
  for each row execute function private.note_site_act();
create trigger acts_leave_a_line after insert or update or delete on private.site_ceilings
  for each row execute function private.note_setting_act();
create trigger acts_leave_a_line after insert or update or delete on private.site_retention
  for each row execute function private.note_setting_act();
create trigger acts_leave_a_line after insert or update on public.site_plans
  for each row execute function private.note_plan_act();

-- 18_privacy/erase_person.sql
grant execute on function public.erase_person(text, jsonb, uuid) to authenticated;

-- 18_privacy/erased_marks.sql
alter table private.erased_marks enable row level security;

-- 18_privacy/erasure_receipts.sql
create index receipts_of_a_site on public.erasure_receipts (site_id, started_at desc);
alter table public.erasure_receipts enable row level security;
create trigger receipts_are_never_deleted before delete on public.erasure_receipts
  for each row execute function private.refuse_change();
create trigger finished_receipts_never_change before update on public.erasure_receipts
  for each row when (old.finished_at is not null) execute function private.refuse_change();
create trigger receipts_are_never_truncated before truncate on public.erasure_receipts
  for each statement execute function private.refuse_change();
grant execute on function public.list_erasures(text) to authenticated;

-- 18_privacy/export_person.sql
grant execute on function public.export_person(text, jsonb, text) to authenticated;

-- 18_privacy/person_rows.sql
grant execute on function public.preview_erasure(text, jsonb) to authenticated;

-- 18_privacy/retention.sql
alter table private.retention_progress enable row level security;
alter table private.site_retention enable row level security;

-- 18_privacy/run_retention.sql
grant execute on function public.run_retention(jsonb) to opsmantik_app, service_role;
grant execute on function public.site_retention(text) to authenticated;
grant execute on function public.set_site_retention(text, int) to authenticated;

-- 19_setup/call_reports.sql
create index call_reports_of_a_site on private.call_reports (site_id, at desc, id desc);
alter table private.call_reports enable row level security;
grant execute on function public.note_call_report(text, text) to opsmantik_app, service_role;

-- 19_setup/consent_cost.sql
grant execute on function public.consent_cost(text) to authenticated;

-- 19_setup/refused_origins.sql
alter table private.refused_origins enable row level security;
grant execute on function public.note_refused_origin(uuid, text, text)
  to opsmantik_app, service_role;
grant execute on function public.add_site_domain(text, text) to authenticated;

-- 19_setup/setup_tests.sql
alter table private.setup_tests enable row level security;
grant execute on function public.test_conversion(uuid) to opsmantik_app, service_role;
grant execute on function public.record_test(uuid, jsonb) to opsmantik_app, service_role;

-- 19_setup/setup_ticks.sql
alter table private.setup_ticks enable row level security;
grant execute on function public.skip_calls(text, boolean) to authenticated;

-- 19_setup/site_setup.sql
grant execute on function public.site_setup(text) to authenticated;

-- 03_contracts/contract_moves.sql
insert into public.contracts (contract, contract_version) values
  ('call', 'call/1'),
  ('sale', 'sale/1'),
  ('conversion', 'conversion/1');
insert into public.contract_moves (contract, contract_version, from_state, to_state, undo_only)
  select split_part(m.version, '/', 1), m.version, m.from_state, t.to_state, m.undo_only
  from (values
    ('call/1', 'intent', false, '{qualified,meeting,sealed,junk,cancelled}'),
    ('call/1', 'qualified', false, '{meeting,sealed,junk,cancelled}'),
    ('call/1', 'qualified', true, '{intent}'),
    ('call/1', 'meeting', false, '{qualified,sealed,junk,cancelled}'),
    ('call/1', 'meeting', true, '{intent}'),
    ('call/1', 'sealed', false, '{cancelled}'),
    ('call/1', 'sealed', true, '{intent,qualified,meeting}'),
    ('call/1', 'junk', false, '{intent}'),
    ('call/1', 'junk', true, '{qualified,meeting}'),
    ('call/1', 'cancelled', false, '{intent,sealed}'),
    ('call/1', 'cancelled', true, '{qualified,meeting}'),
    ('sale/1', 'DRAFT', false, '{CONFIRMED,CANCELED}'),
    ('sale/1', 'CONFIRMED', false, '{CANCELED}'),
    ('sale/1', 'CANCELED', false, '{CONFIRMED}'),
    ('sale/1', 'CANCELED', true, '{DRAFT}'),
    ('conversion/1', 'QUEUED', false, '{QUEUED,FAILED}'),
    ('conversion/1', 'QUEUED', true, '{RETRY,PROCESSING}'),
    ('conversion/1', 'RETRY', false, '{QUEUED,FAILED}'),
    ('conversion/1', 'PROCESSING', false, '{QUEUED,FAILED}'),
    ('conversion/1', 'FAILED', false, '{QUEUED}'),
    ('conversion/1', 'FAILED', true, '{RETRY,PROCESSING}')
  ) m (version, from_state, undo_only, to_states)
  cross join unnest(m.to_states::text[]) t (to_state);

-- 04_ingest/events.sql
select public.ensure_event_partitions();

-- 05_leads/caller_vouchers.sql
insert into private.voucher_key (secret) values (decode(
  replace(pg_catalog.gen_random_uuid()::text || pg_catalog.gen_random_uuid()::text, '-', ''),
  'hex'));

-- 06_billing/ledger_watermark.sql
insert into private.ledger_watermark default values;

-- 06_billing/site_plans.sql
insert into public.site_plans (site_id, name, enforcement, currency, updated_at)
  select s.id, 'Open', 'soft', s.currency, private.current_moment() from public.sites s
  where not exists (select from public.site_plans p where p.site_id = s.id);

-- 08_queue/queue_check.sql
insert into private.queue_check default values;

-- 17_acts/person_addresses.sql
insert into private.person_addresses (user_id, since, email)
  select u.id, private.current_moment(), u.email from auth.users u where u.email is not null;

reset check_function_bodies;
