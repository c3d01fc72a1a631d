-- What a lead is worth before anybody says an amount.

-- intent_weight: the share of an average order that a stage is worth: the site's own for the stage,
-- else its own for what the stage counts as, else the default. lib/valuation has the same table; a
-- test compares them.
create function private.intent_weight(p_site public.sites, p_stage text) returns numeric
language sql immutable set search_path = ''
as $$
  select coalesce(
    (p_site.intent_weights ->> p_stage)::numeric,
    (p_site.intent_weights ->> case p_stage
      when 'meeting' then 'qualified'
      when 'intent' then 'pending'
      when 'cancelled' then 'lost' end)::numeric,
    case
      when p_stage in ('sealed', 'won', 'purchase') then 1.0
      when p_stage in ('qualified', 'real', 'meeting') then 0.20
      when p_stage in ('pending', 'open', 'intent') then 0.02
      else 0 end)
$$;

-- expected_value_cents: what a lead in a stage is worth, as its currency can express it.
create function private.expected_value_cents(p_site public.sites, p_stage text) returns bigint
language sql immutable set search_path = ''
as $$
  select case
    when private.currency_decimals(p_site.currency) = 0
      then round(round(p_site.default_aov_cents * w.weight) / 100) * 100
    else round(p_site.default_aov_cents * w.weight) end::bigint
  from (select private.intent_weight(p_site, p_stage) as weight) w
$$;

-- decayed_value: MizanMantik. The nearer to the click, the more a signal is worth. In whole units
-- of the currency.
create function private.decayed_value(
  p_base_cents bigint, p_clicked_at timestamptz, p_at timestamptz
) returns bigint
language sql immutable set search_path = ''
as $$
  select round(p_base_cents / 100.0 * case
    when d.days <= 3 then 0.50
    when d.days <= 10 then 0.25
    else 0.10 end)::bigint
  from (
    select ceil(greatest(0, extract(epoch from p_at - p_clicked_at)) / 86400) as days) d
$$;
