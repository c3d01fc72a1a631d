-- Sales: what a lead turned out to be worth. A sale's amount is what its snapshots add up to; a
-- snapshot never changes.

create table public.sales (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null references public.sites (id),
  call_id uuid references public.calls (id),
  -- A call of the same customer that had its sale before this one came from elsewhere.
  sibling_call_id uuid,
  external_ref text,    -- the sale's number in the system it comes from
  status text not null,
  seal_status text not null
    generated always as (case when status = 'CONFIRMED' then 'sealed' else 'unsealed' end) stored,
  version int not null default 1,
  -- The same on every way to Google: a second upload is a duplicate there, never a second sale.
  order_id text not null unique,
  amount_cents bigint not null,   -- always the sum of the snapshots; 0 when cancelled
  -- The amount of a cancelled draft, which has no snapshot to come back from.
  drafted_cents bigint,
  currency text not null,
  value_source text not null,
  -- When the customer bought, or reached out: the conversion's time.
  occurred_at timestamptz not null,
  gclid text,
  wbraid text,
  gbraid text,
  clicked_at timestamptz,
  -- SHA-256 of the phone number in E.164, for Google. Kept while the sale may still be sent.
  customer_hash text,
  email_hash text,      -- SHA-256 of the e-mail address, as a sale from elsewhere brought it
  delivery_block text,  -- why it is never sent to Google, if so
  note text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Over what was sent first: the same reference with other values is a mistake, not a change.
  external_hash text,
  matched_by text,
  caller_hash text,     -- of the number that a sale from elsewhere brought, as in calls
  caller_key_id text,
  constraint sale_status_is_known check (status in ('DRAFT', 'CONFIRMED', 'CANCELED')),
  constraint order_id_fits_everywhere check (char_length(order_id) between 8 and 64),
  constraint cancelled_sales_are_worth_nothing check (
    case when status = 'CANCELED' then amount_cents = 0 else amount_cents > 0 end),
  constraint sale_currency_is_iso_4217 check (private.currency_decimals(currency) is not null),
  constraint value_source_is_known check (value_source in ('OPERATOR', 'PREDICTED', 'EXTERNAL')),
  constraint external_ref_is_plain_text
    check (external_ref is null or private.is_plain_text(external_ref, 120)),
  constraint customer_hash_is_sha_256 check (customer_hash ~ '^[0-9a-f]{64}$'),
  constraint email_hash_is_sha_256 check (email_hash ~ '^[0-9a-f]{64}$'),
  constraint sale_note_is_bounded check (char_length(note) <= 500),
  constraint delivery_block_is_known
    check (delivery_block in ('NO_CLICK_ID', 'NO_CONSENT', 'CLICK_EXPIRED', 'NO_MATCH')),
  constraint one_sale_per_external_ref unique (site_id, external_ref),
  constraint external_hash_is_sha_256 check (external_hash ~ '^[0-9a-f]{64}$'),
  constraint matched_by_is_known check (matched_by in ('click', 'phone')),
  constraint caller_hash_is_hex check (caller_hash ~ '^[0-9a-f]{64}$'),
  constraint caller_key_id_is_bounded check (char_length(caller_key_id) <= 64)
);
create unique index one_living_sale_per_call on public.sales (call_id) where status <> 'CANCELED';
create index sales_of_a_call on public.sales (call_id);
create index sales_beside_a_call on public.sales (sibling_call_id)
  where sibling_call_id is not null;
create index sales_of_a_site on public.sales (site_id, occurred_at desc, id);
create index changed_sales on public.sales (site_id, updated_at);
create index sales_by_gclid on public.sales (site_id, gclid) where gclid is not null;
create index sales_by_wbraid on public.sales (site_id, wbraid) where wbraid is not null;
create index sales_by_gbraid on public.sales (site_id, gbraid) where gbraid is not null;
create index sales_with_hashes on public.sales (occurred_at)
  where customer_hash is not null or email_hash is not null;
create index sale_callers_by_vault_key on public.sales (caller_key_id, id)
  where caller_hash is not null;
alter table public.sales enable row level security;

-- order_id_of: the order id that a sale has at Google.
create function private.order_id_of(p_sale_id uuid) returns text
language sql immutable set search_path = ''
as $$ select 'om_' || replace(p_sale_id::text, '-', '') $$;

-- sale_facts: what the proof of a move says about the sale. Inlined, like framed.
create function private.sale_facts(p_sale public.sales) returns jsonb
language sql stable
as $$
  select pg_catalog.jsonb_build_object(
    'saleId', p_sale.id,
    'amountCents', p_sale.amount_cents,
    'currency', p_sale.currency,
    'valueSource', p_sale.value_source,
    'deliveryBlock', p_sale.delivery_block)
$$;
