-- Locks are taken in one order everywhere: sales by id, then their queue rows. Whoever
-- changes rows without their sales never waits for a row. Rows are always looked up by an index
-- (enable_seqscan): a plan that was made while a part of the queue was small stays when it grows.

-- lock_sales_of: locks the sales of these rows. That is enough for an answer: everybody who decides
-- by what was delivered locks them. Claims and sweeps of waiting rows do not, but skip locked rows;
-- an answer that meets one of them waits and reads the row again.
create function private.lock_sales_of(p_ids uuid[]) returns void
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
begin
  perform from public.sales s
    where s.id in (
      select q.sale_id from public.offline_conversion_queue q where q.id = any (p_ids))
    order by s.id for no key update;
end
$$;

-- lock_with_sales: locks the rows as well, for a person's action, which decides by the row's state:
-- no claim may change it meanwhile.
create function private.lock_with_sales(p_ids uuid[]) returns void
language plpgsql security definer set search_path = '' set enable_seqscan = off
as $$
begin
  perform private.lock_sales_of(p_ids);
  perform from public.offline_conversion_queue q where q.id = any (p_ids) order by q.id for update;
end
$$;

-- of_this_site: the given rows that belong to a site. Ids of other sites are dropped, so they are
-- neither changed nor revealed.
create function private.of_this_site(p_site_id uuid, p_ids uuid[]) returns uuid[]
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
begin
  return array(
    select q.id from public.offline_conversion_queue q
    where q.id = any (p_ids) and q.site_id = p_site_id);
end
$$;
