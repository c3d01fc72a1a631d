-- Consent: what each visitor last said, by when it happened. Every store, report, seal and claim compares with it.

create table public.consent_choices (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  visitor_id text not null,
  scopes text[] not null,
  chosen_at timestamptz not null,                  -- when the visitor chose; a message can arrive a day later
  received_at timestamptz not null,
  page_url text,
  tracker_version int,
  constraint choice_visitor_is_bounded check (char_length(visitor_id) between 1 and 64),
  constraint choice_scopes_are_bounded check (cardinality(scopes) <= 10),
  constraint choice_page_is_bounded check (char_length(page_url) <= 2048)
);
create index newest_choice_of_a_visitor on public.consent_choices (site_id, visitor_id, chosen_at desc, id desc);
alter table public.consent_choices enable row level security;

-- newest_choice: what a visitor last said; a null row when nothing is known.
create function private.newest_choice(p_site_id uuid, p_visitor_id text) returns public.consent_choices
language sql stable security definer set search_path = ''
as $$
  select c.* from public.consent_choices c
  where c.site_id = p_site_id and c.visitor_id = p_visitor_id
  order by c.chosen_at desc, c.id desc limit 1
$$;

-- refused_marketing: true if the visitor's newest choice leaves marketing out. A visitor who never chose refused nothing.
create function private.refused_marketing(p_site_id uuid, p_visitor_id text) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select not 'marketing' = any (c.scopes) from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = p_visitor_id
    order by c.chosen_at desc, c.id desc limit 1), false)
$$;

-- visitors_without_marketing: of the given visitors, those whose newest choice leaves marketing out.
--   Takes    at most 1,000 visitor ids.
--   Returns  [visitor id].
--   Callers  service role only.
create function public.visitors_without_marketing(p_site_id uuid, p_visitors text[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(v), '[]') from unnest(p_visitors[1:1000]) v
  where private.refused_marketing(p_site_id, v)
$$;
grant execute on function public.visitors_without_marketing(uuid, text[]) to opsmantik_app, service_role;
