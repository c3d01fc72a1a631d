-- Who a request to erase or export is about, and which rows are about that person.

-- Everything that identifies one person on one site. Arrays are empty, never null.
create type private.person as (
  site_id uuid,
  visitors text[],
  call_ids uuid[],
  sale_ids uuid[],
  stamps text[],          -- of the calls, and of reports that wait for theirs
  clicks text[],          -- gclid, wbraid and gbraid
  asked_clicks text[],    -- what was asked for: other clicks may be somebody else's, too
  caller_hashes text[],   -- as calls keep the number
  phone_hashes text[],    -- SHA-256 of the number, as sales keep it
  email_hashes text[],
  phone text,             -- as it was asked for: in E.164, or its digits where no code is known
  email text
);

-- caller_hashes_of: how calls keep a number whose SHA-256 in E.164 is given. The one place that
-- knows it: a caller may give the hashes itself.
--   Takes    p_asked as find_person.
create function private.caller_hashes_of(p_phone_hashes text[], p_asked jsonb) returns text[]
language sql immutable set search_path = ''
as $$
  select p_phone_hashes || array(
    select jsonb_array_elements_text(coalesce(p_asked -> 'callerHashes', '[]')))
$$;

-- email_hashes_of: the SHA-256 of an address as docs/api/sales.md asks for it, and as Google
-- normalises its own: without dots and without what follows a plus.
create function private.email_hashes_of(p_email text) returns text[]
language sql immutable set search_path = ''
as $$
  select array(
    select distinct private.sha256_hex(t.address) from (
      select e.address from (select lower(btrim(p_email)) as address) e
      union all
      select replace(split_part(split_part(lower(btrim(p_email)), '@', 1), '+', 1), '.', '')
        || '@' || split_part(lower(btrim(p_email)), '@', 2)
      where lower(btrim(p_email)) ~ '@(gmail|googlemail)\.com$') t)
$$;

-- joined: two lists as one, each entry once, without nulls and without the names that stand in for
-- erased visitors.
create function private.joined(p_one text[], p_other text[]) returns text[]
language sql immutable set search_path = ''
as $$
  select array(
    select distinct t from unnest(coalesce(p_one, '{}') || coalesce(p_other, '{}')) t
    where t is not null and t not like 'erased-%' order by t)
$$;

