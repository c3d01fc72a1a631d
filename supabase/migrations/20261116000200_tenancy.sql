-- Tenancy: a site is one customer's business; members see it by role; its keys let machines in.
-- Outside the database a site is known by public_id only; sites.id never leaves.

create type public.site_role as enum ('viewer', 'operator', 'owner');   -- in rising order: role >= 'operator' works

create table public.sites (
  id uuid primary key default private.uuid_v7(),
  public_id text not null unique default encode(extensions.gen_random_bytes(16), 'hex'),
  name text not null,
  domains text[] not null,
  currency text not null,
  timezone text not null default 'Europe/Istanbul',
  locale text not null default 'tr',
  oci_sync_method text not null default 'script',
  consent_mode text not null default 'off',                 -- 'required': nothing is stored without analytics consent
  respects_privacy_signal boolean not null default false,   -- Do Not Track and Global Privacy Control
  default_aov_cents bigint not null default 10000,          -- average order value: what a lead is worth before anybody says an amount
  intent_weights jsonb not null default '{}',               -- stage -> share of the average order, where the site differs from the default
  signals_enabled boolean not null default false,           -- pipeline B: stages before the seal are told to Google too
  page_views_enabled boolean not null default false,        -- pipeline C: page views with a click id are told to Google too
  conversion_names jsonb not null default '{}',             -- seal, INTENT_CAPTURED … -> the name of the conversion in Google Ads
  send_delay_minutes int not null default 10,               -- how long a seal can be taken back before Google is told
  click_min_age_hours int not null default 6,               -- Google refuses younger clicks, and a script never learns of it
  needs_you_after_hours int not null default 48,            -- an unsealed lead older than this waits for somebody
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  constraint average_order_is_positive check (default_aov_cents between 1 and 100000000000),
  constraint send_delay_is_bounded check (send_delay_minutes between 0 and 1440),
  constraint click_min_age_is_bounded check (click_min_age_hours between 0 and 48),
  constraint needs_you_is_bounded check (needs_you_after_hours between 1 and 2160),
  constraint public_id_is_32_hex check (public_id ~ '^[0-9a-f]{32}$'),
  constraint name_is_plain_text check (private.is_plain_text(name, 80)),
  constraint site_has_1_to_20_domains check (cardinality(domains) between 1 and 20),
  constraint currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint locale_is_known check (locale in ('tr', 'en')),
  constraint oci_sync_method_is_known check (oci_sync_method in ('script', 'api')),
  constraint consent_mode_is_known check (consent_mode in ('off', 'required'))
);

create table public.site_members (
  site_id uuid not null references public.sites (id),
  user_id uuid not null references auth.users (id) on delete cascade,
  role public.site_role not null,
  created_at timestamptz not null,
  primary key (site_id, user_id)
);
create index memberships_of_a_user on public.site_members (user_id);

create table public.site_invitations (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  email text not null,
  role public.site_role not null,
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint email_is_an_address check (email = lower(email) and char_length(email) <= 254 and email ~ '^[^\s@<>"]+@[a-z0-9.-]+\.[a-z0-9-]{2,63}$'),
  constraint one_open_invitation_per_address unique (site_id, email)
);
create index invitations_of_an_address on public.site_invitations (email);
create index invitations_by_expiry on public.site_invitations (expires_at);

create table public.site_api_keys (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  name text not null,
  prefix text not null,
  key_hash text not null unique,
  created_by uuid not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  scopes text[] not null,                    -- what it may be used for; a key only ever loses some
  scope_used jsonb not null default '{}',    -- scope -> when it was last used
  constraint key_has_known_scopes check (
    cardinality(scopes) > 0 and scopes <@ '{script,calls,sales,contracts}'),
  constraint key_hash_is_sha_256 check (key_hash ~ '^[0-9a-f]{64}$'),
  constraint key_name_is_plain_text check (private.is_plain_text(name, 60))
);
create index keys_of_a_site on public.site_api_keys (site_id);

-- The secret that signs server-to-server call events. An HMAC needs it in clear, so it sits where no role can read it.
-- The previous one stays valid after a rotation until the next, so that a PBX can be changed without losing calls.
create table private.site_secrets (
  site_id uuid primary key references public.sites (id),
  call_event_secret text not null,
  previous_call_event_secret text,
  rotated_at timestamptz not null
);

