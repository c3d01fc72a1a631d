-- The list of a site's sales, as its members see it.

-- delivery_of_sale: how far Google has been told of a sale: the reason why never, or its newest row's state, or NONE for a draft.
create function private.delivery_of_sale(p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case when p_sale.delivery_block is not null then jsonb_build_object('state', 'BLOCKED', 'reason', p_sale.delivery_block)
    else coalesce((select jsonb_build_object('state', q.status, 'kind', q.kind, 'reason', q.provider_error_code,
                     'verdict', (select d.verdict from public.provider_dispatches d where d.sale_id = q.sale_id and d.queue_id = q.id order by d.dispatched_at desc limit 1))
                   from public.offline_conversion_queue q where q.sale_id = p_sale.id order by q.created_at desc, q.id desc limit 1),
                  '{"state": "NONE"}') end
$$;

-- list_sales: newest first, by when they happened.
--   Takes    p_filter {status?, source? desk | elsewhere, delivery? sent | waiting | never | failed, from?, to?, cursor?, limit?}
--   Returns  {sales, next}: next goes back as cursor, null at the end.
--   Callers  viewers.
create function public.list_sales(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_limit int := least(greatest(coalesce((p_filter ->> 'limit')::int, 50), 1), 500);
  v_at timestamptz := nullif(split_part(p_filter ->> 'cursor', '_', 1), '')::timestamptz;
  v_id uuid := nullif(split_part(p_filter ->> 'cursor', '_', 2), '')::uuid;
  v_rows jsonb;
begin
  select coalesce(jsonb_agg(to_jsonb(t) order by t."occurredAt" desc, t.id), '[]') into v_rows from (
    select s.id, s.external_ref as "externalRef", s.status, s.version, s.amount_cents as "amountCents", s.currency, s.value_source as "valueSource",
      s.occurred_at as "occurredAt", s.note, s.call_id as "callId", c.channel, s.matched_by as "matchedBy", private.delivery_of_sale(s) as delivery
    from public.sales s left join public.calls c on c.id = s.call_id
    where s.site_id = v_site.id
      and (v_at is null or s.occurred_at < v_at or (s.occurred_at = v_at and s.id > v_id))
      and s.status = coalesce(p_filter ->> 'status', s.status)
      and (p_filter ->> 'source' is null or (p_filter ->> 'source' = 'elsewhere') = (s.external_ref is not null))
      and (p_filter ->> 'from' is null or s.occurred_at >= (p_filter ->> 'from')::timestamptz)
      and (p_filter ->> 'to' is null or s.occurred_at < (p_filter ->> 'to')::timestamptz)
      and case p_filter ->> 'delivery'
        when 'never' then s.delivery_block is not null or (s.status = 'CANCELED' and not exists (select from public.provider_dispatches d where d.sale_id = s.id))
        when 'sent' then exists (select from public.provider_dispatches d where d.sale_id = s.id)
        when 'waiting' then exists (select from public.offline_conversion_queue q where q.sale_id = s.id and q.status in ('QUEUED', 'RETRY', 'PROCESSING'))
        when 'failed' then exists (select from public.offline_conversion_queue q where q.sale_id = s.id and q.status = 'FAILED'
                                   and q.provider_error_code not in ('SALE_CANCELLED', 'SUPERSEDED'))
          and not exists (select from public.offline_conversion_queue q where q.sale_id = s.id and q.status in ('QUEUED', 'RETRY', 'PROCESSING', 'COMPLETED'))
        else true end
    order by s.occurred_at desc, s.id limit v_limit) t;
  return jsonb_build_object('sales', v_rows, 'next', case when jsonb_array_length(v_rows) = v_limit then
    (v_rows -> -1 ->> 'occurredAt') || '_' || (v_rows -> -1 ->> 'id') end);
end
$$;
grant execute on function public.list_sales(text, jsonb) to authenticated;
