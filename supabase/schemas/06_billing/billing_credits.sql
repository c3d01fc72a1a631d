-- Credits: what whoever runs the installation takes off a disputed day. A credit changes no count:
-- the invoice still counts the ledger, and the credit is a line of its own in the next invoice.

create table private.billing_credits (
  id uuid primary key,
  site_id uuid not null references public.sites (id),
  day date not null,            -- UTC
  units bigint not null,
  day_events bigint not null,   -- what the day had counted when it was credited
  -- The reason itself can name a person. It is the note of the proof, where it can be erased.
  reason_hash text not null,
  proof_id uuid not null,
  created_at timestamptz not null,
  constraint one_credit_per_day_units_and_reason unique (site_id, day, units, reason_hash),
  constraint credit_is_at_most_the_day check (units between 1 and day_events),
  constraint reason_hash_is_sha_256 check (reason_hash ~ '^[0-9a-f]{64}$')
);
alter table private.billing_credits enable row level security;

create trigger credits_never_change before update or delete on private.billing_credits
  for each row execute function private.refuse_change();
create trigger credits_are_never_truncated before truncate on private.billing_credits
  for each statement execute function private.refuse_change();

-- credit_billed_day: credits units of a day that is over, with a proof.
--   Refuses  409 CREDIT_TOO_LARGE when the day's credits would be more than its counted events.
--   Safe     to repeat: the same day, units and reason are the same credit. Beside an invoice that
--            is being made: the invoice's lock puts the credit into it, or into the next.
--   Returns  {creditId, proofId, isNew, events, credited}: the day's counted events, and how many
--            of them are credited now.
--   Callers  nobody by a grant: the owner of the database, which is whoever runs the installation.
create function public.credit_billed_day(
  p_public_id text, p_day date, p_units bigint, p_reason text
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_site_id uuid;
  v_credit private.billing_credits;
  v_credited bigint;
  v_is_new boolean;
begin
  select s.id into v_site_id from public.sites s where s.public_id = p_public_id;
  if v_site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  elsif p_day is null or v_from + interval '24 hours' > v_now then
    perform private.refuse_setting('day');
  elsif p_units is null or p_units < 1 then
    perform private.refuse_setting('units');
  elsif not private.is_plain_text(p_reason, 200) then
    perform private.refuse_setting('reason');
  end if;
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('invoice/' || v_site_id, 0));
  select c.* into v_credit from private.billing_credits c
    where c.site_id = v_site_id and c.day = p_day and c.units = p_units
      and c.reason_hash = private.sha256_hex(p_reason);
  v_is_new := v_credit.id is null;
  select coalesce(sum(c.units), 0) into v_credited from private.billing_credits c
    where c.site_id = v_site_id and c.day = p_day;
  if v_is_new then
    select d.events into v_credit.day_events
      from private.daily_counts(v_site_id, v_from, v_from + interval '24 hours') d;
    if v_credited + p_units > v_credit.day_events then
      perform private.fail(409, 'CREDIT_TOO_LARGE',
        jsonb_build_object('events', v_credit.day_events, 'credited', v_credited));
    end if;
    v_credited := v_credited + p_units;
    v_credit.id := private.uuid_v7();
    v_credit.site_id := v_site_id;
    v_credit.day := p_day;
    v_credit.units := p_units;
    v_credit.reason_hash := private.sha256_hex(p_reason);
    v_credit.created_at := v_now;
    v_credit.proof_id := private.prove(v_site_id, ('system', null)::private.actor,
      jsonb_build_object(
        'contract', 'credit',
        'contractVersion', 'credit/1',
        'entityId', v_credit.id,
        'to', 'credited',
        'facts', jsonb_build_object(
          'day', p_day, 'units', p_units, 'dayEvents', v_credit.day_events),
        'note', p_reason,
        'requestHash', v_credit.reason_hash));
    insert into private.billing_credits values (v_credit.*);
  end if;
  return jsonb_build_object(
    'creditId', v_credit.id,
    'proofId', v_credit.proof_id,
    'isNew', v_is_new,
    'events', v_credit.day_events,
    'credited', v_credited);
