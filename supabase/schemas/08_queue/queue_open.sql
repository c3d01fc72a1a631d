-- The part of the queue that is not delivered. It has no CHECK, no foreign key and no trigger after
-- each row: check_queue_rows looks once per statement. Postgres parses each CHECK again for every
-- statement, and a foreign key fetches the old row once more. A sale is never deleted: its
-- snapshots hold it.

create table private.queue_open partition of public.offline_conversion_queue (
  primary key (id)
) for values in ('QUEUED', 'RETRY', 'FAILED')
with (
  -- A claim makes the row longer and writes it into the same page: at 45 a third of them did not
  -- fit. The room costs little, because a row soon leaves. Vacuum starts by count.
  fillfactor = 33, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.02
);
alter table private.queue_open enable row level security;

-- No index has a column that a claim sets, not even in its predicate: a single one, and each claim
-- writes into all of them. So they go by state, and rows in flight are in them: a query for
-- what waits says "claim_token is null" as well. Rows in flight are found by their lease.
-- Exactly the claim's ORDER BY: a claim reads its rows from this index, whatever the backlog.
create index idx_offline_conversion_queue_eligible_scan on private.queue_open
  (site_id, provider_key, (coalesce(next_retry_at, '-infinity')), created_at, id)
  where state in ('QUEUED', 'RETRY');
-- What a claim of plain rows leaves to the other one: few. Each waiting row with a name is here.
create index waiting_rows_that_are_not_plain on private.queue_open
  (site_id, provider_key, (coalesce(next_retry_at, '-infinity')), created_at, id)
  where state in ('QUEUED', 'RETRY') and not is_plain;
create index transient_failures_to_retry on private.queue_open (next_retry_at)
  where state = 'FAILED' and next_retry_at is not null;
create index waiting_rows_by_click_expiry on private.queue_open (click_expires_at)
  where state in ('QUEUED', 'RETRY');
create index waiting_rows_that_were_tried on private.queue_open (updated_at)
  where state in ('QUEUED', 'RETRY') and tries > attempt_base;
-- One row of a kind is open, any number failed. It also finds the rows of a sale.
create unique index one_open_row_per_sale_and_kind on private.queue_open
  (sale_id, kind, provider_key, (case when state = 'FAILED' then id end)) nulls not distinct;
-- One index per order and per filter that can be rare, each with the state before the order, as
-- rows are read.
create index queue_rows_by_status on private.queue_open (site_id, state, created_at, id);
create index queue_rows_by_change on private.queue_open (site_id, state, updated_at, id);
create index queue_rows_by_channel
  on private.queue_open (site_id, channel, state, created_at, id);
create index queue_rows_by_value on private.queue_open (site_id, state, value_cents);
create index queue_rows_by_error_code on private.queue_open
  (site_id, provider_error_code, state, created_at, id)
  where provider_error_code is not null;
create index queue_rows_by_error_category on private.queue_open
  (site_id, provider_error_category, state, created_at, id)
  where provider_error_category is not null;
create index queue_adjustments on private.queue_open (site_id, kind, created_at, id)
  where kind <> 'CONVERSION';
create index corrections_that_wait on private.queue_open (site_id)
  where kind <> 'CONVERSION' and state in ('QUEUED', 'RETRY');   -- few: people make them
create index queue_rows_tried_again on private.queue_open (site_id, state, tries) where tries > 1;
create index waiting_rows_by_due_time on private.queue_open
  (site_id, state, greatest(not_before, next_retry_at)) where state in ('QUEUED', 'RETRY');

-- Once per statement or after the fact: a trigger before each row would lock it a second time.
-- Statements that name the whole queue are refused there. Only deliver_rows takes a row away, and
-- puts it into the other part.
create trigger queue_rows_are_never_deleted before delete on private.queue_open
  for each statement when (current_setting('opsmantik.delivers', true) is distinct from 'yes')
  execute function private.refuse_change();
create trigger open_rows_are_never_truncated before truncate on private.queue_open
  for each statement execute function private.refuse_change();
-- One order id is always one conversion at Google: one name, one time, one currency.
create trigger rows_stay_the_same_conversion
  before update of site_id, sale_id, kind, order_id, currency, conversion_time
  on private.queue_open for each statement execute function private.refuse_change();
-- require_sealed_sale: trigger; nothing unsealed is queued, whoever writes. A conversion needs
-- a sealed sale, a retraction a sale that Google has.
create function private.require_sealed_sale() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (select from public.sales s
      where s.id = new.sale_id and s.site_id = new.site_id and s.delivery_block is null
        and case new.kind when 'RETRACT' then exists (
              select from private.standing_dispatches d where d.sale_id = s.id)
            else s.seal_status = 'sealed' end) then
    perform private.fail(409, 'SALE_NOT_SEALED');
  end if;
  return new;
end
$$;
create trigger only_sealed_sales_are_queued before insert on private.queue_open
  for each row execute function private.require_sealed_sale();

-- complete_new_row: trigger; copies the lead's channel to the row, since a filter that reads a call
-- per row cannot be fast, and says whether the row is plain. A second row of a sale makes the first
-- one not plain either.
create function private.complete_new_row() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  new.channel := (select c.channel from public.calls c where c.id = new.call_id);
  new.is_plain := new.kind = 'CONVERSION' and new.handed_value_cents is null
    and not new.may_have_arrived
    and not exists (select from public.offline_conversion_queue q where q.sale_id = new.sale_id)
    and not exists (select from public.provider_dispatches d where d.sale_id = new.sale_id)
    -- It may be held until an earlier sale of the lead is taken back.
    and not exists (select from public.sales s
        join public.sales o on o.call_id in (s.call_id, s.sibling_call_id) and o.id <> s.id
          and o.status = 'CANCELED'
      where s.id = new.sale_id);
  if not new.is_plain then
    perform private.end_plain_rows(new.sale_id);
  end if;
  return new;
end
$$;
create trigger rows_are_completed before insert on private.queue_open
  for each row execute function private.complete_new_row();

-- end_plain_rows: the sale's row is no longer plain: from now on it is answered under the sale's
-- lock, and the queue is brought in line with the sale. It waits for a claim or an answer under
-- way: whoever changes a sale sees afterwards what they did.
create function private.end_plain_rows(p_sale_id uuid) returns void
language plpgsql security definer set search_path = ''
as $$
begin
  update private.queue_open q set is_plain = false where q.sale_id = p_sale_id and q.is_plain;
end
$$;

-- mark_changed_sale: trigger; the same for every change of a sale that an answer would have to see.
-- A cancelled sale may hold back other sales of the lead.
create function private.mark_changed_sale() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  v_others uuid[];
begin
  perform private.end_plain_rows(new.id);
  if new.status = 'CANCELED' and new.call_id is not null then
    v_others := array(
      select s.id from public.sales s where s.call_id = new.call_id and s.id <> new.id
      union select s.id from public.sales s where s.sibling_call_id = new.call_id);
    perform from private.queue_open q where q.sale_id = any (v_others) and q.is_plain
      order by q.id for update;   -- as everybody locks them
    perform private.end_plain_rows(o) from unnest(v_others) o;
  end if;
  return null;
end
$$;
create trigger changed_sales_end_plain_rows after update on public.sales for each row
  when ((old.status, old.amount_cents, old.currency, old.delivery_block,
      old.gclid, old.wbraid, old.gbraid, old.call_id, old.sibling_call_id)
    is distinct from (new.status, new.amount_cents, new.currency, new.delivery_block,
      new.gclid, new.wbraid, new.gbraid, new.call_id, new.sibling_call_id))
  execute function private.mark_changed_sale();
