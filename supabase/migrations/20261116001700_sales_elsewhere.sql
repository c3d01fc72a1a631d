-- Sales from elsewhere: what a shop's till, a CRM or a file knows. Each arrives as a draft with its own reference, finds the call it
-- belongs to, and is sealed by whoever may seal.

alter table public.sales
  add column external_hash text,                   -- over what was sent first: the same reference with other values is a mistake, not a change
  add column matched_by text,
  add constraint external_hash_is_sha_256 check (external_hash ~ '^[0-9a-f]{64}$'),
  add constraint matched_by_is_known check (matched_by in ('click', 'phone'));

-- add_caller_number: a telephone system reports a call again and knows the number only now. It is the same billable
-- unit, so nothing else is stored. Before the call is stored the number is held; without consent it is not kept.
--   Callers  service role only.
create function public.add_caller_number(p_site_id uuid, p_intent_stamp text, p_phone text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_added int;
begin
  update public.calls c
    set phone = left(p_phone, 32), caller_hash = private.phone_hash(private.e164(s, p_phone)), updated_at = private.current_moment()
    from public.sites s
    where s.id = p_site_id and c.site_id = s.id and c.intent_stamp = p_intent_stamp and c.caller_hash is null and c.marketing_consent;
  get diagnostics v_added = row_count;
  if not exists (select from public.calls c where c.site_id = p_site_id and c.intent_stamp = p_intent_stamp) then
    perform private.hold_report(p_site_id, p_intent_stamp, jsonb_build_object('phone', left(p_phone, 32)));
  end if;
  return jsonb_build_object('added', v_added);
end
$$;

-- candidate_calls: the calls that a sale may belong to, best first: those of the 90 days before it,
-- by its click, else by the caller's number, newest first. Junk is no customer.
create function private.candidate_calls(p_site public.sites, p_sale public.sales) returns setof uuid
language plpgsql stable security definer set search_path = '' rows 20
as $$
begin
  return query select c.id from public.calls c
    where c.site_id = p_site.id and c.status <> 'junk' and c.called_at <= p_sale.occurred_at
      and c.called_at > p_sale.occurred_at - interval '90 days'
      and (c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid or c.gbraid = p_sale.gbraid
        or c.caller_hash = p_sale.customer_hash)
    order by coalesce(c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid
      or c.gbraid = p_sale.gbraid, false) desc, c.called_at desc, c.id
    limit 20;
end
$$;

-- lock_calls: locks calls in the order of their ids, as everybody must who locks more than one.
--   Returns  the same ids.
create function private.lock_calls(p_call_ids uuid[]) returns uuid[]
language plpgsql security definer set search_path = ''
as $$
begin
  perform from public.calls c where c.id = any (p_call_ids) order by c.id for update;
  return p_call_ids;
end
$$;

-- match_call: the best candidate that no living sale has. It stays locked until the sale is
-- written: two sales never take the same call.
--   Takes    p_call_ids: calls that the caller has locked and lets the sale take; null for any.
create function private.match_call(p_site public.sites, p_sale public.sales, p_call_ids uuid[])
returns public.calls
language plpgsql security definer set search_path = ''
as $$
declare
  v_locked uuid[] := coalesce(p_call_ids,
    private.lock_calls(array(select private.candidate_calls(p_site, p_sale))));
  v_call public.calls;
begin
  -- Asked again under the locks: whoever held one of them may have sold the call or made it junk.
  select c.* into v_call
    from private.candidate_calls(p_site, p_sale) with ordinality f (id, place)
    join public.calls c on c.id = f.id
    where c.id = any (v_locked)
      and not exists (select from public.sales s where s.call_id = c.id and s.status <> 'CANCELED')
    order by f.place limit 1;
  return v_call;
end
$$;

-- sold_call: the newest call of the same customer that has its sale already.
create function private.sold_call(p_site public.sites, p_sale public.sales) returns uuid
language sql stable security definer set search_path = ''
as $$
  select c.id from public.calls c
  where c.site_id = p_site.id and c.called_at <= p_sale.occurred_at and c.called_at > p_sale.occurred_at - interval '90 days'
    and (c.gclid = p_sale.gclid or c.wbraid = p_sale.wbraid or c.gbraid = p_sale.gbraid or c.caller_hash = p_sale.customer_hash)
    and exists (select from public.sales s where s.call_id = c.id and s.status <> 'CANCELED')
  order by c.called_at desc, c.id limit 1
$$;

-- read_external_sale: what was sent, as a sale that is not stored yet. Refuses by field.
--   Takes    p_args {externalRef, occurredAt, amountCents, currency?, customerPhone?, customerHash?, emailHash?,
--            gclid?, wbraid?, gbraid?, marketingConsent?, note?}
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
  if v_sale.occurred_at is null or v_sale.occurred_at not between v_now - interval '90 days' and v_now + interval '1 hour' then
    perform private.refuse_setting('occurred_at');
  end if;
  v_sale.customer_hash := coalesce(lower(p_args ->> 'customerHash'), private.phone_hash(private.e164(p_site, p_args ->> 'customerPhone')));
  if v_sale.customer_hash is null and p_args ->> 'customerPhone' is not null then
    perform private.refuse_setting('customer_phone');
  end if;
  if v_sale.customer_hash !~ '^[0-9a-f]{64}$' then
    perform private.refuse_setting('customer_hash');
  end if;
  v_sale.email_hash := lower(p_args ->> 'emailHash');
  if v_sale.email_hash !~ '^[0-9a-f]{64}$' then
    perform private.refuse_setting('customer_email_hash');
  end if;
  v_sale.gclid := nullif(btrim(p_args ->> 'gclid'), '');
  v_sale.wbraid := nullif(btrim(p_args ->> 'wbraid'), '');
  v_sale.gbraid := nullif(btrim(p_args ->> 'gbraid'), '');
  if greatest(char_length(v_sale.gclid), char_length(v_sale.wbraid), char_length(v_sale.gbraid)) > 512 then
    perform private.refuse_setting('gclid');
  end if;
  v_sale.note := nullif(left(btrim(p_args ->> 'note'), 500), '');
  v_sale.external_hash := encode(sha256(convert_to(jsonb_build_array(v_sale.amount_cents, v_sale.currency, private.exact_time(v_sale.occurred_at),
    v_sale.customer_hash, v_sale.gclid, v_sale.wbraid, v_sale.gbraid, p_args -> 'marketingConsent', v_sale.note,
    v_sale.email_hash)::text, 'UTF8')), 'hex');
  return v_sale;
end
$$;

-- refused_since: true if a visitor behind this sale refused marketing after it happened, as the newest choice: the
-- visitor of its call, or one who came with its click. A customer who agrees at the till later has said so later.
create function private.refused_since(p_site_id uuid, p_sale public.sales, p_call public.calls) returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (
    select from (
      select p_call.visitor_id as visitor_id where p_call.id is not null
      union
      select c.visitor_id from private.click_sightings c
      where c.site_id = p_site_id
        and c.click_hash in (select private.click_hashes(p_sale.gclid, p_sale.wbraid, p_sale.gbraid))) v
    cross join lateral private.newest_choice(p_site_id, v.visitor_id) n
    where not 'marketing' = any (n.scopes) and n.chosen_at > p_sale.occurred_at)
$$;

-- take_click: the click a sale is told to Google with: its call's, or its own where the customer agreed, or none, with the reason. When
-- a click of its own was made is not known; it was not after the sale. The hash of an e-mail address is for Google alone: it is
-- kept where the customer agreed, and nowhere else.
create function private.take_click(p_site_id uuid, p_sale public.sales, p_call public.calls, p_consent boolean) returns public.sales
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_has_own boolean := coalesce(p_sale.gclid, p_sale.wbraid, p_sale.gbraid) is not null;
begin
  if not coalesce(p_consent, false) or private.refused_since(p_site_id, p_sale, p_call) then
    p_sale.email_hash := null;
  end if;
  if not p_consent then   -- said, not left out: whatever the call's visitor agreed to, this customer did not
    p_sale.gclid := null;
    p_sale.wbraid := null;
    p_sale.gbraid := null;
    p_sale.delivery_block := 'NO_CONSENT';
    return p_sale;
  end if;
  p_sale.delivery_block := case when p_call.id is not null then private.delivery_block_of(p_call) when not v_has_own then 'NO_MATCH' else 'NO_CONSENT' end;
  if p_call.id is not null and p_sale.delivery_block is null then
    p_sale.gclid := p_call.gclid;
    p_sale.wbraid := p_call.wbraid;
    p_sale.gbraid := p_call.gbraid;
    p_sale.clicked_at := p_call.clicked_at;
  elsif v_has_own and p_consent and not private.refused_since(p_site_id, p_sale, p_call) then
    p_sale.clicked_at := least(p_sale.occurred_at, private.current_moment());
    p_sale.delivery_block := null;
  else   -- a click id without consent is not kept
    p_sale.gclid := null;
    p_sale.wbraid := null;
    p_sale.gbraid := null;
  end if;
  return p_sale;
end
$$;

create function private.external_sale_answer(p_sale public.sales) returns jsonb
language sql stable set search_path = ''
as $$
  select jsonb_build_object('sale_id', p_sale.id, 'external_ref', p_sale.external_ref, 'status', p_sale.status, 'amount_cents', p_sale.amount_cents,
    'currency', p_sale.currency, 'occurred_at', p_sale.occurred_at, 'matched_by', p_sale.matched_by, 'call_id', p_sale.call_id,
    'delivery_block', p_sale.delivery_block)
$$;

-- record_sale: a sale from elsewhere becomes a draft, once per reference.
--   Takes    p_args as read_external_sale, p_call_ids as match_call.
--   Safe     to repeat, also at the same moment: the reference's index decides, and the second gets the first one's sale.
--   Refuses  409 EXTERNAL_REF_CONFLICT for a reference that was sent with other values.
create function private.record_sale(
  p_site public.sites, p_actor private.actor, p_args jsonb, p_call_ids uuid[] default null
) returns public.sales
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_sent public.sales := private.read_external_sale(p_site, p_args);
  v_sale public.sales;
  v_call public.calls;
begin
  select s.* into v_sale from public.sales s where s.site_id = p_site.id and s.external_ref = v_sent.external_ref;
  if v_sale.id is null then
    v_call := private.match_call(p_site, v_sent, p_call_ids);
    v_sale := private.take_click(p_site.id, v_sent, v_call, (p_args ->> 'marketingConsent')::boolean);
    v_sale.matched_by := case when v_call.id is null then null
      when v_call.gclid = v_sent.gclid or v_call.wbraid = v_sent.wbraid or v_call.gbraid = v_sent.gbraid then 'click' else 'phone' end;
    v_sale.id := private.uuid_v7();
    insert into public.sales (id, site_id, call_id, sibling_call_id, external_ref, external_hash, matched_by, status, version, order_id, amount_cents, currency, value_source,
        occurred_at, gclid, wbraid, gbraid, clicked_at, customer_hash, email_hash, delivery_block, note, created_at, updated_at)
      values (v_sale.id, p_site.id, v_call.id, case when v_call.id is null then private.sold_call(p_site, v_sent) end, v_sale.external_ref, v_sale.external_hash, v_sale.matched_by, 'DRAFT', 1,
        'om_' || replace(v_sale.id::text, '-', ''), v_sale.amount_cents, v_sale.currency, 'EXTERNAL', v_sale.occurred_at, v_sale.gclid, v_sale.wbraid,
        v_sale.gbraid, v_sale.clicked_at, v_sale.customer_hash, v_sale.email_hash, v_sale.delivery_block, v_sale.note, v_now, v_now)
      on conflict (site_id, external_ref) do nothing
      returning * into v_sale;
    if v_sale.id is not null then
      perform private.prove(p_site.id, p_actor, jsonb_build_object('contract', 'sale', 'contractVersion',
        (select c.contract_version from public.contracts c where c.contract = 'sale'), 'entityId', v_sale.id, 'to', 'DRAFT',
        'requestHash', p_args ->> 'requestHash', 'facts', jsonb_build_object('version', 1, 'saleId', v_sale.id, 'callId', v_sale.call_id,
          'amountCents', v_sale.amount_cents, 'currency', v_sale.currency, 'valueSource', 'EXTERNAL', 'deliveryBlock', v_sale.delivery_block)));
      return v_sale;
    end if;
    select s.* into v_sale from public.sales s where s.site_id = p_site.id and s.external_ref = v_sent.external_ref;
  end if;
  if v_sale.external_hash is distinct from v_sent.external_hash then
    perform private.fail(409, 'EXTERNAL_REF_CONFLICT', jsonb_build_object('saleId', v_sale.id));
  end if;
  return v_sale;
end
$$;

create function private.record_sale_effect(p_args jsonb) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.external_sale_answer(private.record_sale(s, ('api_key', (p_args ->> 'actorId')::uuid)::private.actor, p_args))
  from public.sites s where s.id = (p_args ->> 'site')::uuid
$$;

create function private.confirm_sale_effect(p_args jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_moved jsonb := private.effect(p_args);
begin
  return (select private.external_sale_answer(s) || jsonb_build_object('proof_id', v_moved -> 'proof_id')
          from public.sales s where s.id = (p_args ->> 'id')::uuid);
end
$$;

-- record_external_sale: a machine reports a sale.
--   Returns  {status, replayed, body} with {sale_id, external_ref, status, amount_cents, currency, occurred_at, matched_by, call_id, delivery_block}.
--   Callers  service role only.
create function public.record_external_sale(p_key_id uuid, p_sale jsonb, p_request_hash text, p_key text default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{sales}');
begin
  return private.answer_once(v_site_id, 'sale.record', p_key, p_request_hash, 'private.record_sale_effect'::regproc,
    p_sale || jsonb_build_object('site', v_site_id, 'actorId', p_key_id, 'requestHash', p_request_hash));
end
$$;

-- confirm_sale_and_enqueue: a machine confirms a sale that it reported: sealed, in the ledger and on the queue, in one transaction.
--   Moves    DRAFT -> CONFIRMED; its call is sealed with it.
--   Refuses  409 VISIT_ALREADY_SEALED unless p_confirm says {separateSale: true}.
--   Callers  service role only.
create function public.confirm_sale_and_enqueue(p_key_id uuid, p_confirm jsonb, p_request_hash text, p_key text default null) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site_id uuid := private.key_site_id(p_key_id, '{sales}');
begin
  return private.answer_once(v_site_id, 'sale.confirm', p_key, p_request_hash, 'private.confirm_sale_effect'::regproc,
    jsonb_build_object('effect', 'sale', 'to', 'CONFIRMED', 'id', p_confirm -> 'id', 'separateSale', p_confirm -> 'separateSale', 'site', v_site_id,
      'actorKind', 'api_key', 'actorId', p_key_id, 'requestHash', p_request_hash));
end
$$;

-- confirm_sale: an operator seals a draft, or takes back a cancellation that Google has not heard of.
--   Takes    p_confirm {id, expectedVersion?, separateSale?}
--   Callers  operators.
create function public.confirm_sale(p_public_id text, p_confirm jsonb, p_request_hash text, p_key text default null) returns jsonb
language sql security definer set search_path = ''
as $$
  select private.change_once(private.require_open_site(p_public_id, 'operator'), 'sale.confirm', p_key, p_request_hash,
    jsonb_build_object('effect', 'sale', 'to', 'CONFIRMED', 'id', p_confirm -> 'id', 'expectedVersion', p_confirm -> 'expectedVersion',
      'separateSale', p_confirm -> 'separateSale'))
$$;

-- lock_import: locks the calls that lines of a file may take or belong to, before the first line.
-- Locked line by line, a call would be locked after another line's visit, while whoever seals holds
-- the call and waits for that visit. Visits are locked line by line: nobody else holds two.
--   Takes    p_taken: calls that earlier lines of a preview took; this one may not take them.
--   Returns  the calls that the lines may take.
create function private.lock_import(p_site public.sites, p_rows jsonb, p_taken uuid[] default '{}')
returns uuid[]
language plpgsql security definer set search_path = ''
as $$
declare
  v_row jsonb;
  v_call_ids uuid[] := '{}';
begin
  if jsonb_typeof(p_rows) is distinct from 'array' or jsonb_array_length(p_rows) > 100 then
    perform private.refuse_setting('rows');
  end if;
  -- Two files of one site are read one after the other: the second sees what the first took.
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('import/' || p_site.id, 0));
  for v_row in select r.line from jsonb_array_elements(p_rows) r (line) loop
    begin
      v_call_ids := v_call_ids
        || array(select private.candidate_calls(p_site, private.read_external_sale(p_site, v_row)))
        || array(select s.call_id from public.sales s where s.site_id = p_site.id
            and s.external_ref = btrim(v_row ->> 'externalRef') and s.call_id is not null);
    exception when sqlstate 'PT400' or data_exception then
      null;   -- the line is refused below, with its reason
    end;
  end loop;
  return private.lock_calls(array(
    select distinct c from unnest(v_call_ids) c where c <> all (coalesce(p_taken, '{}'))));
end
$$;

-- import_row: one line of a file becomes a draft. A refusal is the line's result, not the file's.
--   Returns  {line, result: created | known | refused, code?, field?, saleId?, callId?, matchedBy?,
--            deliveryBlock?, amountCents?, currency?}.
create function private.import_row(p_site public.sites, p_row jsonb, p_call_ids uuid[])
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_sale public.sales;
  v_result text := 'created';
  v_code text;
  v_detail text;
begin
  begin
    if exists (select from public.sales s where s.site_id = p_site.id
        and s.external_ref = btrim(p_row ->> 'externalRef')) then
      v_result := 'known';
    end if;
    v_sale := private.record_sale(p_site, private.user_actor(), p_row, p_call_ids);
  exception
    when sqlstate 'PT400' or sqlstate 'PT409' then
      get stacked diagnostics v_code = message_text, v_detail = pg_exception_detail;
    when data_exception or check_violation then
      v_code := 'VALIDATION_FAILED';
  end;
  if v_code is not null then
    return jsonb_build_object('line', p_row -> 'line', 'result', 'refused', 'code', v_code,
      'field', nullif(v_detail, '')::jsonb ->> 'field');
  end if;
  return jsonb_strip_nulls(jsonb_build_object('line', p_row -> 'line', 'result', v_result,
    'saleId', v_sale.id, 'callId', v_sale.call_id, 'matchedBy', v_sale.matched_by,
    'deliveryBlock', v_sale.delivery_block, 'amountCents', v_sale.amount_cents,
    'currency', v_sale.currency));
end
$$;

-- seal_row: seals the draft of an imported line. One that cannot be sealed stays a draft, for
-- somebody to look at.
--   Returns  the line's result, as sealed, or with the code that stands in the way.
create function private.seal_row(p_site public.sites, p_result jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_code text;
begin
  if not exists (select from public.sales s
      where s.id = (p_result ->> 'saleId')::uuid and s.status = 'DRAFT') then
    return p_result;
  end if;
  perform private.move_sale(p_site, private.user_actor(),
    jsonb_build_object('id', p_result -> 'saleId', 'to', 'CONFIRMED'));
  return p_result || '{"result": "sealed"}';
exception when sqlstate 'PT409' then
  get stacked diagnostics v_code = message_text;
  return p_result || jsonb_build_object('code', v_code);
end
$$;

-- import_sales: lines of a file become sales.
--   Takes    p_rows [{line, externalRef, …}] as read_external_sale takes them, 100 at most: hosted
--            Supabase ends a statement of a signed-in user after 8 s.
--   Returns  [{line, result: created | known | sealed | refused, …}] in the order given.
--   Callers  operators.
create function public.import_sales(p_public_id text, p_rows jsonb, p_seal boolean default false)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call_ids uuid[] := private.lock_import(v_site, p_rows);
  v_row jsonb;
  v_result jsonb;
  v_results jsonb[] := '{}';
begin
  if p_seal then   -- by id and before the first line, as an answer of Google's locks them
    perform private.hold_retractions(array(
      select s.id from public.sales s where s.call_id = any (v_call_ids) and s.status = 'CANCELED'));
  end if;
  for v_row in select r.line from jsonb_array_elements(p_rows) r (line) loop
    v_result := private.import_row(v_site, v_row, v_call_ids);
    v_results := v_results
      || case when p_seal then private.seal_row(v_site, v_result) else v_result end;
  end loop;
  return to_jsonb(v_results);
end
$$;

-- preview_import: what an import of these lines would do. It makes the drafts and takes them back,
-- so it says the same. Drafts of earlier lines of the file are gone by then, so the caller passes
-- on the callId of each earlier result. A reference that a file has twice is refused when it is read.
--   Takes    p_rows as import_sales; p_taken: at most 2,000 calls that earlier lines took.
--   Returns  as import_sales.
--   Callers  operators.
create function public.preview_import(p_public_id text, p_rows jsonb, p_taken uuid[] default '{}')
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call_ids uuid[];
  v_row jsonb;
  v_results jsonb[] := '{}';
begin
  if cardinality(p_taken) > 2000 then
    perform private.refuse_setting('taken');
  end if;
  begin
    v_call_ids := private.lock_import(v_site, p_rows, p_taken);
    for v_row in select r.line from jsonb_array_elements(p_rows) r (line) loop
      v_results := v_results || private.import_row(v_site, v_row, v_call_ids);
    end loop;
    raise exception using errcode = 'OM000', message = 'previewed';   -- caught below
  exception when sqlstate 'OM000' then
    null;   -- variables keep what they hold; the rows are gone
  end;
  return to_jsonb(v_results);
end
$$;

grant execute on function
  public.confirm_sale(text, jsonb, text, text),
  public.import_sales(text, jsonb, boolean),
  public.preview_import(text, jsonb, uuid[])
to authenticated;
grant execute on function
  public.add_caller_number(uuid, text, text),
  public.record_external_sale(uuid, jsonb, text, text),
  public.confirm_sale_and_enqueue(uuid, jsonb, text, text)
to opsmantik_app, service_role;
