-- Click ids, hashed telephone numbers and e-mail addresses as they were handed out, or, of a row
-- that was only queued, as they would be. A dispatch is permanent, and these must be erasable: so
-- they are here, and the row and its dispatch keep a salted hash. Once the salt is deleted too,
-- nobody can test whether a click id was the one.

create table public.dispatch_identifiers (
  queue_id uuid primary key,
  site_id uuid not null,
  gclid text,
  wbraid text,
  gbraid text,
  customer_hash text,
  email_hash text,
  salt uuid not null,                              -- of this row alone
  handed_at timestamptz not null                   -- or queued: click ids are noted then
);
-- Rows lie in the order in which they were handed out; a claim pays nothing for this.
create index identifiers_by_age on public.dispatch_identifiers using brin (handed_at)
  with (autosummarize = on);
alter table public.dispatch_identifiers enable row level security;

-- forget_identifiers: deletes the identifiers that were handed out of these sales. Their hashes
-- stay, but can no longer be tested. Called with the sales locked, or by itself.
--   Safe     against a claim under way: it holds its rows, so this waits and deletes what it wrote.
create function private.forget_identifiers(p_sale_ids uuid[]) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.offline_conversion_queue q where q.sale_id = any (p_sale_ids)
    order by q.id for update;
  -- A plain row's claim relies on them.
  update private.queue_open q set is_plain = false
    where q.sale_id = any (p_sale_ids) and q.is_plain;
  delete from public.dispatch_identifiers i using public.offline_conversion_queue q
    where q.sale_id = any (p_sale_ids) and i.queue_id = q.id;
end
$$;

-- identifiers_kept: how long we keep what was handed out. Adjustments end after 54 days.
create function private.identifiers_kept() returns interval
language sql immutable parallel safe set search_path = ''
as $$ select interval '90 days' $$;

-- purge_dispatch_identifiers: forget what was handed out 90 days ago.
--   Returns  {purged}; at most 5,000 a call.
--   Callers  service role only (cron).
create function public.purge_dispatch_identifiers() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_purged int;
begin
  delete from public.dispatch_identifiers i where i.queue_id = any (array(
    select x.queue_id from public.dispatch_identifiers x
    where x.handed_at < private.current_moment() - private.identifiers_kept()
    order by x.handed_at limit 5000 for update skip locked));
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_dispatch_identifiers() to opsmantik_app, service_role;
