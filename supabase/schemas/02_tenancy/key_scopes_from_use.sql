-- Keys from before there were scopes get the scopes they were used for, and no more.

-- scopes_from_use: what a key did in the last 90 days, by the ledgers that name it. A key that did
-- nothing gets `script`, the least. A lead that was sealed with a sale from elsewhere was moved by
-- /api/sales, so it counts as the sale.
create function private.scopes_from_use(p_key_id uuid, p_now timestamptz) returns text[]
language sql stable security definer set search_path = ''
as $$
  select coalesce(array_agg(u.scope order by u.place), '{script}')
  from unnest(private.key_scopes()) with ordinality u (scope, place)
  cross join (select p_now - interval '90 days' as since) w
  where u.scope in (
    select 'script' from public.queue_transitions t
      where t.actor_kind = 'api_key' and t.actor_id = p_key_id
        and t.created_at > w.since
        and t.reason in ('SCRIPT_EXPORT', 'SCRIPT_ACK', 'SCRIPT_ACK_FAILED', 'UNEXPORTABLE')
    union all
    select case
        when p.contract = 'sale' or s.external_ref is not null then 'sales'
        when p.contract = 'call' then 'calls'
        else 'contracts' end
      from public.transition_proofs p
      left join public.sales s on s.id = (p.facts ->> 'saleId')::uuid and p.contract = 'call'
      where p.actor_kind = 'api_key' and p.actor_id = p_key_id
        and p.occurred_at > w.since)
$$;

update public.site_api_keys k set scopes = private.scopes_from_use(k.id, private.current_moment());
