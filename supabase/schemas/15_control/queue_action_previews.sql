-- A frozen answer to "everything that matches this filter": exactly these rows in exactly these
-- versions can be committed.
create table public.queue_action_previews (
  id uuid primary key default private.uuid_v7(),
  site_id uuid not null,
  actor_id uuid not null,
  action text not null,
  filter jsonb not null,
  ids uuid[] not null,
  versions bigint[] not null,
  digest text not null,
  action_id uuid references public.queue_actions (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint previews_are_bounded
    check (cardinality(ids) <= 100000 and cardinality(ids) = cardinality(versions))
);
alter table public.queue_action_previews
  alter column ids set storage external, alter column versions set storage external;
create index previews_of_a_site on public.queue_action_previews (site_id, expires_at);
alter table public.queue_action_previews enable row level security;

-- bare_code: an error code without the prefix that Data Manager adds (lib/oci/queue/causes.ts).
create function private.bare_code(p_code text) returns text
language sql immutable set search_path = ''
as $$ select regexp_replace(upper(p_code), '^PROCESSING_ERROR_(REASON_)?', '') $$;

-- preview_queue_action: what an action on everything that matches a filter would do, and the set
-- frozen for 15 minutes.
--   Freezes  the rows that would change, at most 100,000, with their versions: rows that match
--            later, or moved meanwhile, are not touched by the commit.
--   Takes    p_unfixable: codes that sending again cannot change. A retry leaves out rows that
--            failed with one of them, and counts them as UNFIXABLE.
--   Returns  {previewId, digest, expiresAt, action, count, valueCents, byStatus, ineligible,
--            sample, truncated}.
--   Callers  operators.
create function public.preview_queue_action(
  p_public_id text, p_action text, p_filter jsonb, p_max_attempts int,
  p_unfixable text[] default '{}'
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_now timestamptz := private.current_moment();
  v_preview public.queue_action_previews;
  v_matching uuid[];
  v_facts jsonb;
begin
  if private.action_statuses(p_action) is null then
    perform private.fail(400, 'VALIDATION_FAILED', '{"field": "action"}');
  end if;
  delete from public.queue_action_previews p
    where p.site_id = v_site.id and p.expires_at < v_now - interval '1 day';
  select array_agg(m.id) into v_matching
    from private.matching_rows(v_site.id, p_filter, null, null, 100001) m;
  with judged as materialized (
    select j.id, j.place, j.from_status, q.value_cents, q.currency, q.version,
      coalesce(j.skipped, case
        when p_action = 'RETRY_SELECTED' and j.from_status = 'FAILED'
          and private.bare_code(q.provider_error_code) = any (p_unfixable)
        then 'UNFIXABLE' end) as skipped
    from private.judge_queue_rows(v_site.id, p_action, null, v_matching[1:100000], null) j
      join private.versioned_queue q on q.id = j.id)
  select
      array_agg(j.id order by j.place) filter (where j.skipped is null),
      array_agg(j.version order by j.place) filter (where j.skipped is null),
      jsonb_build_object(
        'count', count(*) filter (where j.skipped is null),
        'valueCents', (
          select coalesce(jsonb_object_agg(v.currency, v.cents), '{}') from (
            select x.currency, sum(x.value_cents) as cents from judged x
            where x.skipped is null group by 1) v),
        'byStatus', (
          select coalesce(jsonb_object_agg(s.from_status, s.n), '{}') from (
            select x.from_status, count(*) as n from judged x
            where x.skipped is null group by 1) s),
        'ineligible', (
          select coalesce(jsonb_object_agg(s.skipped, s.n), '{}') from (
            select x.skipped, count(*) as n from judged x
            where x.skipped is not null group by 1) s))
    into v_preview.ids, v_preview.versions, v_facts from judged j;
  insert into public.queue_action_previews (site_id, actor_id, action, filter, ids, versions,
      digest, created_at, expires_at)
    values (v_site.id, auth.uid(), p_action, p_filter, coalesce(v_preview.ids, '{}'),
      coalesce(v_preview.versions, '{}'),
      encode(sha256(convert_to(concat_ws('|', v_site.public_id, p_action,
        array_to_string(v_preview.ids, ','), array_to_string(v_preview.versions, ',')),
        'UTF8')), 'hex'),
      v_now, v_now + interval '15 minutes')
    returning * into v_preview;
  return v_facts || jsonb_build_object(
    'previewId', v_preview.id,
    'digest', v_preview.digest,
    'expiresAt', v_preview.expires_at,
    'action', p_action,
    'truncated', coalesce(cardinality(v_matching), 0) > 100000,
    'sample', private.queue_rows_json(array(
      select q from public.offline_conversion_queue q where q.id = any (v_preview.ids[1:5])
      order by array_position(v_preview.ids[1:5], q.id)), p_max_attempts));
end
$$;
grant execute on function public.preview_queue_action(text, text, jsonb, int, text[])
  to authenticated;