-- loose_number: the end of a number that could not be read in full, to be compared with others:
-- nine digits; seven are enough where the site's own country code is not known either.
create function private.loose_number(p_site public.sites, p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select right(t.digits, 9)
  from (select ltrim(regexp_replace(p_phone, '\D', '', 'g'), '0') as digits) t
  where char_length(t.digits) >= case when private.calling_code(p_site) is null then 7 else 9 end
$$;

-- end_alike: whether one of two loose numbers is the end of the other.
create function private.end_alike(p_one text, p_other text) returns boolean
language sql immutable set search_path = ''
as $$ select right(p_one, char_length(p_other)) = right(p_other, char_length(p_one)) $$;

-- asked_person: what a request names, before anything is looked up.
--   Takes    p_asked {kind: phone | email | click | visitor, value, callerHashes?, foundHashes?}:
--            the number that was asked for, and those that preview_erasure found, as calls keep
--            them under each vault key.
--   Refuses  400 VALIDATION_FAILED with the field value.
create function private.asked_person(p_site public.sites, p_asked jsonb) returns private.person
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_value text := btrim(p_asked ->> 'value');
  v private.person;
begin
  v.site_id := p_site.id;
  v.visitors := '{}'; v.call_ids := '{}'; v.sale_ids := '{}'; v.stamps := '{}'; v.clicks := '{}';
  v.asked_clicks := '{}';
  v.caller_hashes := '{}'; v.phone_hashes := '{}'; v.email_hashes := '{}';
  case p_asked ->> 'kind'
    when 'phone' then
      v.phone := coalesce(private.e164(p_site, v_value), private.loose_number(p_site, v_value));
      v.phone_hashes := private.joined(
        array[private.phone_hash(private.e164(p_site, v_value))], null);
      v.caller_hashes := private.caller_hashes_of(v.phone_hashes, p_asked);
    when 'email' then
      v.email := lower(v_value);
      v.email_hashes := private.email_hashes_of(v_value);
    when 'click' then
      v.clicks := private.joined(array[v_value], null);
      v.asked_clicks := v.clicks;
    when 'visitor' then v.visitors := private.joined(array[v_value], null);
    else null;
  end case;
  if v_value is null or char_length(v_value) not between 3 and 512
      or (p_asked ->> 'kind' = 'email' and v_value !~ '^[^@\s]+@[^@\s]+$')
      or (cardinality(v.visitors || v.clicks || v.email_hashes) = 0 and v.phone is null) then
    perform private.refuse_setting('value');
  end if;
  return v;
end
$$;

-- visitors_captured: visitors whose events are captured but not stored, by what their payload says:
-- a telephone system's report may be all that is known of a number.
create function private.visitors_captured(
  p_site public.sites, p_phone_hashes text[], p_clicks text[], p_loose text
) returns text[]
language sql stable security definer set search_path = ''
as $$
  select array(
    select b.payload ->> 'visitor' from public.ingest_fallback_buffer b
    where b.site_id = p_site.id and b.status <> 'RECOVERED'
      and (array[b.payload ->> 'gclid', b.payload ->> 'wbraid', b.payload ->> 'gbraid'] && p_clicks
        or (b.payload ->> 'phone' is not null and private.phone_hash(
          private.e164(p_site, b.payload ->> 'phone')) = any (p_phone_hashes))
        or (private.e164(p_site, b.payload ->> 'phone') is null
          and private.end_alike(private.loose_number(p_site, b.payload ->> 'phone'), p_loose))))
$$;

-- is_switchboard: true if more than 20 calls came from a number: it is not one person's.
create function private.is_switchboard(p_site_id uuid, p_caller_hashes text[]) returns boolean
language sql stable security definer set search_path = ''
as $$
  select count(*) > 20 from (
    select from public.calls c
    where c.site_id = p_site_id and c.caller_hash = any (p_caller_hashes) limit 21) t
$$;

-- find_person: the person behind a telephone number, an e-mail address, a click or a visitor id.
-- A visitor's calls lead to their number, the number to the person's other visits, calls and sales,
-- and a sale's address to its customer's other sales. Only the app can tell how calls of another
-- vault key keep a number that was found: it asks again with foundHashes. A click leads to sales,
-- and to visitors only when it is what was asked for: addresses with a click are passed on. A
-- number that more than 20 calls share is followed only when it was asked for.
--   Takes    p_asked as asked_person; p_limit: calls by the number that was asked for.
create function private.find_person(p_site public.sites, p_asked jsonb, p_limit int)
returns private.person
language plpgsql stable security definer set search_path = ''
as $$
declare
  v private.person := private.asked_person(p_site, p_asked);
  v_asked_hashes text[] := v.caller_hashes;
  v_loose text[] := private.joined(array[private.loose_number(p_site, v.phone)], null);
  v_size int := -1;
begin
  v.caller_hashes := private.joined(v.caller_hashes, array(
    select h from jsonb_array_elements_text(coalesce(p_asked -> 'foundHashes', '[]')) h
    where not private.is_switchboard(p_site.id, array[h])));
  v.visitors := private.joined(v.visitors,
    private.visitors_captured(p_site, v.phone_hashes, v.clicks, v_loose[1]));
  if cardinality(v.clicks) > 0 then
    v.visitors := private.joined(v.visitors, array(
      select s.visitor_id from private.click_sightings s
      where s.site_id = p_site.id and s.click_hash in (
        select h from unnest(v.clicks) c cross join private.click_hashes(c, c, c) h)));
    v.call_ids := array(
      select c.id from public.calls c where c.site_id = p_site.id and c.gclid = any (v.clicks)
      union select c.id from public.calls c
        where c.site_id = p_site.id and c.wbraid = any (v.clicks)
      union select c.id from public.calls c
        where c.site_id = p_site.id and c.gbraid = any (v.clicks));
  end if;
  loop
    v.call_ids := array(
      select unnest(v.call_ids)
      union
      select c.id from public.calls c
        where c.site_id = p_site.id and c.visitor_id = any (v.visitors)
      union
      (select c.id from public.calls c
        where c.site_id = p_site.id and c.caller_hash = any (v_asked_hashes)
        order by c.called_at limit p_limit)
      union
      select c.id from public.calls c
        where c.site_id = p_site.id and c.caller_hash = any (v.caller_hashes)
          and c.caller_hash <> all (v_asked_hashes)
      union   -- not read in full, it has no hash; typed, one that nobody checked
      select c.id from public.calls c
          cross join lateral private.loose_number(p_site, c.phone) l
          join unnest(v_loose) n on private.end_alike(l, n)
        where c.site_id = p_site.id and c.phone is not null
          and (c.caller_hash is null or v.phone not like '+%'
            or (c.phone = v.phone and c.caller_hash <> all (v_asked_hashes)))
      union
      select s.call_id from public.sales s
        where s.id = any (v.sale_ids) and s.call_id is not null);
    v_loose := private.joined(v_loose, array(
      select t.number from (
        select private.loose_number(p_site, c.phone) as number from public.calls c
        where c.id = any (v.call_ids) and c.caller_hash is null) t
      where 20 >= (   -- as is_switchboard
        select count(*) from public.calls c
        where c.site_id = p_site.id and c.phone is not null and c.caller_hash is null
          and private.loose_number(p_site, c.phone) = t.number)));
    select private.joined(v.visitors, array_agg(c.visitor_id)),
        private.joined(v.stamps, array_agg(c.intent_stamp)),
        private.joined(v.caller_hashes, array_agg(c.caller_hash) filter (where t.is_own)),
        private.joined(v.phone_hashes,
          array_agg(private.phone_hash(private.e164(p_site, c.phone))) filter (where t.is_own)),
        private.joined(v.clicks, array_agg(c.gclid) || array_agg(c.wbraid) || array_agg(c.gbraid))
      into v.visitors, v.stamps, v.caller_hashes, v.phone_hashes, v.clicks
      from public.calls c
        cross join lateral (select c.caller_hash = any (v_asked_hashes)
          or not private.is_switchboard(p_site.id, array[c.caller_hash]) as is_own) t
      where c.id = any (v.call_ids);
    select private.joined(v.clicks,
        array_agg(s.gclid) || array_agg(s.wbraid) || array_agg(s.gbraid))
      into v.clicks from public.sessions s
      where s.site_id = p_site.id and s.visitor_id = any (v.visitors) and s.clicked_at is not null;
    v.sale_ids := array(
      select s.id from public.sales s where s.call_id = any (v.call_ids)
      union select s.id from public.sales s where s.sibling_call_id = any (v.call_ids)
      union select s.id from public.sales s
        where s.site_id = p_site.id and (s.customer_hash = any (v.phone_hashes)
          or s.caller_hash = any (v.caller_hashes) or s.email_hash = any (v.email_hashes)
          -- A link with a click is passed on: a call of somebody else is not this person's.
          or (array[s.gclid, s.wbraid, s.gbraid] && v.clicks and (s.call_id is null
            or s.call_id = any (v.call_ids)
            or array[s.gclid, s.wbraid, s.gbraid] && v.asked_clicks))));
    select private.joined(v.email_hashes, array_agg(s.email_hash)),
        private.joined(v.clicks, array_agg(s.gclid) || array_agg(s.wbraid) || array_agg(s.gbraid)),
        private.joined(v.phone_hashes, array_agg(s.customer_hash) filter (where
          not private.is_switchboard(p_site.id, array[s.caller_hash]))),
        private.joined(v.caller_hashes, array_agg(s.caller_hash) filter (where
          not private.is_switchboard(p_site.id, array[s.caller_hash])))
      into v.email_hashes, v.clicks, v.phone_hashes, v.caller_hashes
      from public.sales s where s.id = any (v.sale_ids);
    v.caller_hashes := private.joined(v.caller_hashes,
      private.caller_hashes_of(v.phone_hashes, null));
    exit when cardinality(v.call_ids) + cardinality(v.sale_ids) + cardinality(v.visitors) = v_size;
    v_size := cardinality(v.call_ids) + cardinality(v.sale_ids) + cardinality(v.visitors);
  end loop;
  v.stamps := private.joined(v.stamps, array(select private.held_of(p_site, v)));
  return v;
end
$$;

-- mentions: true if a text that somebody wrote names the telephone number or the e-mail address
-- that was asked for.
create function private.mentions(p_person private.person, p_text text) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(strpos(lower(p_text), p_person.email) > 0, false)
    or coalesce(strpos(regexp_replace(p_text, '\D', '', 'g'), right(p_person.phone, 9)) > 0, false)
$$;
