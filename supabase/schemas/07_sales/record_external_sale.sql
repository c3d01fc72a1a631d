-- Sales from elsewhere: from a shop's till, a CRM or a file. Each arrives as a draft with its own
-- reference and finds the call it belongs to. An operator or a key seals it.

-- read_external_sale: what was sent, as a sale that is not stored yet. Refuses by field.
--   Takes    p_args {externalRef, occurredAt, amountCents, currency?, customerPhone?,
--            customerHash?, emailHash?, gclid?, wbraid?, gbraid?, marketingConsent?, note?,
--            callers?: [{hash, keyId}]}: the number as the app hashes it, by the current key first
create function private.read_external_sale(p_site public.sites, p_args jsonb) returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sale public.sales;
begin
  v_sale.external_ref := btrim(p_args ->> 'externalRef');
  if not private.is_plain_text(v_sale.external_ref, 120) then
    perform private.refuse_setting('external_ref');
  end if;
  v_sale.amount_cents := private.asked_cents(p_args);
  v_sale.currency := coalesce(p_args ->> 'currency', p_site.currency);
  perform private.check_amount(v_sale.amount_cents, v_sale.currency);
  v_sale.occurred_at := (p_args ->> 'occurredAt')::timestamptz;
  if v_sale.occurred_at is null
      or v_sale.occurred_at < v_now - private.click_life()
      or v_sale.occurred_at > v_now + interval '1 hour' then
    perform private.refuse_setting('occurred_at');
  end if;
  v_sale.customer_hash := coalesce(
    lower(p_args ->> 'customerHash'),
    private.phone_hash(private.e164(p_site, p_args ->> 'customerPhone')));
  if v_sale.customer_hash is null and p_args ->> 'customerPhone' is not null then
    perform private.refuse_setting('customer_phone');
  end if;
  if v_sale.customer_hash !~ '^[0-9a-f]{64}$' then
    perform private.refuse_setting('customer_hash');
  end if;
  v_sale.caller_hash := p_args #>> '{callers,0,hash}';
  v_sale.caller_key_id := p_args #>> '{callers,0,keyId}';
  v_sale.email_hash := lower(p_args ->> 'emailHash');
  if v_sale.email_hash !~ '^[0-9a-f]{64}$' then
    perform private.refuse_setting('customer_email_hash');
  end if;
  v_sale.gclid := nullif(btrim(p_args ->> 'gclid'), '');
  v_sale.wbraid := nullif(btrim(p_args ->> 'wbraid'), '');
  v_sale.gbraid := nullif(btrim(p_args ->> 'gbraid'), '');
  if greatest(
      char_length(v_sale.gclid), char_length(v_sale.wbraid), char_length(v_sale.gbraid)) > 512 then
    perform private.refuse_setting('gclid');
  end if;
  v_sale.note := nullif(left(btrim(p_args ->> 'note'), 500), '');
  -- Of the number only whether there is one: with the rest of the line at hand, all numbers could
  -- be tried. is_other_number compares it.
  v_sale.external_hash := private.sha256_hex(jsonb_build_array(
    v_sale.amount_cents, v_sale.currency, private.exact_time(v_sale.occurred_at),
    v_sale.customer_hash is not null, v_sale.gclid, v_sale.wbraid, v_sale.gbraid,
    p_args -> 'marketingConsent', v_sale.note, v_sale.email_hash)::text);
  return v_sale;
end
$$;

-- is_other_number: true if a reference came with another number before. A number that was hashed
-- with a key that is gone cannot be compared.
create function private.is_other_number(p_sale public.sales, p_args jsonb) returns boolean
language sql immutable set search_path = ''
as $$
  select exists (
    select from jsonb_array_elements(p_args -> 'callers') c
    where c ->> 'keyId' = p_sale.caller_key_id and c ->> 'hash' <> p_sale.caller_hash)
$$;

-- external_sale_json: a sale as the API answers it to whoever reported it.
create function private.external_sale_json(p_sale public.sales) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object(
    'sale_id', p_sale.id,
    'external_ref', p_sale.external_ref,
    'status', p_sale.status,
    'amount_cents', p_sale.amount_cents,
    'currency', p_sale.currency,
    'occurred_at', p_sale.occurred_at,
    'matched_by', p_sale.matched_by,
    'call_id', p_sale.call_id,
    'delivery_block', p_sale.delivery_block)
$$;

