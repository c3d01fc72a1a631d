-- Consent: what each visitor chose, ordered by when they chose. Every store, report, seal and claim
-- checks the newest choice.

create table public.consent_choices (
  id bigint generated always as identity primary key,
  site_id uuid not null references public.sites (id),
  visitor_id text not null,
  scopes text[] not null,
  -- When the visitor chose; a message can arrive a day later.
  chosen_at timestamptz not null,
  -- When the same was last said, with nothing else in between that we know of.
  last_said_at timestamptz not null,
  received_at timestamptz not null,
  page_url text,
  tracker_version int,
  constraint choice_visitor_is_bounded check (char_length(visitor_id) between 1 and 64),
  constraint choice_scopes_are_bounded check (cardinality(scopes) <= 10),
  constraint choice_page_is_bounded check (char_length(page_url) <= 2048)
);
create index choices_by_arrival on public.consent_choices (received_at);
create index newest_choice_of_a_visitor
  on public.consent_choices (site_id, visitor_id, chosen_at desc, id desc);
alter table public.consent_choices enable row level security;

-- newest_choice: what a visitor last said; a null row when nothing is known.
create function private.newest_choice(p_site_id uuid, p_visitor_id text)
returns public.consent_choices
language sql stable security definer set search_path = ''
as $$
  select c.* from public.consent_choices c
  where c.site_id = p_site_id and c.visitor_id = p_visitor_id
  order by c.chosen_at desc, c.id desc limit 1
$$;

-- refused_marketing: true if the visitor's newest choice leaves marketing out, or if the visitor
-- was erased: no later event of theirs counts as consent. A visitor who never chose refused
-- nothing.
create function private.refused_marketing(p_site_id uuid, p_visitor_id text) returns boolean
language sql stable security definer set search_path = ''
as $$
  select coalesce((
    select not 'marketing' = any (c.scopes) from public.consent_choices c
    where c.site_id = p_site_id and c.visitor_id = p_visitor_id
    order by c.chosen_at desc, c.id desc limit 1), false)
    or exists (select from private.erased_marks m where m.site_id = p_site_id
      and m.mark = private.mark_of(p_site_id, 'visitor', p_visitor_id))
$$;

-- lock_visitor: stores, withdrawals and reports of one visitor run one after the other.
-- store_events takes the same lock for all visitors of a batch, in order.
create function private.lock_visitor(p_site_id uuid, p_visitor_id text) returns void
language sql set search_path = ''
as $$
  select pg_catalog.pg_advisory_xact_lock(hashtextextended(p_site_id || '/' || p_visitor_id, 0))
$$;

-- write_choice: one line of what a visitor said.
create function private.write_choice(p_choice public.consent_choices) returns void
language sql security definer set search_path = ''
as $$
  insert into public.consent_choices
      (site_id, visitor_id, scopes, chosen_at, last_said_at, received_at, page_url, tracker_version)
    values (p_choice.site_id, p_choice.visitor_id, p_choice.scopes, p_choice.chosen_at,
      p_choice.chosen_at, private.current_moment(),
      private.without_click_ids(left(p_choice.page_url, 2048)), p_choice.tracker_version)
$$;

-- note_choice: stores a visitor's choice, and applies it if it is now the newest. Repeating the
-- same choice only moves last_said_at. If a different choice from in between arrives later, the
-- repeated choice is split into two rows. Called with the visitor locked.
--   Safe     to repeat and in any order: the choice that was made last counts, whichever arrives
--            last.
create function private.note_choice(p_choice public.consent_choices) returns void
language plpgsql security definer set search_path = ''
as $$
declare
  v_before public.consent_choices;
  v_next public.consent_choices;
begin
  select c.* into v_before from public.consent_choices c
    where c.site_id = p_choice.site_id and c.visitor_id = p_choice.visitor_id
      and c.chosen_at <= p_choice.chosen_at
    order by c.chosen_at desc, c.id desc limit 1;
  if v_before.scopes = p_choice.scopes then
    update public.consent_choices c set last_said_at = p_choice.chosen_at
      where c.id = v_before.id and c.last_said_at < p_choice.chosen_at;
    return;   -- applied when it was first said
  end if;
  select c.* into v_next from public.consent_choices c
    where c.site_id = p_choice.site_id and c.visitor_id = p_choice.visitor_id
      and c.chosen_at > p_choice.chosen_at
    order by c.chosen_at, c.id limit 1;
  if v_before.last_said_at > p_choice.chosen_at then
    update public.consent_choices c set last_said_at = c.chosen_at where c.id = v_before.id;
    perform private.write_choice(p_choice);
    v_before.chosen_at := v_before.last_said_at;
    perform private.write_choice(v_before);
  elsif v_next.scopes = p_choice.scopes then
    update public.consent_choices c set chosen_at = p_choice.chosen_at where c.id = v_next.id;
  else
    perform private.write_choice(p_choice);
  end if;
  if private.refused_marketing(p_choice.site_id, p_choice.visitor_id) then
    perform private.withdraw_marketing(p_choice.site_id, p_choice.visitor_id);
  end if;
end
$$;

-- purge_consent_choices: forgets choices of visitors without a session two days later.
--   Returns  {purged}; at most 20,000 a call.
--   Callers  service role only (daily cron).
create function public.purge_consent_choices() returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_now timestamptz := private.current_moment();
  v_purged int;
begin
  delete from public.consent_choices c where c.id = any (array(
    select x.id from public.consent_choices x
    where x.received_at > v_now - interval '5 days'
      and x.received_at <= v_now - interval '2 days'
      and not exists (
        select from public.sessions s
        where s.site_id = x.site_id and s.visitor_id = x.visitor_id)
    order by x.received_at limit 20000));
  get diagnostics v_purged = row_count;
  return jsonb_build_object('purged', v_purged);
end
$$;
grant execute on function public.purge_consent_choices() to opsmantik_app, service_role;
