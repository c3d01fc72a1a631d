-- Invoices: a closed month becomes one invoice per site. It is counted only from ingest_idempotency
-- and never changes.

create table public.invoices (
  site_id uuid not null references public.sites (id),
  year_month text not null,
  event_count bigint not null,
  plan_name text,         -- the plan in force when the month ended; null without one
  monthly_limit bigint,
  overage_cents_per_1000 bigint not null,
  currency text not null,
  base_cents bigint not null,
  overage_events bigint not null,
  overage_cents bigint not null,
  -- What earlier months turned out to be: [{yearMonth, events, cents, eventCount, eventsDigest}].
  adjustments jsonb not null,
  adjustment_cents bigint not null,
  total_cents bigint not null,
  days jsonb not null,    -- [{day, events, digest}]: one line per UTC day with events
  events_digest text not null,
  content_hash text not null,
  due_at timestamptz not null,
  frozen_at timestamptz not null,
  -- Credited days: [{id, day, units, cents, dayEvents, monthEvents, creditedBefore, monthlyLimit,
  -- overageCentsPer1000, proofId, proofHash}].
  credits jsonb not null,
  credit_cents bigint not null,
  primary key (site_id, year_month),
  constraint invoice_is_for_a_month check (year_month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  constraint counts_are_not_negative check (
    event_count >= 0 and overage_events >= 0 and overage_events <= event_count),
  constraint total_is_the_sum_of_its_lines check (
    total_cents = base_cents + overage_cents + adjustment_cents + credit_cents),
  constraint credits_are_never_a_charge check (credit_cents <= 0),
  constraint hashes_are_sha_256 check (
    events_digest ~ '^[0-9a-f]{64}$' and content_hash ~ '^[0-9a-f]{64}$')
);
alter table public.invoices enable row level security;

create trigger invoices_never_change before update or delete on public.invoices
  for each row execute function private.refuse_change();
create trigger invoices_are_never_truncated before truncate on public.invoices
  for each statement execute function private.refuse_change();

-- overage_events: how many events are beyond the plan's limit; none without a limit.
create function private.overage_events(p_events bigint, p_limit bigint) returns bigint
language sql immutable set search_path = ''
as $$ select greatest(0, p_events - coalesce(p_limit, p_events)) $$;

-- overage_cents: what events beyond the plan cost, to the nearest cent.
create function private.overage_cents(p_events bigint, p_cents_per_1000 bigint) returns bigint
language sql immutable set search_path = ''
as $$
  select (p_events * p_cents_per_1000 + 500) / 1000
$$;

-- invoice_days: each day of a month with its count and digest, as count_days left them.
create function private.invoice_days(p_site_id uuid, p_year_month text) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
    'day', d.day,
    'events', d.events,
    'digest', encode(d.digest, 'hex')) order by d.day), '[]')
  from private.counted_days d
  where d.site_id = p_site_id and d.events > 0
    and d.day >= (private.month_start(p_year_month) at time zone 'UTC')::date
    and d.day < (private.month_end(p_year_month) at time zone 'UTC')::date
$$;

-- events_digest: SHA-256 over the lines of all days.
create function private.events_digest(p_days jsonb) returns text
language sql immutable set search_path = ''
as $$
  select private.sha256_hex(coalesce(string_agg(
    format(E'%s %s %s\n', d ->> 'day', d ->> 'events', d ->> 'digest'),
    '' order by d ->> 'day'), ''))
  from jsonb_array_elements(p_days) d
$$;

-- events_of: how many events the days have together.
create function private.events_of(p_days jsonb) returns bigint
language sql immutable set search_path = ''
as $$
  select coalesce(sum((d ->> 'events')::bigint), 0) from jsonb_array_elements(p_days) d
$$;

