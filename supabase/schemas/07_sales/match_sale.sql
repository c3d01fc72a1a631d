-- Which lead a sale from elsewhere belongs to, and which click.

-- callers_of: the forms in which a call may hold the number of a sale's customer: under each vault
-- key that is alive, and bare, as older versions stored it (npm run secrets:seal).
--   Takes    p_args {callers?: [{hash, keyId}]}
create function private.callers_of(p_sale public.sales, p_args jsonb) returns text[]
language sql immutable set search_path = ''
as $$
  select array_append(
    array(select c ->> 'hash' from jsonb_array_elements(p_args -> 'callers') c limit 4),
    p_sale.customer_hash)
$$;

-- customer_calls: the calls of a sale's customer: by its click or the caller's number, within the
-- life of a click before the sale.
--   Takes    p_callers as callers_of gives them.
create function private.customer_calls(p_site_id uuid, p_sale public.sales, p_callers text[])
returns setof public.calls
language plpgsql stable security definer set search_path = '' rows 20
as $$
begin
  return query select c.* from public.calls c
    where c.site_id = p_site_id
      and c.called_at <= p_sale.occurred_at
      and c.called_at > p_sale.occurred_at - private.click_life()
      and (c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid or c.gbraid = p_sale.gbraid
        or c.caller_hash = any (p_callers));
end
$$;

-- candidate_calls: the calls that a sale may belong to, best first: those with its click, then
-- those with the caller's number; of those, leads that a signed report or a person confirmed, which
-- nobody can forge; then the newest. Junk is no customer.
create function private.candidate_calls(
  p_site public.sites, p_sale public.sales, p_callers text[]
) returns setof uuid
language sql stable security definer set search_path = '' rows 20
as $$
  select c.id from private.customer_calls(p_site.id, p_sale, p_callers) c
  where c.status <> 'junk'
  order by coalesce(c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid
    or c.gbraid = p_sale.gbraid, false) desc, private.awaits_person(c), c.called_at desc, c.id
  limit 20
$$;

-- lock_calls: locks calls in the order of their ids, as everybody must who locks more than one.
--   Returns  the same ids.
create function private.lock_calls(p_call_ids uuid[]) returns uuid[]
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.calls c where c.id = any (p_call_ids) order by c.id for update;
  return p_call_ids;
end
$$;

-- match_call: the best candidate that no living sale has. It stays locked until the sale is
-- written: two sales never take the same call.
--   Takes    p_call_ids: calls that the caller has locked and lets the sale take; null for any.
create function private.match_call(
  p_site public.sites, p_sale public.sales, p_callers text[], p_call_ids uuid[]
) returns public.calls
language plpgsql security definer set search_path = ''
as $$
declare
  v_locked uuid[] := coalesce(p_call_ids,
    private.lock_calls(array(select private.candidate_calls(p_site, p_sale, p_callers))));
  v_call public.calls;
begin
  -- Checked again under the locks: their last holder may have sold the call or made it junk.
  select c.* into v_call
    from private.candidate_calls(p_site, p_sale, p_callers) with ordinality f (id, place)
    join public.calls c on c.id = f.id
    where c.id = any (v_locked)
      and not exists (select from public.sales s where s.call_id = c.id and s.status <> 'CANCELED')
    order by f.place limit 1;
  return v_call;
end
$$;

-- sold_call: the newest call of the same customer that has its sale already.
create function private.sold_call(
  p_site public.sites, p_sale public.sales, p_callers text[]
) returns uuid
language sql stable security definer set search_path = ''
as $$
  select c.id from private.customer_calls(p_site.id, p_sale, p_callers) c
  where exists (select from public.sales s where s.call_id = c.id and s.status <> 'CANCELED')
  order by c.called_at desc, c.id limit 1
$$;

-- refused_since: true if a visitor behind this sale refused marketing after it happened, as the
-- newest choice: the visitor of its call, or one who came with its click. A customer who agrees at
-- the till later made a later choice. Being erased after the sale is a refusal.
create function private.refused_since(
  p_site_id uuid, p_sale public.sales, p_call public.calls
) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from (
      select p_call.visitor_id as visitor_id where p_call.id is not null
      union
      select c.visitor_id from private.click_sightings c
      where c.site_id = p_site_id
        and c.click_hash in (
          select private.click_hashes(p_sale.gclid, p_sale.wbraid, p_sale.gbraid))) v
    cross join lateral private.newest_choice(p_site_id, v.visitor_id) n
    where not 'marketing' = any (n.scopes) and n.chosen_at > p_sale.occurred_at)
    or exists (
      select from unnest(array[p_sale.gclid, p_sale.wbraid, p_sale.gbraid]) c
        join private.erased_marks m
          on m.site_id = p_site_id and m.mark = private.mark_of(p_site_id, 'click', c)
      where m.erased_at > p_sale.occurred_at)
$$;

-- take_click: the click that a sale is sent to Google with: its call's, or its own where the
-- customer agreed, or none, with the reason. A click id without consent is not kept. The time of
-- a click of its own is not known; it was not after the sale. The hash of an e-mail address is
-- for Google alone, so it is kept only where the customer agreed; that of the number only where the
-- sale may be sent.
--   Takes    p_consent: what the customer said; null for nothing. A no counts for this sale, even
--            if the visitor of its call agreed.
create function private.take_click(
  p_site_id uuid, p_sale public.sales, p_call public.calls, p_consent boolean
) returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_has_own boolean := coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null;
  v_agrees boolean := coalesce(p_consent, false)
    and not private.refused_since(p_site_id, p_sale, p_call);
begin
  if not v_agrees then
    p_sale.email_hash := null;
  end if;
  p_sale.delivery_block := case
    when not p_consent then 'NO_CONSENT'
    when p_call.id is not null then private.delivery_block_of(p_call)
    when not v_has_own then 'NO_MATCH'
    else 'NO_CONSENT' end;
  if p_call.id is not null and p_sale.delivery_block is null then
    p_sale.gclid := p_call.gclid;
    p_sale.wbraid := p_call.wbraid;
    p_sale.gbraid := p_call.gbraid;
    p_sale.clicked_at := p_call.clicked_at;
  elsif v_has_own and v_agrees then
    p_sale.clicked_at := least(p_sale.occurred_at, private.current_moment());
    p_sale.delivery_block := null;
  else
    p_sale.gclid := null;
    p_sale.wbraid := null;
    p_sale.gbraid := null;
  end if;
  if p_sale.delivery_block is not null then
    p_sale.customer_hash := null;
  end if;
  return p_sale;
end
$$;
