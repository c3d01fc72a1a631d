-- Who may see and change a site.

-- has_site_role: whether the signed-in user has at least this role on the site. Every policy and
-- reader asks it.
create function public.has_site_role(p_site_id uuid, p_role public.site_role) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from public.site_members m
    where m.site_id = p_site_id and m.user_id = (select auth.uid()) and m.role >= p_role)
$$;
grant execute on function public.has_site_role(uuid, public.site_role) to authenticated;

-- readable_note: what people wrote about a customer, for those who work with customers. Viewers see
-- the figures, not the notes.
create function private.readable_note(p_site_id uuid, p_note text) returns text
language sql stable security definer set search_path = ''
as $$
  select case when p_note is not null and public.has_site_role(p_site_id, 'operator')
    then p_note end
$$;

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

-- may_create_site: owners may add sites. On an installation without any site, the first signed-in
-- user may.
create function private.may_create_site() returns boolean
language sql stable security definer set search_path = ''
as $$
  select auth.uid() is not null
    and (exists (
        select from public.site_members m where m.user_id = auth.uid() and m.role = 'owner')
      or not exists (select from public.sites))
$$;
