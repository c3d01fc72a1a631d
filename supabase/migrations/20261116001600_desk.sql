-- The desk's list: what an operator sees of leads. Reads only; every change is in seal and transitions.

-- The desk's ORDER BY, exactly (as calls_of_a_site): a page costs the same at any depth. Each view is few among many and has its own.
create index open_leads_newest_first on public.calls (site_id, called_at desc, id desc) where status in ('intent', 'qualified', 'meeting');
create index ended_leads_newest_first on public.calls (site_id, called_at desc, id desc) where status in ('junk', 'cancelled');
create index sealed_leads_newest_first on public.calls (site_id, called_at desc, id desc) where status = 'sealed';
create index sealed_leads_by_seal on public.calls (site_id, status_at) where status = 'sealed';
-- Operators search by the last digits they see on their telephone: read backwards, an ending is a beginning.
create index leads_by_phone_ending on public.calls (site_id, reverse(regexp_replace(phone, '\D', '', 'g')) text_pattern_ops) where phone is not null;
-- What changed since a screen last asked. The queue is followed by its ledger: an index on its own updated_at would cost every delivery.
create index leads_of_a_visit on public.calls (session_id);
create index changed_leads on public.calls (site_id, updated_at);
create index changed_sales on public.sales (site_id, updated_at);
create index transitions_of_a_site on public.queue_transitions (site_id, created_at);
create index verdicts_of_a_site on public.provider_dispatches (site_id, verdict_at) where verdict_at is not null;
create index failed_rows_of_a_site on public.offline_conversion_queue (site_id, updated_at) where status = 'FAILED';

