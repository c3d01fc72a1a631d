-- What a person sees of their own account, and how they end it.

-- my_account: the caller's sessions and memberships.
--   Returns  {sessions: [{startedAt, usedAt, isThis}], sites: [{siteId, name, role, archived,
--            onlyOwner}]}. onlyOwner: an open site that would be left without an owner.
--   Callers  signed-in users.
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
grant execute on function public.my_account() to authenticated;

-- is_only_owner: true if the open site would have no owner without this person.
create function private.is_only_owner(p_site public.sites, p_user_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$
  select p_site.archived_at is null
    and coalesce((
      select bool_and(m.user_id = p_user_id) from public.site_members m
      where m.site_id = p_site.id and m.role = 'owner'), false)
$$;

-- delete_my_account: ends the caller's account with its sessions and memberships. What they did
-- stays in the records of the sites, under the address of then.
--   Refuses  409 LAST_OWNER with {sites}, the names of open sites that nobody else owns; 403
--            SIGN_IN_AGAIN.
--   Safe     against an owner who leaves at the same moment: a_site_keeps_an_owner locks the site.
--   Callers  signed-in users.
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
grant execute on function public.delete_my_account() to authenticated;
