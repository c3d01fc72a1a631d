-- The quick search: leads by number or name, sales by reference or order id, on all sites of the
-- reader.

-- search_in: what the text finds on one site.
--   Takes    p_max of each kind. Names are found by operators only; viewers find numbers by the
--            four digits that they see.
--   Returns  {leads: [{siteId, id, phone, name, channel, status, calledAt}], sales: [{siteId, id,
--            orderId, externalRef, amountCents, currency, occurredAt, callId, rowId}]}, newest
--            first.
create function private.search_in(p_site public.sites, p_text text, p_max int) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_is_operator boolean := public.has_site_role(p_site.id, 'operator');
  v_digits text := right(regexp_replace(p_text, '\D', '', 'g'),
    case when v_is_operator then 9 else 4 end);
  v_like text := private.search_pattern(p_text);
begin
  return jsonb_build_object(
    'leads', coalesce((
      select jsonb_agg(jsonb_build_object(
          'siteId', p_site.public_id, 'id', c.id, 'phone', private.masked_phone(c.phone),
          'name', private.readable_note(c.site_id, c.contact_name),
          'channel', c.channel, 'status', c.status, 'calledAt', c.called_at)
        order by c.called_at desc, c.id)
      from (
        select x.* from public.calls x
        where x.site_id = p_site.id and x.id in (
          (select n.id from public.calls n
            where n.site_id = p_site.id and length(v_digits) >= 2 and n.phone is not null
              and reverse(regexp_replace(n.phone, '\D', '', 'g')) like reverse(v_digits) || '%'
            order by n.called_at desc limit p_max)
          union
          (select n.id from public.calls n
            where n.site_id = p_site.id and v_is_operator and n.contact_name is not null
              and translate(lower(translate(n.contact_name, 'Iİ', 'ii')), 'ı', 'i') like v_like
            order by n.called_at desc limit p_max))
        order by x.called_at desc, x.id limit p_max) c), '[]'),
    'sales', coalesce((
      select jsonb_agg(jsonb_build_object(
          'siteId', p_site.public_id, 'id', s.id, 'orderId', s.order_id,
          'externalRef', s.external_ref,
          'amountCents', s.amount_cents, 'currency', s.currency, 'occurredAt', s.occurred_at,
          'callId', s.call_id, 'rowId', (
            select q.id from public.offline_conversion_queue q
            where q.sale_id = s.id order by q.created_at desc, q.id desc limit 1))
        order by s.occurred_at desc, s.id)
      from (
        select x.* from public.sales x
        where x.site_id = p_site.id
          and translate(lower(translate(
            concat_ws(E'\n', x.order_id, x.external_ref), 'Iİ', 'ii')), 'ı', 'i') like v_like
        order by x.occurred_at desc, x.id limit p_max) s), '[]'));
end
$$;

-- search_sites: what a reader types into the quick search finds, on every site that they belong to.
--   Takes    p_text of 2 to 80 characters; p_first, the site in view.
--   Returns  as search_in: up to eight of each kind from the site in view, then the eight newest of
--            all others. Archived sites are left out, unless in view.
--   Callers  anyone who is signed in; each site is searched with their role there.
create function public.search_sites(p_text text, p_first text default null) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_text text := btrim(left(p_text, 80));
begin
  if char_length(v_text) < 2 then
    perform private.refuse_setting('text');
  end if;
  return (
    with found as materialized (
      select coalesce(s.public_id = p_first, false) as is_first,
        private.search_in(s, v_text, 8) as it
      from public.sites s
      where s.id in (
          select m.site_id from public.site_members m where m.user_id = (select auth.uid()))
        and (s.archived_at is null or s.public_id = p_first)),
    ranked as (
      select k.kind, f.is_first, e.item,
        row_number() over (partition by k.kind, f.is_first order by
          coalesce(e.item ->> 'calledAt', e.item ->> 'occurredAt')::timestamptz desc,
          e.item ->> 'id') as place
      from found f
        cross join (values ('leads'), ('sales')) k (kind)
        cross join jsonb_array_elements(f.it -> k.kind) e (item))
    select jsonb_object_agg(k.kind, coalesce((
      select jsonb_agg(r.item order by r.is_first desc, r.place)
      from ranked r where r.kind = k.kind and r.place <= 8), '[]'))
    from (values ('leads'), ('sales')) k (kind));
end
$$;
grant execute on function public.search_sites(text, text) to authenticated;