alter table public.sites enable row level security;
alter table public.site_members enable row level security;
alter table public.site_invitations enable row level security;
alter table public.site_api_keys enable row level security;
alter table private.site_secrets enable row level security;

-- has_site_role: whether the signed-in user has at least this role on the site. Every policy and reader asks it.
create function public.has_site_role(p_site_id uuid, p_role public.site_role) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.site_members m
    where m.site_id = p_site_id and m.user_id = (select auth.uid()) and m.role >= p_role)
$$;
grant execute on function public.has_site_role(uuid, public.site_role) to authenticated;

create policy members_see_their_site on public.sites for select to authenticated
  using (public.has_site_role(id, 'viewer'));
create policy owners_see_their_team on public.site_members for select to authenticated
  using (user_id = (select auth.uid()) or public.has_site_role(site_id, 'owner'));
create policy owners_see_invitations on public.site_invitations for select to authenticated
  using (public.has_site_role(site_id, 'owner'));
create policy owners_see_api_keys on public.site_api_keys for select to authenticated
  using (public.has_site_role(site_id, 'owner'));

-- By column: neither the internal id of a site nor the hash of a key is readable by anyone.
grant select (public_id, name, domains, currency, timezone, locale, oci_sync_method, created_at, archived_at) on public.sites to authenticated;
grant select (user_id, role, created_at) on public.site_members to authenticated;
grant select (id, email, role, created_at, expires_at) on public.site_invitations to authenticated;
grant select (id, name, prefix, scopes, created_at, scope_used, revoked_at)
  on public.site_api_keys to authenticated;

-- Sites are archived: their ledger must stay readable.
create trigger sites_are_never_deleted before delete on public.sites
  for each row execute function private.refuse_change();
create trigger sites_are_never_truncated before truncate on public.sites
  for each statement execute function private.refuse_change();

-- keep_an_owner: whoever removes or demotes an owner, one must remain. The site's row is locked first, so that two
-- owners who remove each other at the same moment are decided one after the other.
create function private.keep_an_owner() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.sites s where s.id = old.site_id for update;
  if not exists (select from public.site_members m where m.site_id = old.site_id and m.role = 'owner') then
    perform private.fail(409, 'LAST_OWNER');
  end if;
  -- Who is no owner any more must not come back through an invitation they left open.
  delete from public.site_invitations i where i.site_id = old.site_id and i.invited_by = old.user_id
    and not exists (select from public.site_members m where m.site_id = old.site_id and m.user_id = old.user_id and m.role = 'owner');
  return null;
end
$$;
create trigger a_site_keeps_an_owner after delete or update of role on public.site_members
  for each row when (old.role = 'owner') execute function private.keep_an_owner();

-- require_site: the site behind a public id, for the signed-in user in at least this role.
-- Unknown and not-yours answer the same, so that nobody can probe for sites.
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

-- require_open_site: the same, for changes: an archived site only accepts being restored.
create function private.require_open_site(p_public_id text, p_role public.site_role) returns public.sites
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

-- check_site_fields: what a site's editable fields must satisfy. The form checks the same before it sends; this is what holds.
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
  if p_domains is null or array_position(p_domains, null) is not null
     or cardinality(p_domains) <> (select count(distinct d) from unnest(p_domains) d)
     or exists (select from unnest(p_domains) d
                where d <> 'localhost' and (char_length(d) > 253
                  or d !~ '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$')) then
    perform private.fail(400, 'INVALID_DOMAIN');
  end if;
  -- Of what Postgres knows, the names that browsers know too.
  if not exists (select from pg_catalog.pg_timezone_names z where z.name = p_timezone)
     or p_timezone !~ '^(UTC|[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+){1,2})$' or p_timezone like 'SystemV/%' then
    perform private.fail(400, 'INVALID_TIMEZONE');
  end if;
end
$$;

-- may_create_site: owners may add sites; on an installation without any site, the first signed-in user may.
create function private.may_create_site() returns boolean
language sql stable security definer set search_path = ''
as $$
  select auth.uid() is not null
    and (exists (select from public.site_members m where m.user_id = auth.uid() and m.role = 'owner')
      or not exists (select from public.sites))
$$;

