-- Locks are taken in one order everywhere: sales by id, then their queue rows. Who changes rows
-- without their sales never waits for one.

-- lock_sales_of: the sales of these rows. Enough for an answer: whoever decides by what was
-- delivered holds them. Claims and sweeps of waiting rows do not, but skip what somebody has; an
-- answer that meets one of them waits, and looks at the row anew.
create function private.lock_sales_of(p_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.sales s
    where s.id in (
      select q.sale_id from public.offline_conversion_queue q where q.id = any (p_ids))
    order by s.id for no key update;
end
$$;

-- lock_with_sales: the rows as well, for a person's action, which decides by what the row is: no
-- claim may change it meanwhile.
create function private.lock_with_sales(p_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform private.lock_sales_of(p_ids);
  perform from public.offline_conversion_queue q where q.id = any (p_ids) order by q.id for update;
end
$$;

-- of_this_site: the given rows that belong to a site. Ids of other sites are dropped, so they are
-- neither changed nor revealed.
create function private.of_this_site(p_site_id uuid, p_ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = ''
as $$
begin
  return array(
    select q.id from public.offline_conversion_queue q
    where q.id = any (p_ids) and q.site_id = p_site_id);
end
$$;
