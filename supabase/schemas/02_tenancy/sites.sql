-- Tenancy: a site is one customer's business; members see it by role; its keys let machines in.
-- Outside the database a site is known by public_id only; sites.id never leaves.

create table public.sites (
  id uuid primary key default private.uuid_v7(),
  public_id text not null unique default encode(extensions.gen_random_bytes(16), 'hex'),
  name text not null,
  domains text[] not null,
  currency text not null,
  timezone text not null default 'Europe/Istanbul',
  locale text not null default 'tr',
  oci_sync_method text not null default 'script',
  -- 'required': nothing is stored without analytics consent.
  consent_mode text not null,
  -- Do Not Track and Global Privacy Control.
  respects_privacy_signal boolean not null default false,
  -- The average order: what a sealed lead is worth before anybody says an amount.
  default_aov_cents bigint not null default 10000,
  -- Stage -> share of the average order, where the site differs from the default.
  intent_weights jsonb not null default '{}',
  -- Pipeline B: stages before the seal are sent to Google too.
  signals_enabled boolean not null default false,
  -- How many of them are handed out on one day of the site, by script and API together.
  signals_daily_max int not null default 200,
  -- Pipeline C: page views with a click id are sent to Google too.
  page_views_enabled boolean not null default false,
  -- seal, INTENT_CAPTURED … -> the name of the conversion in Google Ads.
  conversion_names jsonb not null default '{}',
  -- How long a seal can be taken back before it is sent to Google.
  send_delay_minutes int not null default 10,
  -- Google refuses younger clicks, and a script never learns of it.
  click_min_age_hours int not null default 6,
  -- An unsealed lead older than this waits for somebody.
  needs_you_after_hours int not null default 48,
  created_by uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz,
  -- Until then nothing is handed out for sending; private.is_paused reads it.
  paused_until timestamptz,
  pause_reason text,
  -- Since when consent_mode is as it is.
  consent_set_at timestamptz not null default private.current_moment(),
  -- Amounts for one tap on the desk, until the site has sealed some of its own.
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
alter table public.sites enable row level security;
create policy members_see_their_site on public.sites for select to authenticated
  using (public.has_site_role(id, 'viewer'));
-- By column: nobody can read the internal id of a site or the hash of a key.
grant select (
  public_id, name, domains, currency, timezone, locale, oci_sync_method, created_at, archived_at
) on public.sites to authenticated;

-- Sites are archived: their ledger must stay readable.
create trigger sites_are_never_deleted before delete on public.sites
  for each row execute function private.refuse_change();
create trigger sites_are_never_truncated before truncate on public.sites
  for each statement execute function private.refuse_change();
