-- The conversion action at Google that a conversion name stands for. A name that rows were sent
-- under keeps its line when the settings change.
create table public.provider_conversion_actions (
  site_id uuid not null references public.sites (id),
  provider_key text not null,
  conversion_name text not null,
  action text not null,
  google_name text,                                -- what Google calls the action, if known
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
alter table public.provider_conversion_actions enable row level security;

-- What Google calls each action ever chosen. It stays after another is chosen: rows keep theirs.
create table private.action_names (
  site_id uuid not null references public.sites (id),
  action text not null,
  google_name text not null,
  primary key (site_id, action)
);
alter table private.action_names enable row level security;

-- conversion_keys: every kind of conversion, the most valuable first.
create function private.conversion_keys() returns text[]
language sql immutable parallel safe set search_path = ''
as $$
  select array['seal', 'MEETING_BOOKED', 'SEAL_PENDING', 'INTENT_CAPTURED', 'page_view']
$$;

-- sent_names: the present names of the kinds that an API sends. Page views go by script only.
create function private.sent_names(p_site public.sites) returns table (key text, name text)
language sql immutable set search_path = ''
as $$
  select k.key, private.conversion_name(p_site, k.key)
  from unnest(private.conversion_keys()) k (key)
  where k.key <> 'page_view'
$$;

-- missing_actions: conversion names without a conversion action; an API sends nothing under them.
-- These are the present names, and earlier names that conversions still wait under.
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

-- is_elsewhere: true if none of the site's chosen actions is of this action's account. False while
-- none is chosen.
create function private.is_elsewhere(p_site_id uuid, p_action text) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce(bool_and(split_part(a.action, '/', 2) <> split_part(p_action, '/', 2)), false)
  from public.provider_conversion_actions a where a.site_id = p_site_id
$$;

-- mark_elsewhere: leaves adjustments of another account's conversions to a person (OTHER_ACCOUNT),
-- and gives them back to the API when the site returns to that account. The caller has called
-- hold_provider and locked the sales it needs.
--   Safe     skips locked rows instead of waiting: a claim refuses such a row all the same.
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
