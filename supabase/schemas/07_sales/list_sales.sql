-- The list of a site's sales, as its members see it.

-- delivery_of_sale: how far a sale has come on its way to Google: the reason why it is never
-- sent, or the state of its newest queue row, or NONE for a draft.
create function private.delivery_of_sale(p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select case
    when p_sale.delivery_block is not null
      then jsonb_build_object('state', 'BLOCKED', 'reason', p_sale.delivery_block)
    else coalesce((
      select jsonb_build_object(
        'state', q.status,
        'kind', q.kind,
        'reason', q.provider_error_code,
        'verdict', (
          select d.verdict from public.provider_dispatches d
          where d.sale_id = q.sale_id and d.queue_id = q.id
          order by d.dispatched_at desc limit 1))
      from public.offline_conversion_queue q
      where q.sale_id = p_sale.id order by q.created_at desc, q.id desc limit 1),
      '{"state": "NONE"}') end
$$;

-- sale_json: a sale as a line of the list.
create function private.sale_json(p_sale public.sales) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_sale.id,
    'externalRef', p_sale.external_ref,
    'status', p_sale.status,
    'version', p_sale.version,
    'amountCents', p_sale.amount_cents,
    'currency', p_sale.currency,
    'valueSource', p_sale.value_source,
    'occurredAt', p_sale.occurred_at,
    'note', private.readable_note(p_sale.site_id, p_sale.note),
    'callId', p_sale.call_id,
    'channel', (select c.channel from public.calls c where c.id = p_sale.call_id),
    'matchedBy', p_sale.matched_by,
    'delivery', private.delivery_of_sale(p_sale))
$$;

-- list_sales: newest first, by when they happened.
--   Takes    p_filter {status?, source? desk | elsewhere, delivery? sent | waiting | never |
--            failed, from?, to?, cursor?, limit?}
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
  v_source text := p_filter ->> 'source';
  v_rows jsonb;
begin
  select coalesce(jsonb_agg(private.sale_json(t.sale) order by t.occurred_at desc, t.id), '[]')
    into v_rows
    from (
      select s as sale, s.occurred_at, s.id from public.sales s
      where s.site_id = v_site.id
        and (v_at is null or s.occurred_at < v_at or (s.occurred_at = v_at and s.id > v_id))
        and s.status = coalesce(p_filter ->> 'status', s.status)
        and (v_source is null or (v_source = 'elsewhere') = (s.external_ref is not null))
        and (p_filter ->> 'from' is null
          or s.occurred_at >= (p_filter ->> 'from')::timestamptz)
        and (p_filter ->> 'to' is null or s.occurred_at < (p_filter ->> 'to')::timestamptz)
        and case p_filter ->> 'delivery'
          when 'never' then s.delivery_block is not null or (s.status = 'CANCELED'
            and not exists (select from public.provider_dispatches d where d.sale_id = s.id))
          when 'sent' then exists (
            select from public.provider_dispatches d where d.sale_id = s.id)
          when 'waiting' then exists (
            select from public.offline_conversion_queue q
            where q.sale_id = s.id and q.status = any (private.open_states()))
          when 'failed' then exists (
              select from public.offline_conversion_queue q
              where q.sale_id = s.id and q.status = 'FAILED'
                and q.provider_error_code not in ('SALE_CANCELLED', 'SUPERSEDED'))
            and not exists (
              select from public.offline_conversion_queue q
              where q.sale_id = s.id and q.status <> 'FAILED')
          else true end
      order by s.occurred_at desc, s.id limit v_limit) t;
  return jsonb_build_object(
    'sales', v_rows,
    'next', case
      when jsonb_array_length(v_rows) = v_limit
        then (v_rows -> -1 ->> 'occurredAt') || '_' || (v_rows -> -1 ->> 'id') end);
end
$$;
grant execute on function public.list_sales(text, jsonb) to authenticated;
