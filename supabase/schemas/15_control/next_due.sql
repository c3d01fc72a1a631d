-- next_due: when the first row of a site in this state may be sent, without rows that wait for a
-- person, for Google's verdict or for the retraction of another sale. Looks at the 100 that come
-- first; null when none of them is sent by itself.
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