-- record_sale: a sale from elsewhere becomes a draft, once per reference.
--   Takes    p_args as read_external_sale, p_call_ids as match_call.
--   Safe     to repeat, also at the same moment: the reference's index decides, and the second
--            gets the first one's sale.
--   Refuses  409 EXTERNAL_REF_CONFLICT for a reference that was sent with other values.
create function private.record_sale(
  p_site public.sites, p_actor private.actor, p_args jsonb, p_call_ids uuid[] default null
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sent public.sales := private.read_external_sale(p_site, p_args);
  v_callers text[] := private.callers_of(v_sent, p_args);
  v_sale public.sales;
  v_call public.calls;
begin
  select s.* into v_sale from public.sales s
    where s.site_id = p_site.id and s.external_ref = v_sent.external_ref;
  if v_sale.id is null then
    v_call := private.match_call(p_site, v_sent, v_callers, p_call_ids);
    v_sale := private.take_click(
      p_site.id, v_sent, v_call, (p_args ->> 'marketingConsent')::boolean);
    v_sale.matched_by := case
      when v_call.id is null then null
      when v_call.gclid = v_sent.gclid or v_call.wbraid = v_sent.wbraid
        or v_call.gbraid = v_sent.gbraid then 'click'
      else 'phone' end;
    if v_call.id is null then
      v_sale.sibling_call_id := private.sold_call(p_site, v_sent, v_callers);
    end if;
    v_sale.id := private.uuid_v7();
    insert into public.sales
        (id, site_id, call_id, sibling_call_id, external_ref, external_hash, matched_by, status,
        version, order_id, amount_cents, currency, value_source, occurred_at, gclid, wbraid, gbraid,
        clicked_at, customer_hash, email_hash, delivery_block, note, created_at, updated_at,
        caller_hash, caller_key_id)
      values (v_sale.id, p_site.id, v_call.id, v_sale.sibling_call_id, v_sale.external_ref,
        v_sale.external_hash, v_sale.matched_by, 'DRAFT', 1, private.order_id_of(v_sale.id),
        v_sale.amount_cents, v_sale.currency, 'EXTERNAL', v_sale.occurred_at, v_sale.gclid,
        v_sale.wbraid, v_sale.gbraid, v_sale.clicked_at, v_sale.customer_hash, v_sale.email_hash,
        v_sale.delivery_block, v_sale.note, v_now, v_now, v_sale.caller_hash, v_sale.caller_key_id)
      on conflict (site_id, external_ref) do nothing
      returning * into v_sale;
    if v_sale.id is not null then
      perform private.prove(p_site.id, p_actor, jsonb_build_object(
        'contract', 'sale',
        'contractVersion', private.contract_version('sale'),
        'entityId', v_sale.id,
        'to', 'DRAFT',
        'requestHash', p_args ->> 'requestHash',
        'facts', private.sale_facts(v_sale)
          || jsonb_build_object('version', 1, 'callId', v_sale.call_id)));
      return v_sale;
    end if;
    select s.* into v_sale from public.sales s
      where s.site_id = p_site.id and s.external_ref = v_sent.external_ref;
  end if;
  -- Null: the customer was erased since. The till gets its sale, and nothing is stored again.
  if v_sale.external_hash <> v_sent.external_hash or private.is_other_number(v_sale, p_args) then
    perform private.fail(409, 'EXTERNAL_REF_CONFLICT', jsonb_build_object('saleId', v_sale.id));
  end if;
  return v_sale;
end
$$;

-- record_sale_effect: stores the sale that a machine reports.
--   Takes    p_args {site, actorId, …} as read_external_sale.
create function private.record_sale_effect(p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.external_sale_json(private.record_sale(
    s, ('api_key', (p_args ->> 'actorId')::uuid)::private.actor, p_args))
  from public.sites s where s.id = (p_args ->> 'site')::uuid
$$;

-- record_external_sale: a machine reports a sale.
--   Returns  {status, replayed, body} with {sale_id, external_ref, status, amount_cents,
--            currency, occurred_at, matched_by, call_id, delivery_block}.
--   Callers  service role only.
create function public.record_external_sale(
  p_key_id uuid, p_sale jsonb, p_request_hash text, p_key text default null
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{sales}');
begin
  return private.answer_once(
    v_site_id, 'sale.record', p_key, p_request_hash, 'private.record_sale_effect'::regproc,
    p_sale || jsonb_build_object(
      'site', v_site_id, 'actorId', p_key_id, 'requestHash', p_request_hash));
end
$$;
grant execute on function public.record_external_sale(uuid, jsonb, text, text)
  to opsmantik_app, service_role;