-- masked_phone: enough to recognise a caller, too little to call one: +90 532 ••• 41 07.
create function private.masked_phone(p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when n.digits is null then null
    when length(n.digits) < 8 then '••• ' || right(n.digits, 2)
    else case when n.digits ~ '^90\d{10}$' then '+90 ' || substr(n.digits, 3, 3) when n.digits ~ '^0\d{10}$' then left(n.digits, 4)
              when p_phone like '+%' then '+' || left(n.digits, 2) else left(n.digits, 3) end
         || ' ••• ' || substr(right(n.digits, 4), 1, 2) || ' ' || right(n.digits, 2) end
  from (select nullif(regexp_replace(p_phone, '\D', '', 'g'), '') as digits) n
$$;

create function private.url_path(p_url text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_url is null then null
    else coalesce(nullif(left(split_part(split_part(regexp_replace(p_url, '^[a-z]+://[^/?#]*', '', 'i'), '?', 1), '#', 1), 120), ''), '/') end
$$;

-- actor_name: who did something, as people are called on screen; null for the system.
create function private.actor_name(p_kind text, p_id uuid) returns text
language sql stable security definer set search_path = ''
as $$
  select case p_kind when 'user' then (select private.display_name(u) from auth.users u where u.id = p_id)
                     when 'api_key' then (select k.name from public.site_api_keys k where k.id = p_id) end
$$;

-- needs_you_of: why an open lead waits for somebody: its click runs out within a week, or it is older than the site allows.
-- After 90 days neither Google nor the customer waits any more.
create function private.needs_you_of(p_site public.sites, p_call public.calls) returns text
language sql stable set search_path = ''
as $$
  select case
    when p_call.status not in ('intent', 'qualified', 'meeting') or p_call.called_at < n.now - interval '90 days' then null
    when p_call.marketing_consent and coalesce(p_call.gclid, p_call.wbraid, p_call.gbraid) is not null
      and p_call.clicked_at + interval '90 days' between n.now and n.now + interval '7 days' then 'CLICK_EXPIRES'
    when p_call.called_at < n.now - make_interval(hours => p_site.needs_you_after_hours) then 'WAITING' end
  from (select private.current_moment() as now) n
$$;

-- lead_on_desk: one lead as a row of the desk. The number is masked here, so that no list ever carries it whole.
create function private.lead_on_desk(p_site public.sites, p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object(
    'id', p_call.id, 'channel', p_call.channel, 'phone', private.masked_phone(p_call.phone), 'status', p_call.status, 'version', p_call.version,
    'score', p_call.lead_score, 'points', p_call.score_breakdown, 'calledAt', p_call.called_at, 'pagePath', private.url_path(p_call.page_url),
    'campaign', v.utm ->> 'campaign', 'keyword', v.utm ->> 'term',
    'clickBlock', private.delivery_block_of(p_call), 'clickedAt', p_call.clicked_at, 'clickExpiresAt', p_call.clicked_at + interval '90 days',
    'needsYou', private.needs_you_of(p_site, p_call),
    'visitsBefore', (select count(*) from public.sessions o where o.site_id = v.site_id and o.visitor_id = v.visitor_id and o.started_at < v.started_at),
    'changedAt', p_call.status_at, 'changedBy', private.actor_name(f.actor_kind, f.actor_id), 'changedByYou', coalesce(f.actor_id = auth.uid(), false),
    'undoUntil', case when f.id is not null and not f.facts ? 'undo' and p_call.status_at > private.current_moment() - interval '10 minutes'
                      then p_call.status_at + interval '10 minutes' end,
    'sale', case when s.id is not null then jsonb_build_object('id', s.id, 'version', s.version, 'status', s.status, 'amountCents', s.amount_cents,
      'currency', s.currency, 'isPredicted', s.value_source = 'PREDICTED', 'deliveryBlock', s.delivery_block, 'note', s.note,
      'adjustableUntil', s.occurred_at + interval '54 days', 'atGoogle', private.standing_json(s.id)) end,
    'delivery', case when q.id is not null then jsonb_build_object('status', q.status, 'notBefore', greatest(q.not_before, q.next_retry_at),
      'errorCode', q.provider_error_code, 'uploadedAt', q.uploaded_at, 'verdict', d.verdict,
      'pendingAdjustment', (select a.kind from public.offline_conversion_queue a where a.sale_id = s.id and a.kind <> 'CONVERSION'
                            and a.status in ('QUEUED', 'RETRY', 'PROCESSING') limit 1)) end)
  from (select 1) one
  left join public.sessions v on v.id = p_call.session_id
  left join public.transition_proofs f on f.id = p_call.last_proof_id
  left join lateral (select x.* from public.sales x where x.call_id = p_call.id order by x.status = 'CONFIRMED' desc, x.created_at desc limit 1) s on true
  left join lateral (select x.* from public.offline_conversion_queue x where x.sale_id = s.id and x.kind = 'CONVERSION'
                     order by x.created_at desc limit 1) q on true
  left join lateral (select x.verdict from public.provider_dispatches x where x.sale_id = q.sale_id and x.queue_id = q.id order by x.dispatched_at desc limit 1) d on true
$$;

-- start_of_day: when a day of the site's calendar begins.
create function private.start_of_day(p_site public.sites, p_day date) returns timestamptz
language sql stable set search_path = ''
as $$ select p_day::timestamp at time zone p_site.timezone $$;

create function private.today_at(p_site public.sites) returns date
language sql stable set search_path = ''
as $$ select (private.current_moment() at time zone p_site.timezone)::date $$;

-- matching_leads: the leads that a filter shows, newest first.
--   Takes    p_filter {view, channel, scoreMin, hasClick, from, to, decidedOn, phoneEnding, campaign, cursor}.
--   The view's condition is written into the query, one of five constants, because each has an index of its own.
create function private.matching_leads(p_site public.sites, p_filter jsonb, p_limit int) returns setof public.calls
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_open constant text := $q$c.status in ('intent', 'qualified', 'meeting')$q$;
  v_cursor text := p_filter ->> 'cursor';
begin
  if (v_cursor is not null and v_cursor !~ '^\d{4}-\d\d-\d\dT[0-9:.]{8,15}Z_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')
     or coalesce(p_filter ->> 'from', '2000-01-01') !~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$'
     or coalesce(p_filter ->> 'to', '2000-01-01') !~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$'
     or coalesce(p_filter ->> 'decidedOn', '2000-01-01') !~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$'
     or coalesce(p_filter ->> 'phoneEnding', '00') !~ '^\d{2,7}$' then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  return query execute format($q$
    select c.* from public.calls c
    where c.site_id = $1 and %s
      and ($2 is null or c.channel = $2) and ($3 is null or c.lead_score >= $3)
      and ($4 is null or (coalesce(c.gclid, c.wbraid, c.gbraid) is not null) = $4)
      and ($5 is null or c.called_at >= $5) and ($6 is null or c.called_at < $6)
      and ($13 is null or (c.status_at >= $13 and c.status_at < $14))
      and ($7 is null or (c.phone is not null and reverse(regexp_replace(c.phone, '\D', '', 'g')) like $7))
      and ($8 is null or exists (select from public.sessions s where s.id = c.session_id and s.utm ->> 'campaign' = $8))
      and ($9 is null or (c.called_at, c.id) < ($9, $10))
    order by c.called_at desc, c.id desc limit $11$q$,
    case p_filter ->> 'view' when 'open' then v_open when 'sealed' then $q$c.status = 'sealed'$q$
      when 'junk' then $q$c.status in ('junk', 'cancelled')$q$ when 'needs_you' then v_open || ' and private.needs_you_of($12, c) is not null' else 'true' end)
    using p_site.id, p_filter ->> 'channel', (p_filter ->> 'scoreMin')::int, (p_filter ->> 'hasClick')::boolean,
      private.start_of_day(p_site, (p_filter ->> 'from')::date), private.start_of_day(p_site, (p_filter ->> 'to')::date + 1),
      -- Viewers see numbers masked: with more digits they could find the hidden ones by trying.
      reverse(right(p_filter ->> 'phoneEnding', case when public.has_site_role(p_site.id, 'operator') then 7 else 4 end)) || '%', p_filter ->> 'campaign',
      split_part(v_cursor, '_', 1)::timestamptz, split_part(v_cursor, '_', 2)::uuid, p_limit, p_site,
      private.start_of_day(p_site, (p_filter ->> 'decidedOn')::date), private.start_of_day(p_site, (p_filter ->> 'decidedOn')::date + 1);
exception when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
  perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;

create function private.count_open_leads(p_site_id uuid) returns bigint
language sql stable security definer set search_path = ''
as $$
  select count(*) from (select from public.calls c where c.site_id = p_site_id and c.status in ('intent', 'qualified', 'meeting')
    and c.called_at > private.current_moment() - interval '90 days' limit 1000) t
$$;

-- leads_on_desk: rows of the desk, in the order given.
create function private.leads_on_desk(p_site public.sites, p_calls public.calls[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(private.lead_on_desk(p_site, p_calls[i]) order by i), '[]') from generate_series(1, cardinality(p_calls)) i
$$;

-- desk_leads: a page of 50 leads, newest first; or, with `ids`, these leads, whatever the filter.
--   Takes    p_filter {view: open|sealed|junk|needs_you|all, channel, scoreMin, hasClick, from, to, decidedOn, phoneEnding, campaign, cursor, ids}.
--            Of `ids` the first 100 count; ids of other sites are dropped, so they are not revealed.
--   Returns  {asOf, leads, next, open, todayCount, needsYou, needsYouCount}, the last three on the first page only.
--   Callers  viewers.
create function public.desk_leads(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_page constant int := 50;
  v_answer jsonb := jsonb_build_object('asOf', private.current_moment(), 'open', private.count_open_leads(v_site.id));
  v_leads public.calls[];
  v_needing public.calls[];
begin
  if p_filter ? 'ids' then
    select array_agg(c order by c.called_at desc, c.id desc) into v_leads from public.calls c
      where c.site_id = v_site.id and c.id = any (array(select jsonb_array_elements_text(p_filter -> 'ids') limit 100)::uuid[]);
    return v_answer || jsonb_build_object('leads', private.leads_on_desk(v_site, v_leads), 'next', null);
  end if;
  select array_agg(m order by m.called_at desc, m.id desc) into v_leads from private.matching_leads(v_site, p_filter, v_page + 1) m;
  v_answer := v_answer || jsonb_build_object('leads', private.leads_on_desk(v_site, v_leads[1:v_page]),
    'next', case when cardinality(v_leads) > v_page then private.exact_time(v_leads[v_page].called_at) || '_' || v_leads[v_page].id end);
  if p_filter ? 'cursor' then
    return v_answer;
  end if;
  if coalesce(p_filter ->> 'view', 'all') in ('all', 'open') then
    select array_agg(m order by n.why, case n.why when 'CLICK_EXPIRES' then m.clicked_at end, m.called_at desc, m.id) into v_needing
      from private.matching_leads(v_site, p_filter || '{"view": "needs_you"}', 500) m, private.needs_you_of(v_site, m) n (why);
  end if;
  return v_answer || jsonb_build_object('needsYou', private.leads_on_desk(v_site, v_needing[1:3]), 'needsYouCount', coalesce(cardinality(v_needing), 0),
    'todayCount', (select count(*) from private.matching_leads(v_site, p_filter || jsonb_build_object('from', greatest(p_filter ->> 'from', private.today_at(v_site)::text)), 1000)));
end
$$;

grant execute on function public.desk_leads(text, jsonb) to authenticated;