-- invoice_text: the invoice in its canonical form. Its SHA-256 is the content hash;
-- lib/billing/verify-invoice.ts writes the same text.
create function private.invoice_text(p_invoice public.invoices, p_public_id text) returns text
language sql stable set search_path = ''
as $$
  select concat_ws(E'\n',
    'opsmantik invoice 1',
    'site ' || p_public_id,
    'month ' || p_invoice.year_month,
    'events ' || p_invoice.event_count,
    'events digest ' || p_invoice.events_digest,
    'plan ' || coalesce(to_json(p_invoice.plan_name)::text, 'none'),
    'limit ' || coalesce(p_invoice.monthly_limit::text, 'none'),
    'overage cents per 1000 ' || p_invoice.overage_cents_per_1000,
    'currency ' || p_invoice.currency,
    'base cents ' || p_invoice.base_cents,
    'overage events ' || p_invoice.overage_events,
    'overage cents ' || p_invoice.overage_cents,
    (select string_agg(
        format('adjustment %s events %s cents %s to %s %s', a ->> 'yearMonth', a ->> 'events',
          a ->> 'cents', a ->> 'eventCount', a ->> 'eventsDigest'),
        E'\n' order by a ->> 'yearMonth')
      from jsonb_array_elements(p_invoice.adjustments) a),
    (select string_agg(
        format(
          'credit %s units %s of %s cents %s events %s before %s limit %s at %s proof %s %s',
          c ->> 'day', c ->> 'units', c ->> 'dayEvents', c ->> 'cents', c ->> 'monthEvents',
          c ->> 'creditedBefore', coalesce(c ->> 'monthlyLimit', 'none'),
          c ->> 'overageCentsPer1000', c ->> 'proofId', c ->> 'proofHash'),
        E'\n' order by place)
      from jsonb_array_elements(p_invoice.credits) with ordinality t (c, place)),
    'total cents ' || p_invoice.total_cents,
    'due ' || private.utc_text(p_invoice.due_at),
    'frozen ' || private.utc_text(p_invoice.frozen_at)) || E'\n'
$$;

-- list_invoices: the newest sixty, without their days.
--   Callers  members.
create function public.list_invoices(p_public_id text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'yearMonth', t.year_month,
      'eventCount', t.event_count,
      'totalCents', t.total_cents,
      'currency', t.currency,
      'contentHash', t.content_hash,
      'dueAt', private.utc_text(t.due_at)) order by t.year_month desc), '[]')
    from (
      select * from public.invoices v
      where v.site_id = v_site.id order by v.year_month desc limit 60) t);
end
$$;
grant execute on function public.list_invoices(text) to authenticated;

-- get_invoice: one invoice with everything to count and hash it again elsewhere, and the
-- corrections of later invoices.
--   Callers  members.
create function public.get_invoice(p_public_id text, p_year_month text) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v public.invoices;
begin
  select x.* into v from public.invoices x
    where x.site_id = v_site.id and x.year_month = p_year_month;
  if v.site_id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  return jsonb_build_object(
    'site', v_site.public_id,
    'yearMonth', v.year_month,
    'eventCount', v.event_count,
    'eventsDigest', v.events_digest,
    'planName', v.plan_name,
    'monthlyLimit', v.monthly_limit,
    'overageCentsPer1000', v.overage_cents_per_1000,
    'currency', v.currency,
    'baseCents', v.base_cents,
    'overageEvents', v.overage_events,
    'overageCents', v.overage_cents,
    'adjustments', v.adjustments,
    'credits', (
      select coalesce(jsonb_agg(
        c || jsonb_build_object('reason', private.readable_note(v.site_id, n.note))
        order by place), '[]')
      from jsonb_array_elements(v.credits) with ordinality t (c, place)
      left join private.proof_notes n on n.proof_id = (c ->> 'proofId')::uuid),
    'totalCents', v.total_cents,
    'dueAt', private.utc_text(v.due_at),
    'frozenAt', private.utc_text(v.frozen_at),
    'contentHash', v.content_hash,
    'days', v.days,
    'corrections', (
      select coalesce(jsonb_agg(
        a || jsonb_build_object('inInvoice', l.year_month) order by l.year_month), '[]')
      from public.invoices l cross join jsonb_array_elements(l.adjustments) a
      where l.site_id = v_site.id and l.year_month > v.year_month
        and a ->> 'yearMonth' = v.year_month),
    -- From then on the first rows of the month may be purged.
    'eventsKeptUntil', private.utc_text(greatest(
      private.month_start(v.year_month) + private.billed_rows_kept(),
      private.month_end(v.year_month) + interval '2 months')));
end
$$;
grant execute on function public.get_invoice(text, text) to authenticated;
