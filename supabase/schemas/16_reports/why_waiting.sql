-- Why a sale's row waits, or failed, as links of why_not_counted.

-- why_failed: the link for a failed row. A row that failed for its credentials is queued again by a
-- new connection, so the connection's block is its link.
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

-- why_waiting: the link for a row that waits to be sent.
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

-- why_no_way: the link for whatever keeps an API site from sending the row; null if nothing does.
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

-- why_again: the link for a row that was tried or deferred and is tried again later; null for
-- others.
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
