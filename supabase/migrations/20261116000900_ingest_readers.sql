-- What people see and set of ingest: whether events arrive, and how visitors' wishes are honoured.

-- ingest_status: whether the site's website is heard, and how many events could not be stored.
--   Returns  {lastEventAt, failed}.
--   Callers  members.
create function public.ingest_status(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return jsonb_build_object(
    'lastEventAt', (select s.last_seen_at from public.sessions s where s.site_id = v_site.id order by s.started_at desc limit 1),
    'failed', (select count(*) from public.ingest_fallback_buffer b where b.site_id = v_site.id and b.status = 'FAILED'));
end
$$;

-- set_site_privacy: whether nothing is stored without consent, and whether a browser's privacy signal is honoured.
--   Callers  owners.
create function public.set_site_privacy(p_public_id text, p_consent_mode text, p_respects_privacy_signal boolean) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  update public.sites s
    set consent_mode = p_consent_mode, respects_privacy_signal = p_respects_privacy_signal, updated_at = private.current_moment()
    where s.id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;

grant execute on function public.ingest_status(text), public.set_site_privacy(text, text, boolean) to authenticated;