end
$$;

-- invoice_of_credit: the month whose invoice has the credit; null while it waits.
create function private.invoice_of_credit(p_credit private.billing_credits) returns text
language sql stable security definer set search_path = ''
as $$
  select v.year_month from public.invoices v
  where v.site_id = p_credit.site_id
    and v.credits @> jsonb_build_array(jsonb_build_object('id', p_credit.id))
$$;

-- credit_cents: what credited units take off a month: the overage that they made. Units inside the
-- plan cost nothing, so their credit is nothing.
create function private.credit_cents(p_line jsonb) returns bigint
language sql immutable set search_path = ''
as $$
  select private.overage_cents(private.overage_events(t.rest - t.units, t.monthly_limit), t.price)
    - private.overage_cents(private.overage_events(t.rest, t.monthly_limit), t.price)
  from (
    select (p_line ->> 'monthEvents')::bigint - (p_line ->> 'creditedBefore')::bigint as rest,
      (p_line ->> 'units')::bigint as units,
      (p_line ->> 'monthlyLimit')::bigint as monthly_limit,
      (p_line ->> 'overageCentsPer1000')::bigint as price) t
$$;

-- invoice_credits: the lines of credits that wait for an invoice, each with the terms of its own
-- month. A credit of a month that has no invoice yet waits for that one. If the currency has
-- changed since, the line says the units and converts no money.
create function private.invoice_credits(p_invoice public.invoices) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_credit record;
  v_terms public.invoices;
  v_line jsonb;
  v_lines jsonb := '[]';
begin
  for v_credit in
    select c.*, p.hash, to_char(c.day, 'YYYY-MM') as year_month
    from private.billing_credits c join public.transition_proofs p on p.id = c.proof_id
    where c.site_id = p_invoice.site_id and private.invoice_of_credit(c) is null
      and to_char(c.day, 'YYYY-MM') <= p_invoice.year_month
    order by c.day, c.id
  loop
    v_terms := p_invoice;
    if v_credit.year_month < p_invoice.year_month then
      select v.* into v_terms from public.invoices v
        where v.site_id = p_invoice.site_id and v.year_month = v_credit.year_month;
      continue when not found;
      v_terms.event_count :=
        private.events_of(private.invoice_days(p_invoice.site_id, v_credit.year_month));
    end if;
    v_line := jsonb_build_object(
      'id', v_credit.id,
      'day', v_credit.day,
      'units', v_credit.units,
      'dayEvents', v_credit.day_events,
      'monthEvents', v_terms.event_count,
      'creditedBefore', (
        select coalesce(sum((l ->> 'units')::bigint), 0) from (
          select jsonb_array_elements(v.credits) as l from public.invoices v
          where v.site_id = p_invoice.site_id
          union all select jsonb_array_elements(v_lines)) known
        where left(l ->> 'day', 7) = v_credit.year_month),
      'monthlyLimit', v_terms.monthly_limit,
      'overageCentsPer1000', case
        when v_terms.currency = p_invoice.currency then v_terms.overage_cents_per_1000
        else 0 end,
      'proofId', v_credit.proof_id,
      'proofHash', v_credit.hash);
    v_lines := v_lines || (v_line || jsonb_build_object('cents', private.credit_cents(v_line)));
  end loop;
  return v_lines;
end
$$;

-- listed_credits: the newest credits of a site, with the invoice that has them.
create function private.listed_credits(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', t.id,
    'day', t.day,
    'units', t.units,
    'dayEvents', t.day_events,
    'reason', private.readable_note(p_site_id, t.note),
    'proofId', t.proof_id,
    'creditedAt', private.utc_text(t.created_at),
    'inInvoice', t.in_invoice) order by t.created_at desc, t.id desc), '[]')
  from (
    select c.*, n.note, private.invoice_of_credit(c) as in_invoice
    from private.billing_credits c left join private.proof_notes n on n.proof_id = c.proof_id
    where c.site_id = p_site_id order by c.created_at desc, c.id desc limit 12) t
$$;
