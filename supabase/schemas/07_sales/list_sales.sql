-- The list of a site's sales, as its members see it.

-- delivery_of_sale: how far a sale has come on its way to Google: the reason why it is never
-- sent, or the state of its newest queue row, or NONE for a draft. A correction that a later change
-- made needless says nothing: what Google has stands.
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
      where q.sale_id = p_sale.id and (q.kind = 'CONVERSION' or q.status <> 'FAILED'
        or coalesce(q.provider_error_code, '') <> all (private.not_sent_codes()))
      order by q.created_at desc, q.id desc limit 1),
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
    'orderId', p_sale.order_id,
    'rowId', (
      select q.id from public.offline_conversion_queue q
      where q.sale_id = p_sale.id order by q.created_at desc, q.id desc limit 1),
    'proofId', (
      select p.id from public.transition_proofs p
      where p.entity_id in (p_sale.id, p_sale.call_id)   -- a seal is a move of the lead
        and (p.entity_id = p_sale.id or p.facts ->> 'saleId' = p_sale.id::text)
      order by p.occurred_at desc, p.id desc limit 1),
    'channel', (select c.channel from public.calls c where c.id = p_sale.call_id),
    'matchedBy', p_sale.matched_by,
    'undo', case when p_sale.updated_at > private.current_moment() - private.undo_window()
      then private.undo_sale_json(p_sale) end,
    'restoreCents', case
      when p_sale.status = 'CANCELED' and p_sale.call_id is null
        and not private.may_be_retracted(p_sale.id)
      then private.worth_before(p_sale) end,
    'delivery', private.delivery_of_sale(p_sale))
$$;

-- matching_sales: the sales that a filter shows, in its order.
--   Takes    p_filter as list_sales. Only operators search notes, names and numbers.
--   Refuses  400 VALIDATION_FAILED for a malformed date, id or cursor.
-- Order and place are written into the query, each one of four constants: the newest first are read
-- from their index, page by page.
create function private.matching_sales(p_site public.sites, p_filter jsonb, p_limit int)
returns setof public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_key constant text := case when p_filter ->> 'sort' in ('largest', 'smallest')
    then 's.amount_cents' else 's.occurred_at' end;
  v_is_up constant boolean :=
    coalesce(p_filter ->> 'sort' in ('oldest', 'smallest'), false);
  v_is_operator boolean := public.has_site_role(p_site.id, 'operator');
  v_text text := nullif(btrim(left(p_filter ->> 'q', 80)), '');
  v_digits text := regexp_replace(v_text, '\D', '', 'g');
begin
  return query execute format($q$
    select s.* from public.sales s
    where s.site_id = $1
      and ($2 is null or s.occurred_at >= $2) and ($3 is null or s.occurred_at < $3)
      and s.status = coalesce($4, s.status) and ($14 is null or s.id = $14)
      and ($5 is null or ($5 = 'elsewhere') = (s.external_ref is not null))
      and ($6 is null
        or translate(lower(translate(concat_ws(E'\n', s.external_ref, s.order_id,
          case when $7 then s.note end), 'Iİ', 'ii')), 'ı', 'i') like $6
        or s.id::text = $13
        or exists (select from public.calls c where c.id = s.call_id
          and ($7 and translate(lower(translate(c.contact_name, 'Iİ', 'ii')), 'ı', 'i') like $6
            or $8 is not null and regexp_replace(c.phone, '\D', '', 'g') like $8)))
      and case $9
        when 'never' then s.delivery_block is not null or (
          not exists (select from public.provider_dispatches d where d.sale_id = s.id)
          and (s.status = 'CANCELED' or (
            select q.status = 'FAILED' and q.provider_error_code = any (private.not_sent_codes())
            from public.offline_conversion_queue q
            where q.sale_id = s.id order by q.created_at desc, q.id desc limit 1)))
        when 'sent' then exists (
          select from public.provider_dispatches d where d.sale_id = s.id)
        when 'waiting' then exists (
          select from public.offline_conversion_queue q
          where q.sale_id = s.id and q.state = any (private.waiting_states()))
        when 'failed' then exists (
            select from public.offline_conversion_queue q
            where q.sale_id = s.id and q.status = 'FAILED'
              and q.provider_error_code <> all (private.not_sent_codes()))
          and not exists (
            select from public.offline_conversion_queue q
            where q.sale_id = s.id and q.status <> 'FAILED')
        else true end
      and ($10 is null or %1$s %2$s $10::%3$s or (%1$s = $10::%3$s and s.id > $11))
    order by %1$s %4$s, s.id limit $12$q$,
    v_key, case when v_is_up then '>' else '<' end,
    case v_key when 's.amount_cents' then 'bigint' else 'timestamptz' end,
    case when v_is_up then 'asc' else 'desc' end)
    using p_site.id,
      private.start_of_day(p_site, (p_filter ->> 'from')::date),
      private.start_of_day(p_site, (p_filter ->> 'to')::date + 1),
      p_filter ->> 'status', p_filter ->> 'source',
      private.search_pattern(v_text), v_is_operator,
      -- Viewers see the last four digits of a number, and find it by those.
      case when length(v_digits) between 4 and case when v_is_operator then 15 else 4 end
        then '%' || v_digits end,
      p_filter ->> 'delivery',
      nullif(split_part(p_filter ->> 'cursor', '_', 1), ''),
      nullif(split_part(p_filter ->> 'cursor', '_', 2), '')::uuid, p_limit, v_text,
      (p_filter ->> 'sale')::uuid;
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
    perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;

-- sales_totals: how many sales a filter shows, and what the confirmed ones among them are worth.
create function private.sales_totals(p_site public.sites, p_filter jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('count', coalesce(sum(t.sales), 0), 'confirmedCents',
    coalesce(jsonb_object_agg(t.currency, t.cents) filter (where t.cents > 0), '{}'))
  from (
    select s.currency, count(*) as sales,
      coalesce(sum(s.amount_cents) filter (where s.status = 'CONFIRMED'), 0) as cents
    from private.matching_sales(p_site, p_filter, null) s group by 1) t
$$;

-- list_sales: a page of sales.
--   Takes    p_filter {status?, source? desk | elsewhere, delivery? sent | waiting | never |
--            failed, sale? (its id), q?, from?, to? (days of the site's calendar, both included),
--            sort? oldest | largest | smallest (newest otherwise), cursor?, limit?}. q finds a
--            reference, an order id, a sale's id, a note, a name or the last digits of a number.
--   Returns  {sales, next, totals}: next goes back as cursor, null at the end; totals {count,
--            confirmedCents: {currency: cents}} of all pages, on the first one only.
--   Callers  viewers.
create function public.list_sales(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_limit int := least(greatest(coalesce((p_filter ->> 'limit')::int, 50), 1), 500);
  v_sales public.sales[];
  v_rows jsonb;
begin
  select array(select s from private.matching_sales(v_site, p_filter, v_limit) s) into v_sales;
  select coalesce(jsonb_agg(private.sale_json(v_sales[i]) order by i), '[]') into v_rows
    from generate_subscripts(v_sales, 1) i;
  return jsonb_build_object(
    'sales', v_rows,
    'totals', case when p_filter ->> 'cursor' is null
      then private.sales_totals(v_site, p_filter) end,
    'next', case when jsonb_array_length(v_rows) = v_limit
      then (v_rows -> -1 ->> case when p_filter ->> 'sort' in ('largest', 'smallest')
        then 'amountCents' else 'occurredAt' end)
        || '_' || (v_rows -> -1 ->> 'id') end);
end
$$;
grant execute on function public.list_sales(text, jsonb) to authenticated;