-- create_site: a new site, owned by the caller, with its call-event secret.
--   Safe     two first users at once: the lock lets one of them be first.
--   Returns  {publicId}.
--   Callers  signed-in users.
create function public.create_site(
  p_name text, p_domains text[], p_currency text, p_timezone text, p_locale text, p_oci_sync_method text default 'script'
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
  if (select count(*) from public.site_members m where m.user_id = auth.uid() and m.role = 'owner') >= 100 then
    perform private.fail(409, 'TOO_MANY');
  end if;
  perform private.check_site_fields(p_name, p_domains, p_currency, p_timezone);
  insert into public.sites (name, domains, currency, timezone, locale, oci_sync_method, created_by, created_at, updated_at)
    values (p_name, p_domains, p_currency, p_timezone, p_locale, p_oci_sync_method, auth.uid(), v_now, v_now)
    returning * into v_site;
  insert into public.site_members (site_id, user_id, role, created_at) values (v_site.id, auth.uid(), 'owner', v_now);
  insert into private.site_secrets (site_id, call_event_secret, rotated_at)
    values (v_site.id, encode(extensions.gen_random_bytes(32), 'hex'), v_now);
  return jsonb_build_object('publicId', v_site.public_id);
end
$$;

-- update_site: change what an owner may change.
--   Refuses  400 VALIDATION_FAILED with the field defaultAovCents for another currency without the
--            average order in it: the old number would mean other money.
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
  -- Locked, so that the currency is compared with what the site has when it changes.
  select s.* into v_site from public.sites s where s.id = v_site.id for no key update;
  if p_default_aov_cents is not null then
    perform private.check_amount(p_default_aov_cents, p_currency);
  elsif p_currency <> v_site.currency then
    perform private.refuse_setting('defaultAovCents');
  end if;
  update public.sites s
    set name = p_name, domains = p_domains, currency = p_currency, timezone = p_timezone, locale = p_locale,
        default_aov_cents = coalesce(p_default_aov_cents, s.default_aov_cents),
        updated_at = private.current_moment()
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;

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
    set archived_at = case when p_archived then coalesce(s.archived_at, v_now) end, updated_at = v_now
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;

-- display_name: how a person is called on screen.
create function private.display_name(p_user auth.users) returns text
language sql stable set search_path = ''
as $$
  -- People write their own name: it is cut and cleaned wherever others see it.
  select left(coalesce(
    nullif(btrim(regexp_replace(p_user.raw_user_meta_data ->> 'full_name', '[\u0001-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]', '', 'g')), ''),
    split_part(p_user.email, '@', 1)), 80)
$$;

create function private.site_summary(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'publicId', p_site.public_id, 'name', p_site.name, 'domains', to_jsonb(p_site.domains), 'currency', p_site.currency,
    'timezone', p_site.timezone, 'locale', p_site.locale, 'ociSyncMethod', p_site.oci_sync_method,
    'consentMode', p_site.consent_mode, 'respectsPrivacySignal', p_site.respects_privacy_signal,
    'createdAt', p_site.created_at, 'archivedAt', p_site.archived_at,
    'role', (select m.role from public.site_members m where m.site_id = p_site.id and m.user_id = auth.uid()))
$$;

-- get_site: one site as its member sees it.
create function public.get_site(p_public_id text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select private.site_summary(private.require_site(p_public_id, 'viewer'))
$$;

-- list_my_sites: the caller's sites (archived last), open invitations to the caller's confirmed address,
-- and whether the caller may add a site.
create function public.list_my_sites() returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'sites', coalesce((
      select jsonb_agg(private.site_summary(s) order by s.archived_at is not null, s.name, s.public_id)
      from public.sites s join public.site_members m on m.site_id = s.id and m.user_id = auth.uid()), '[]'),
    'invitations', coalesce((
      select jsonb_agg(jsonb_build_object('id', i.id, 'siteName', s.name, 'role', i.role, 'expiresAt', i.expires_at,
               'invitedBy', (select private.display_name(b) from auth.users b where b.id = i.invited_by)) order by i.created_at)
      from public.site_invitations i
      join public.sites s on s.id = i.site_id and s.archived_at is null
      join auth.users u on u.id = auth.uid() and u.email_confirmed_at is not null and lower(u.email) = i.email
      where i.expires_at > private.current_moment()), '[]'),
    'mayCreate', private.may_create_site())
$$;

grant execute on function
  public.create_site(text, text[], text, text, text, text),
  public.update_site(text, text, text[], text, text, text, bigint),
  public.set_site_archived(text, boolean),
  public.get_site(text),
  public.list_my_sites()
to authenticated;
