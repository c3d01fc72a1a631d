-- Plans: what a site may send each month. Every site has one from the moment it is created.

create table public.site_plans (
  site_id uuid primary key references public.sites (id),
  name text not null,
  monthly_limit bigint,
  enforcement text not null,
  hard_cap_multiplier numeric(6, 2),
  base_price_cents bigint not null default 0,
  overage_cents_per_1000 bigint not null default 0,
  currency text not null,
  updated_at timestamptz not null,
  -- Of the events at which a month is full, how many hundredths only leads may use.
  lead_share_percent smallint not null default 10,
  constraint plan_name_is_1_to_40_characters check (char_length(name) between 1 and 40),
  constraint limit_is_positive check (monthly_limit > 0),
  constraint enforcement_is_known check (enforcement in ('soft', 'hard')),
  constraint hard_plans_have_a_limit check (enforcement = 'soft' or monthly_limit is not null),
  constraint cap_is_not_below_the_limit check (hard_cap_multiplier >= 1),
  constraint prices_are_not_negative check (base_price_cents >= 0 and overage_cents_per_1000 >= 0),
  constraint plan_currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint lead_share_is_a_percentage check (lead_share_percent between 0 and 100)
);
alter table public.site_plans enable row level security;

-- Which plan was in force when: site_plans holds only today's, and a change on the 1st must not
-- reprice the month before.
create table private.plan_changes (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  changed_at timestamptz not null,
  name text not null,
  monthly_limit bigint,
  base_price_cents bigint not null,
  overage_cents_per_1000 bigint not null,
  currency text not null
);
create index plan_of_a_moment on private.plan_changes (site_id, changed_at desc, id desc);
alter table private.plan_changes enable row level security;

create trigger plan_changes_never_change before update or delete on private.plan_changes
  for each row execute function private.refuse_change();
create trigger plan_changes_are_never_truncated before truncate on private.plan_changes
  for each statement execute function private.refuse_change();

-- note_plan_change: keeps the plan as it was set.
create function private.note_plan_change() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into private.plan_changes
      (site_id, changed_at, name, monthly_limit, base_price_cents, overage_cents_per_1000,
        currency)
    values (new.site_id, new.updated_at, new.name, new.monthly_limit, new.base_price_cents,
      new.overage_cents_per_1000, new.currency);
  return null;
end
$$;
-- Not for the share of leads, which has no price.
create trigger plan_changes_are_kept after insert or update of updated_at on public.site_plans
  for each row execute function private.note_plan_change();

-- give_first_plan: a new site's plan, in the transaction that creates it: no limit and no price,
-- until whoever runs the installation sets another.
create function private.give_first_plan() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  insert into public.site_plans (site_id, name, enforcement, currency, updated_at)
    values (new.id, 'Open', 'soft', new.currency, new.created_at);
  return null;
end
$$;
create trigger sites_begin_with_a_plan after insert on public.sites
  for each row execute function private.give_first_plan();

-- Sites from before every site had a plan.
insert into public.site_plans (site_id, name, enforcement, currency, updated_at)
  select s.id, 'Open', 'soft', s.currency, private.current_moment() from public.sites s
  where not exists (select from public.site_plans p where p.site_id = s.id);

-- A plan is replaced, never taken away.
create trigger plans_are_never_deleted before delete on public.site_plans
  for each row execute function private.refuse_change();
create trigger plans_are_never_truncated before truncate on public.site_plans
  for each statement execute function private.refuse_change();

-- plan_cap: the number of events at which a month is full; null when it never is.
create function private.plan_cap(p_plan public.site_plans) returns bigint
language sql immutable set search_path = ''
as $$
  select case
    when p_plan.enforcement = 'hard' then p_plan.monthly_limit
    when p_plan.hard_cap_multiplier is not null
      then floor(p_plan.monthly_limit * p_plan.hard_cap_multiplier)::bigint end
$$;

-- open_events: the number of events at which a month is full for what is no lead. The last units
-- of a month are kept for leads: the owner's share of the cap, rounded down. admit_events has the
-- same.
create function private.open_events(p_plan public.site_plans) returns bigint
language sql immutable set search_path = ''
as $$
  select c.cap - floor(c.cap::numeric * p_plan.lead_share_percent / 100)::bigint
  from (select private.plan_cap(p_plan) as cap) c
$$;

-- set_lead_share: how much of a month only leads may use. Counts where the plan has a cap, from
-- the next admission on.
--   Callers  owners.
create function public.set_lead_share(p_public_id text, p_percent int) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'owner');
begin
  if p_percent is null or p_percent not between 0 and 100 then
    perform private.refuse_setting('leadSharePercent');
  end if;
  update public.site_plans p set lead_share_percent = p_percent where p.site_id = v_site.id;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_lead_share(text, int) to authenticated;

-- set_site_plan: gives a site another plan; the share that its owner keeps for leads stays. A plan
-- with a cap needs an exact figure, so this month is counted again under the row's lock.
--   Callers  nobody by a grant: the owner of the database, which is whoever runs the installation.
--            The app cannot: who steals its password could give any site any price.
create function public.set_site_plan(
  p_public_id text, p_name text, p_monthly_limit bigint, p_enforcement text, p_currency text,
  p_hard_cap_multiplier numeric default null, p_base_price_cents bigint default 0,
  p_overage_cents_per_1000 bigint default 0
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_site_id uuid;
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  perform private.check_currency(p_currency);
  insert into public.site_plans
      (site_id, name, monthly_limit, enforcement, hard_cap_multiplier, base_price_cents,
        overage_cents_per_1000, currency, updated_at)
    values (v_site_id, p_name, p_monthly_limit, p_enforcement, p_hard_cap_multiplier,
      p_base_price_cents, p_overage_cents_per_1000, p_currency, v_now)
    on conflict (site_id) do update
      set name = excluded.name,
          monthly_limit = excluded.monthly_limit,
          enforcement = excluded.enforcement,
          hard_cap_multiplier = excluded.hard_cap_multiplier,
          base_price_cents = excluded.base_price_cents,
          overage_cents_per_1000 = excluded.overage_cents_per_1000,
          currency = excluded.currency,
          updated_at = excluded.updated_at;
  perform private.recount_month(v_site_id, private.billing_month(v_now));
  return jsonb_build_object('ok', true);
end
$$;
