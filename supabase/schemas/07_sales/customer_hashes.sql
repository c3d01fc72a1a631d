-- Hashes of customers' numbers and addresses: deleted when nothing can be sent any more, and made
-- again when the vault key changes.

-- purge_customer_hashes: deletes what Google would have been sent of a customer. A sale that Google
-- has can be corrected for 54 days; no sale can be sent 90 days after it happened.
--   Safe     against a claim under way: it holds the sale, which is then left for the next run.
--   Returns  {purged}; at most 5,000 a call.
--   Callers  service role only (cron).
create function public.purge_customer_hashes() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_purged int;
begin
  update public.sales s set customer_hash = null, email_hash = null
    where s.id = any (array(
      select x.id from public.sales x
      where (x.customer_hash is not null or x.email_hash is not null)
        and x.occurred_at <= v_now - private.adjustments_end()
        and (x.occurred_at <= v_now - private.click_life()
          or exists (select from private.delivered_sales d where d.sale_id = x.id))
      order by x.occurred_at limit 5000 for update skip locked));
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_customer_hashes() to opsmantik_app, service_role;

-- list_caller_hashes: calls and sales whose number is hashed with one vault key, or bare, for the
-- change to another.
--   Takes    p_key_id: null for bare ones, as older versions stored them.
--   Returns  [{kind: call | sale, id, from, phoneHash}], at most p_limit (1,000) of each kind.
--            phoneHash is the SHA-256 to hash again; null where the number is no longer known.
--   Callers  service role only.
create function public.list_caller_hashes(p_key_id text, p_limit int default 500) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'kind', t.kind, 'id', t.id, 'from', t.caller_hash, 'phoneHash', t.phone_hash)), '[]')
  from (
    (select 'call' as kind, c.id, c.caller_hash,
        case when p_key_id is null then c.caller_hash else private.phone_to_send(c) end
          as phone_hash
      from public.calls c
      where c.caller_hash is not null and c.caller_key_id is not distinct from p_key_id
      order by c.id limit least(greatest(p_limit, 1), 1000))
    union all
    (select 'sale', s.id, s.caller_hash, s.customer_hash
      from public.sales s
      where s.caller_hash is not null and s.caller_key_id = p_key_id
      order by s.id limit least(greatest(p_limit, 1), 1000))
    union all
    (select 'sale', s.id, null, s.customer_hash
      from public.sales s
      where p_key_id is null and s.customer_hash is not null and s.caller_key_id is null
      order by s.id limit least(greatest(p_limit, 1), 1000))) t
$$;
grant execute on function public.list_caller_hashes(text, int) to opsmantik_app, service_role;

-- rekey_caller_hashes: stores numbers hashed with another vault key. One whose number is no longer
-- known is deleted: without its key it would match nothing. A sale from before loses what its
-- reference is compared by, which held the bare hash, and its hash if it is never sent.
--   Takes    p_rows [{kind, id, from, hash, keyId}], at most 2,000; hash null: delete
--   Safe     to repeat, and against a report that changes the number meanwhile: only what was
--            read is replaced.
--   Returns  {rekeyed}.
--   Callers  service role only.
create function public.rekey_caller_hashes(p_rows jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_calls int;
  v_sales int;
begin
  if jsonb_array_length(p_rows) > 2000 then
    perform private.refuse_setting('rows');
  end if;
  perform private.lock_calls(array(
    select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r where r ->> 'kind' = 'call'));
  update public.calls c
    set caller_hash = r.line ->> 'hash',
        caller_key_id = case when r.line ->> 'hash' is not null then r.line ->> 'keyId' end
    from jsonb_array_elements(p_rows) r (line)
    where r.line ->> 'kind' = 'call' and c.id = (r.line ->> 'id')::uuid
      and c.caller_hash = r.line ->> 'from';
  get diagnostics v_calls = row_count;
  perform from public.sales s
    where s.id in (
      select (r ->> 'id')::uuid from jsonb_array_elements(p_rows) r where r ->> 'kind' = 'sale')
    order by s.id for update;
  update public.sales s
    set caller_hash = r.line ->> 'hash',
        caller_key_id = case when r.line ->> 'hash' is not null then r.line ->> 'keyId' end,
        external_hash = case when s.caller_hash is not null then s.external_hash end,
        customer_hash = case when s.delivery_block is null then s.customer_hash end
    from jsonb_array_elements(p_rows) r (line)
    where r.line ->> 'kind' = 'sale' and s.id = (r.line ->> 'id')::uuid
      and s.caller_hash is not distinct from r.line ->> 'from';
  get diagnostics v_sales = row_count;
  return jsonb_build_object('rekeyed', v_calls + v_sales);
end
$$;
grant execute on function public.rekey_caller_hashes(jsonb) to opsmantik_app, service_role;
