-- Snapshots: what a sale is worth, one line per change. They add up to its amount.

create table public.revenue_snapshots (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  sale_id uuid not null references public.sales (id),
  sequence int not null,
  kind text not null,
  amount_cents bigint not null,   -- what the sale is worth from now on
  delta_cents bigint not null,    -- the change: a sale's deltas add up to its amount
  currency text not null,
  value_source text not null,
  actor_kind text not null,
  actor_id uuid,
  created_at timestamptz not null,
  constraint one_snapshot_per_step unique (sale_id, sequence),
  constraint snapshot_kind_is_known check (kind in ('SEAL', 'CORRECT', 'CANCEL', 'RESTORE')),
  constraint snapshot_amounts_are_not_negative check (amount_cents >= 0)
);
alter table public.revenue_snapshots enable row level security;

create trigger snapshots_are_permanent before update or delete on public.revenue_snapshots
  for each row execute function private.refuse_change();
create trigger snapshots_are_never_truncated before truncate on public.revenue_snapshots
  for each statement execute function private.refuse_change();

-- has_ledger: whether a sale has snapshots, that is, was ever sealed.
create function private.has_ledger(p_sale_id uuid) returns boolean
language sql stable security definer set search_path = ''
as $$ select exists (select from public.revenue_snapshots r where r.sale_id = p_sale_id) $$;

-- write_snapshot: writes the next line of a sale's ledger, and the sale's amount with it. Every
-- sale that is sealed or comes back passes here, so this is where we take back from Google what
-- another sale replaces.
create function private.write_snapshot(
  p_sale_id uuid, p_kind text, p_amount_cents bigint, p_value_source text, p_actor private.actor
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
  v_before bigint;
  v_lines int;
begin
  select coalesce(sum(r.delta_cents), 0), count(*) into v_before, v_lines
    from public.revenue_snapshots r where r.sale_id = p_sale_id;
  update public.sales s
    set amount_cents = p_amount_cents,
        value_source = p_value_source,
        version = s.version + 1,
        updated_at = v_now,
        status = case p_kind when 'CANCEL' then 'CANCELED' else 'CONFIRMED' end
    where s.id = p_sale_id returning * into v_sale;
  insert into public.revenue_snapshots
      (site_id, sale_id, sequence, kind, amount_cents, delta_cents, currency, value_source,
        actor_kind, actor_id, created_at)
    values (v_sale.site_id, p_sale_id, v_lines + 1, p_kind, p_amount_cents,
      p_amount_cents - v_before, v_sale.currency, p_value_source,
      p_actor.kind, p_actor.id, v_now);
  if p_kind in ('SEAL', 'RESTORE') then
    perform private.retract_after_all(v_sale, p_actor);
  end if;
  return v_sale;
end
$$;

-- newest_snapshot: what a sale is worth now, as it would be sent.
create function private.newest_snapshot(p_sale_id uuid) returns public.revenue_snapshots
language sql stable security definer set search_path = ''
as $$
  select r.* from public.revenue_snapshots r
  where r.sale_id = p_sale_id order by r.sequence desc limit 1
$$;
