-- Phone numbers, as the world writes them and as a hash. They are plpgsql because a claim calls
-- them: an SQL function is planned at each call.

-- calling_code: the country whose numbers a site's people write without a code.
create function private.calling_code(p_site public.sites) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  return coalesce(
    '{
      "TRY": "90", "GBP": "44", "USD": "1", "CHF": "41", "PLN": "48", "RON": "40", "BGN": "359",
      "UAH": "380", "AZN": "994", "GEL": "995", "AED": "971", "SAR": "966", "KWD": "965",
      "JPY": "81"
    }'::jsonb ->> p_site.currency,
    '{
      "Europe/Berlin": "49", "Europe/Paris": "33", "Europe/Madrid": "34", "Europe/Rome": "39",
      "Europe/Vienna": "43", "Europe/Amsterdam": "31", "Europe/Brussels": "32",
      "Europe/Athens": "30", "Europe/Lisbon": "351", "Europe/Dublin": "353",
      "Europe/Istanbul": "90", "Europe/London": "44"
    }'::jsonb ->> p_site.timezone);
end
$$;

-- e164: a telephone number, however it was written, in the one spelling that can be compared:
-- +905321234567. Null for what is no number.
create function private.e164(p_site public.sites, p_phone text) returns text
language plpgsql immutable set search_path = ''
as $$
declare
  v_number text := regexp_replace(replace(left(p_phone, 64), '(0)', ''), '[^0-9+]', '', 'g');
  v_code text;
begin
  if v_number ~ '^\+[1-9][0-9]{6,14}$' then
    return v_number;
  end if;
  v_code := private.calling_code(p_site);
  return case
    when v_number ~ '^00[1-9][0-9]{6,14}$' then '+' || substr(v_number, 3)
    when v_number ~ '^0[1-9][0-9]{5,12}$' and v_code is not null
      then '+' || v_code || substr(v_number, 2)
    when v_number like v_code || '%' and v_number ~ '^[1-9][0-9]{10,14}$' then '+' || v_number
    when v_code in ('90', '1') and v_number ~ '^[2-9][0-9]{9}$' then '+' || v_code || v_number end;
end
$$;

-- phone_hash: SHA-256 of a number in E.164, which is also what Google hashes. It is never stored
-- with a call: all numbers of a country are tried in seconds.
create function private.phone_hash(p_e164 text) returns text
language plpgsql immutable set search_path = ''
as $$
begin
  return encode(sha256(convert_to(p_e164, 'UTF8')), 'hex');
end
$$;

-- phone_to_send: the SHA-256 of a caller's number as Google takes it, made when it is sent.
create function private.phone_to_send(p_call public.calls) returns text
language plpgsql stable security definer set search_path = ''
as $$
declare
  v_site public.sites;
begin
  if p_call.phone is null then
    return null;
  end if;
  select s.* into v_site from public.sites s where s.id = p_call.site_id;
  return private.phone_hash(private.e164(v_site, p_call.phone));
end
$$;

-- phone_hashes: the SHA-256 of numbers, however they were written, as a site's people mean them.
-- The app makes of it what is stored.
--   Takes    p_phones: at most 100.
--   Returns  [hash or null for what is no number], or null for an unknown site.
--   Callers  service role only.
create function public.phone_hashes(p_public_id text, p_phones text[]) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select (
    select coalesce(
      jsonb_agg(private.phone_hash(private.e164(s, t.phone)) order by t.place), '[]')
    from unnest(p_phones[1:100]) with ordinality t (phone, place))
  from public.sites s where s.public_id = p_public_id
$$;
grant execute on function public.phone_hashes(text, text[]) to opsmantik_app, service_role;

-- number_is_typed: true if an operator wrote the call's number down: they spoke with the person.
create function private.number_is_typed(p_call public.calls) returns boolean
language plpgsql stable security definer set search_path = ''
as $$
begin
  return p_call.phone is not null and exists (
    select from public.transition_proofs p
    where p.entity_id = p_call.id and p.contract = 'lead' and p.facts -> 'fields' ? 'phone');
end
$$;

-- add_caller_number: a telephone system reports a call again, now with the number. It is the same
-- billable unit, so nothing else is stored. Until the call is stored the number is held; without
-- consent it is not kept, nor in place of one that an operator typed.
--   Takes    p_caller {hash, keyId}, or {} for what is no number
--   Callers  service role only.
create function public.add_caller_number(
  p_site_id uuid, p_intent_stamp text, p_phone text, p_caller jsonb
) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_added int;
begin
  update public.calls c
    set phone = left(p_phone, 32),
        caller_hash = p_caller ->> 'hash',
        caller_key_id = p_caller ->> 'keyId',
        updated_at = private.current_moment()
    where c.site_id = p_site_id and c.intent_stamp = p_intent_stamp
      and c.caller_hash is null and c.marketing_consent and not private.number_is_typed(c);
  get diagnostics v_added = row_count;
  if not exists (
      select from public.calls c
      where c.site_id = p_site_id and c.intent_stamp = p_intent_stamp) then
    perform private.hold_report(p_site_id, p_intent_stamp, jsonb_build_object(
      'phone', left(p_phone, 32),
      'callerHash', p_caller -> 'hash',
      'callerKeyId', p_caller -> 'keyId'));
  end if;
  return jsonb_build_object('added', v_added);
end
$$;
grant execute on function public.add_caller_number(uuid, text, text, jsonb)
  to opsmantik_app, service_role;
