-- import_deadline: until when one statement of an import begins a line. What is left comes with the
-- next statement, so that no file, however many calls its customers have, holds locks for long.
-- Tests set the milliseconds.
create function private.import_deadline() returns timestamptz
language sql volatile set search_path = ''
as $$
  select clock_timestamp() + interval '1 millisecond'
    * coalesce(nullif(current_setting('opsmantik.import_ms', true), '')::int, 1000)
$$;

-- vouched_lines: the lines of a file with those of their callers' hashes that the app made of the
-- line's own number. Another's hash would find another customer's call.
--   Takes    p_rows as import_sales. What is no list of lines stays as it is and is refused later.
create function private.vouched_lines(p_site public.sites, p_rows jsonb) returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
begin
  if jsonb_typeof(p_rows) is distinct from 'array' or jsonb_array_length(p_rows) > 100 then
    return p_rows;
  end if;
  return (select coalesce(jsonb_agg(case jsonb_typeof(r.line) when 'object'
      then r.line || jsonb_build_object('callers', private.vouched(p_site.id,
        coalesce(lower(r.line ->> 'customerHash'),
          private.phone_hash(private.e164(p_site, r.line ->> 'customerPhone'))),
        r.line -> 'callers'))
      else r.line end order by r.place), '[]')
    from jsonb_array_elements(p_rows) with ordinality r (line, place));
end
$$;

-- lock_import: locks the calls that lines of a file may take or belong to, before the first line.
-- Line by line it would deadlock: the import holds a visit and waits for a call, while an operator
-- who seals that call holds it and waits for the visit. Visits are locked line by line, because
-- nobody else holds two.
--   Takes    p_taken: calls that earlier lines of a preview took; this one may not take them.
--   Returns  the calls that the lines may take, and how many lines it came to before its deadline:
--            at least one.
create function private.lock_import(
  p_site public.sites, p_rows jsonb, p_taken uuid[] default '{}',
  out call_ids uuid[], out line_count int
)
language plpgsql security definer set search_path = ''
as $$
declare
  v_deadline timestamptz := private.import_deadline();
  v_row jsonb;
  v_sale public.sales;
  v_call_ids uuid[] := '{}';
begin
  line_count := 0;
  if jsonb_typeof(p_rows) is distinct from 'array' or jsonb_array_length(p_rows) > 100 then
    perform private.refuse_setting('rows');
  end if;
  -- Two files of one site are read one after the other: the second sees what the first took.
  perform pg_catalog.pg_advisory_xact_lock(hashtextextended('import/' || p_site.id, 0));
  for v_row in select r.line from jsonb_array_elements(p_rows) r (line) loop
    begin
      v_sale := private.read_external_sale(p_site, v_row);
      v_call_ids := v_call_ids
        || array(select private.candidate_calls(
            p_site, v_sale, private.callers_of(v_sale, v_row)))
        || array(select s.call_id from public.sales s where s.site_id = p_site.id
            and s.external_ref = btrim(v_row ->> 'externalRef') and s.call_id is not null);
    exception when sqlstate 'PT400' or data_exception then
      null;   -- the line is refused below, with its reason
    end;
    line_count := line_count + 1;
    exit when clock_timestamp() >= v_deadline;
  end loop;
  call_ids := private.lock_calls(array(
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
    return jsonb_build_object(
      'line', p_row -> 'line',
      'result', 'refused',
      'code', v_code,
      'field', nullif(v_detail, '')::jsonb ->> 'field');
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'line', p_row -> 'line',
    'result', v_result,
    'saleId', v_sale.id,
    'callId', v_sale.call_id,
    'matchedBy', v_sale.matched_by,
    'deliveryBlock', v_sale.delivery_block,
    'amountCents', v_sale.amount_cents,
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
--   Takes    p_rows [{line, externalRef, …}] as read_external_sale takes them, callers with
--            their vouchers, 100 at most: a statement of a signed-in user ends after 8 s.
--   Returns  [{line, result: created | known | sealed | refused, …}] in the order given; of the
--            first lines only, at least one, when two seconds have passed. The caller sends the
--            rest again.
--   Callers  operators.
create function public.import_sales(p_public_id text, p_rows jsonb, p_seal boolean default false)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call_ids uuid[];
  v_line_count int;
  v_deadline timestamptz;
  v_row jsonb;
  v_result jsonb;
  v_results jsonb[] := '{}';
begin
  p_rows := private.vouched_lines(v_site, p_rows);
  select l.call_ids, l.line_count into v_call_ids, v_line_count
    from private.lock_import(v_site, p_rows) l;
  v_deadline := private.import_deadline();
  if p_seal then   -- by id and before the first line, as an answer of Google's locks them
    perform private.hold_retractions(array(
      select s.id from public.sales s
      where s.call_id = any (v_call_ids) and s.status = 'CANCELED'));
  end if;
  for v_row in select r.line from jsonb_array_elements(p_rows) r (line) limit v_line_count loop
    v_result := private.import_row(v_site, v_row, v_call_ids);
    v_results := v_results
      || case when p_seal then private.seal_row(v_site, v_result) else v_result end;
    exit when clock_timestamp() >= v_deadline;
  end loop;
  return to_jsonb(v_results);
end
$$;
grant execute on function public.import_sales(text, jsonb, boolean) to authenticated;

-- preview_import: what an import of these lines would do. It makes the drafts and rolls them
-- back, so it answers as the import does. The drafts of earlier steps of the file are gone by
-- then, so the caller passes on the callId of each earlier result. A reference that a file has
-- twice is refused when the file is read.
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
  v_line_count int;
  v_deadline timestamptz;
  v_row jsonb;
  v_results jsonb[] := '{}';
begin
  if cardinality(p_taken) > 2000 then
    perform private.refuse_setting('taken');
  end if;
  p_rows := private.vouched_lines(v_site, p_rows);
  begin
    select l.call_ids, l.line_count into v_call_ids, v_line_count
      from private.lock_import(v_site, p_rows, p_taken) l;
    v_deadline := private.import_deadline();
    for v_row in
      select r.line from jsonb_array_elements(p_rows) r (line) limit v_line_count
    loop
      v_results := v_results || private.import_row(v_site, v_row, v_call_ids);
      exit when clock_timestamp() >= v_deadline;
    end loop;
    raise exception using errcode = 'OM000', message = 'previewed';   -- caught below
  exception when sqlstate 'OM000' then
    null;   -- variables keep what they hold; the rows are gone
  end;
  return to_jsonb(v_results);
end
$$;
grant execute on function public.preview_import(text, jsonb, uuid[]) to authenticated;
