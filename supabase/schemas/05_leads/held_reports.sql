-- What a telephone system reported of a call that cannot take it yet: the call is not stored, or
-- the tracker has not said yet whether its visitor agrees. The tracker's report takes it over; it
-- is forgotten after an hour.
create table private.held_reports (
  site_id uuid not null,
  intent_stamp text not null,
  report jsonb not null,   -- phone, callerHash, callerKeyId, gclid, wbraid, gbraid
  held_until timestamptz not null,
  primary key (site_id, intent_stamp)
);
create index held_reports_by_age on private.held_reports (held_until);
alter table private.held_reports enable row level security;

-- hold_report: keeps what a telephone system reported, and adds to what is kept already.
create function private.hold_report(p_site_id uuid, p_intent_stamp text, p_report jsonb)
returns void
language sql security definer set search_path = ''
as $$
  insert into private.held_reports as h (site_id, intent_stamp, report, held_until)
    select p_site_id, p_intent_stamp, r.report, private.current_moment() + interval '1 hour'
    from (
      select jsonb_strip_nulls(jsonb_build_object(
        'phone', p_report -> 'phone',
        'callerHash', p_report -> 'callerHash',
        'callerKeyId', p_report -> 'callerKeyId',
        'gclid', p_report -> 'gclid',
        'wbraid', p_report -> 'wbraid',
        'gbraid', p_report -> 'gbraid')) as report) r
    where r.report <> '{}'
    on conflict (site_id, intent_stamp)
      do update set held_until = excluded.held_until,
        -- A number comes with its hash, or without one.
        report = case when excluded.report ? 'phone'
          then h.report - '{callerHash,callerKeyId}'::text[] else h.report end || excluded.report
$$;
