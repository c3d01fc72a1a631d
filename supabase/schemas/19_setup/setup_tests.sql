-- A test conversion goes the way of a real one up to the last step, where nothing is kept: by
-- script in Preview, by API with validate-only. It is made when it is asked for and stored nowhere:
-- no sale, snapshot, queue row, proof, unit or count comes of it. Only its answer is kept, the last
-- one for each way.

create table private.setup_tests (
  site_id uuid not null references public.sites (id),
  way text not null,
  order_id text not null,
  at timestamptz not null,
  problem text,                       -- null: it passed
  field text,                         -- what the problem is about, as Google or the script names it
  primary key (site_id, way),
  constraint test_way_is_known check (way in ('script', 'api')),
  constraint test_order_is_marked check (order_id ~ '^test_[0-9a-f-]{36}$'),
  constraint test_problem_is_bounded check (
    char_length(problem) <= 64 and char_length(field) <= 256)
);
alter table private.setup_tests enable row level security;

-- last_test_json: the answer to the last test on the site's present way; null without one.
create function private.last_test_json(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('orderId', t.order_id, 'at', t.at, 'problem', t.problem,
    'field', t.field)
  from private.setup_tests t where t.site_id = p_site.id and t.way = p_site.oci_sync_method
$$;

-- test_mark: the end of a test's order id. It stands for the name under which the test is sent, so
-- that an answer that comes after a rename ticks nothing.
create function private.test_mark(p_site public.sites) returns text
language sql immutable set search_path = ''
as $$
  select left(encode(sha256(convert_to(
    p_site.id || '/' || private.conversion_name(p_site, 'seal'), 'UTF8')), 'hex'), 12)
$$;

-- test_conversion: a conversion that never happened, as the next sealed sale would be sent: with
-- the newest click that Google would take, the average order and this moment. Nothing is written.
-- By script it is worth 0: a person could apply the previewed file in Google Ads.
--   Returns  {orderId, conversionName, conversionAction, via, valueCents, currency,
--            conversionTime, timezone, gclid, wbraid, gbraid}; conversionAction and via are null
--            without a connection. Null while no click with consent is known.
--   Callers  service role only.
create function public.test_conversion(p_site_id uuid) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'orderId', 'test_' || left(pg_catalog.gen_random_uuid()::text, 24) || private.test_mark(s),
    'conversionName', private.conversion_name(s, 'seal'),
    'conversionAction', a.action,
    'via', c.transport,
    'valueCents', case s.oci_sync_method when 'api'
      then private.expected_value_cents(s, 'sealed') else 0 end,
    'currency', s.currency,
    'conversionTime', private.current_moment(),
    'timezone', s.timezone,
    'gclid', v.gclid,
    'wbraid', case when v.gclid is null then v.wbraid end,
    'gbraid', case when v.gclid is null and v.wbraid is null then v.gbraid end)
  from public.sites s
    cross join lateral (
      select x.gclid, x.wbraid, x.gbraid from (
        select y.* from public.sessions y
        where y.site_id = s.id order by y.started_at desc limit 500) x
      where num_nonnulls(x.gclid, x.wbraid, x.gbraid) > 0 and x.marketing_consent
        and x.clicked_at > private.current_moment() - private.click_life()
      order by x.clicked_at desc limit 1) v
    left join public.provider_credentials c
      on c.site_id = s.id and c.provider_key = 'google_ads'
    left join public.provider_conversion_actions a
      on a.site_id = s.id and a.provider_key = 'google_ads'
        and a.conversion_name = private.conversion_name(s, 'seal')
  where s.id = p_site_id and s.archived_at is null
$$;
grant execute on function public.test_conversion(uuid) to opsmantik_app, service_role;

-- record_test: keeps the answer to a test conversion, and ticks the test if it passed. A script
-- that found the conversion action in its account ticks that too.
--   Takes    p_answer {way, orderId, problem?, field?, hasAction?}. An answer to a test of another
--            name is dropped; NO_CLICK has no test.
--   Safe     beside a rename: the site's row is shared, so the rename waits or is seen.
--   Refuses  400 VALIDATION_FAILED for an order id that no test has; 400 WRONG_SYNC_METHOD for an
--            answer of the other way.
--   Callers  service role only.
create function public.record_test(p_site_id uuid, p_answer jsonb) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites;
  v_now timestamptz := private.current_moment();
  v_problem text := left(p_answer ->> 'problem', 64);
begin
  select s.* into v_site from public.sites s where s.id = p_site_id for share;
  if v_site.oci_sync_method is distinct from p_answer ->> 'way' then
    perform private.fail(400, 'WRONG_SYNC_METHOD');
  end if;
  if not coalesce(p_answer ->> 'orderId' ~ '^test_[0-9a-f-]{36}$', false) then
    perform private.refuse_setting('orderId');
  end if;
  if v_problem is distinct from 'NO_CLICK'
      and right(p_answer ->> 'orderId', 12) <> private.test_mark(v_site) then
    return jsonb_build_object('ok', true);
  end if;
  insert into private.setup_tests as t (site_id, way, order_id, at, problem, field)
    values (v_site.id, v_site.oci_sync_method, p_answer ->> 'orderId', v_now, v_problem,
      left(p_answer ->> 'field', 256))
    on conflict (site_id, way) do update
      set order_id = excluded.order_id, at = excluded.at, problem = excluded.problem,
          field = excluded.field;
  if (p_answer ->> 'hasAction')::boolean then
    perform private.write_tick(v_site, 'actions', v_now,
      jsonb_build_object('name', private.conversion_name(v_site, 'seal')));
  end if;
  if v_problem is null then
    perform private.write_tick(v_site, 'test', v_now);
  end if;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.record_test(uuid, jsonb) to opsmantik_app, service_role;
