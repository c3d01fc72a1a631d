-- The desk's list of leads. It only reads; every change is in 05_leads and 07_sales.

-- matching_leads: the leads that a filter shows, newest first.
--   Takes    p_filter {view, channel, scoreMin, hasClick, from, to, decidedOn, phoneEnding,
--            campaign, cursor}.
--   Refuses  400 VALIDATION_FAILED for a malformed cursor, date or ending.
-- The view's condition is written into the query, one of five constants, because each has an index
-- of its own.
create function private.matching_leads(p_site public.sites, p_filter jsonb, p_limit int)
returns setof public.calls
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_open constant text := 'c.status = any (private.open_lead_states())';
  v_cursor text := p_filter ->> 'cursor';
begin
  if v_cursor !~ '^\d{4}-\d\d-\d\dT[0-9:.]{8,15}Z_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
     or p_filter ->> 'phoneEnding' !~ '^\d{2,7}$'
     or exists (select from unnest('{from,to,decidedOn}'::text[]) k
       where p_filter ->> k !~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$') then
    perform private.fail(400, 'VALIDATION_FAILED');
  end if;
  return query execute format($q$
    select c.* from public.calls c
    where c.site_id = $1 and %s
      and ($2 is null or c.channel = $2) and ($3 is null or c.lead_score >= $3)
      and ($4 is null or (coalesce(c.gclid, c.wbraid, c.gbraid) is not null) = $4)
      and ($5 is null or c.called_at >= $5) and ($6 is null or c.called_at < $6)
      and ($13 is null or (c.status_at >= $13 and c.status_at < $14))
      and ($7 is null or (c.phone is not null
        and reverse(regexp_replace(c.phone, '\D', '', 'g')) like $7))
      and ($8 is null or exists (select from public.sessions s
        where s.id = c.session_id and s.utm ->> 'campaign' = $8))
      and ($9 is null or (c.called_at, c.id) < ($9, $10))
    order by c.called_at desc, c.id desc limit $11$q$,
    case p_filter ->> 'view'
      when 'open' then v_open
      when 'sealed' then $q$c.status = 'sealed'$q$
      when 'junk' then 'c.status = any (private.ended_lead_states())'
      when 'needs_you' then v_open || ' and private.needs_you_of($12, c) is not null'
      else 'true' end)
    using p_site.id, p_filter ->> 'channel', (p_filter ->> 'scoreMin')::int,
      (p_filter ->> 'hasClick')::boolean,
      private.start_of_day(p_site, (p_filter ->> 'from')::date),
      private.start_of_day(p_site, (p_filter ->> 'to')::date + 1),
      -- Viewers see masked numbers: with more digits they could find the hidden ones by trying.
      reverse(right(p_filter ->> 'phoneEnding',
        case when public.has_site_role(p_site.id, 'operator') then 7 else 4 end)) || '%',
      p_filter ->> 'campaign',
      split_part(v_cursor, '_', 1)::timestamptz, split_part(v_cursor, '_', 2)::uuid,
      p_limit, p_site,
      private.start_of_day(p_site, (p_filter ->> 'decidedOn')::date),
      private.start_of_day(p_site, (p_filter ->> 'decidedOn')::date + 1);
exception
  when datetime_field_overflow or invalid_datetime_format or invalid_text_representation then
    perform private.fail(400, 'VALIDATION_FAILED');   -- the 31st of a month that has 30 days
end
$$;

-- count_open_leads: how many leads wait for a decision, counted up to 1,000.
create function private.count_open_leads(p_site_id uuid) returns bigint
language sql stable security definer set search_path = ''
as $$
  select count(*) from (
    select from public.calls c
    where c.site_id = p_site_id and c.status = any (private.open_lead_states())
      and c.called_at > private.current_moment() - private.lead_open_for()
    limit 1000) t
$$;

-- own_last_step: the caller's newest step on a site that can still be undone, so that the desk can
-- offer it whatever its list shows.
--   Returns  {leadId, phone, channel, version, undo}, or null.
create function private.own_last_step(p_site public.sites) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select jsonb_build_object('leadId', c.id, 'phone', private.masked_phone(c.phone),
    'channel', c.channel, 'version', c.version, 'undo', u.step)
  from (
    select x.id, x.updated_at as at from public.calls x
    where x.site_id = p_site.id
      and x.updated_at > private.current_moment() - private.undo_window()
    union
    select x.call_id, x.updated_at from public.sales x
    where x.site_id = p_site.id and x.call_id is not null
      and x.updated_at > private.current_moment() - private.undo_window()
    order by at desc limit 200) t
    join public.calls c on c.id = t.id
    cross join lateral (select private.undo_json(c) as step) u
  where (u.step ->> 'byYou')::boolean
  order by u.step ->> 'until' desc limit 1
$$;

-- desk_leads: a page of 50 leads, newest first; with `ids`, these leads, whatever the filter.
--   Takes    p_filter {view: open|sealed|junk|needs_you|all, channel, scoreMin, hasClick, from, to,
--            decidedOn, phoneEnding, campaign, cursor, ids}. Of `ids` the first 100 count; ids of
--            other sites are dropped, so they are not revealed.
--   Returns  {asOf, open, leads, next, todayCount, needsYou, needsYouCount, lastStep}, the last
--            four on the first page only.
--   Callers  viewers.
create function public.desk_leads(p_public_id text, p_filter jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_site(p_public_id, 'viewer');
  v_page constant int := 50;
  v_answer jsonb := jsonb_build_object(
    'asOf', private.current_moment(), 'open', private.count_open_leads(v_site.id));
  v_leads public.calls[];
  v_needing public.calls[];
begin
  if p_filter ? 'ids' then
    select array_agg(c order by c.called_at desc, c.id desc) into v_leads
      from public.calls c
      where c.site_id = v_site.id and c.id = any (
        array(select jsonb_array_elements_text(p_filter -> 'ids') limit 100)::uuid[]);
    return v_answer || jsonb_build_object(
      'leads', private.leads_json(v_site, v_leads), 'next', null);
  end if;
  select array_agg(m order by m.called_at desc, m.id desc) into v_leads
    from private.matching_leads(v_site, p_filter, v_page + 1) m;
  v_answer := v_answer || jsonb_build_object(
    'leads', private.leads_json(v_site, v_leads[1:v_page]),
    'next', case when cardinality(v_leads) > v_page
      then private.exact_time(v_leads[v_page].called_at) || '_' || v_leads[v_page].id end);
  if p_filter ? 'cursor' then
    return v_answer;
  end if;
  if coalesce(p_filter ->> 'view', 'all') in ('all', 'open') then
    select array_agg(m order by n.why, case n.why when 'CLICK_EXPIRES' then m.clicked_at end,
        m.called_at desc, m.id)
      into v_needing
      from private.matching_leads(v_site, p_filter || '{"view": "needs_you"}', 500) m,
        private.needs_you_of(v_site, m) n (why);
  end if;
  return v_answer || jsonb_build_object(
    'needsYou', private.leads_json(v_site, v_needing[1:3]),
    'needsYouCount', coalesce(cardinality(v_needing), 0),
    'lastStep', private.own_last_step(v_site),
    'todayCount', (
      select count(*) from private.matching_leads(v_site, p_filter || jsonb_build_object(
        'from', greatest(p_filter ->> 'from', private.today_at(v_site)::text)), 1000)));
end
$$;
grant execute on function public.desk_leads(text, jsonb) to authenticated;
