-- Phone numbers, as the world writes them and as a hash.

-- calling_code: the country whose numbers a site's people write without a code.
create function private.calling_code(p_site public.sites) returns text
language sql immutable set search_path = ''
as $$
  select case p_site.currency
    when 'TRY' then '90' when 'GBP' then '44' when 'USD' then '1' when 'CHF' then '41' when 'PLN' then '48' when 'RON' then '40' when 'BGN' then '359'
    when 'UAH' then '380' when 'AZN' then '994' when 'GEL' then '995' when 'AED' then '971' when 'SAR' then '966' when 'KWD' then '965' when 'JPY' then '81'
    else case p_site.timezone
      when 'Europe/Berlin' then '49' when 'Europe/Paris' then '33' when 'Europe/Madrid' then '34' when 'Europe/Rome' then '39' when 'Europe/Vienna' then '43'
      when 'Europe/Amsterdam' then '31' when 'Europe/Brussels' then '32' when 'Europe/Athens' then '30' when 'Europe/Lisbon' then '351'
      when 'Europe/Dublin' then '353' when 'Europe/Istanbul' then '90' when 'Europe/London' then '44' end end
$$;

-- e164: a telephone number as people and machines write it, in the one spelling that can be compared: +905321234567. Null for what is none.
create function private.e164(p_site public.sites, p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when n.number ~ '^\+[1-9][0-9]{6,14}$' then n.number
    when n.number ~ '^00[1-9][0-9]{6,14}$' then '+' || substr(n.number, 3)
    when n.number ~ '^0[1-9][0-9]{5,12}$' and n.code is not null then '+' || n.code || substr(n.number, 2)
    when n.number like n.code || '%' and n.number ~ '^[1-9][0-9]{10,14}$' then '+' || n.number
    when n.code in ('90', '1') and n.number ~ '^[2-9][0-9]{9}$' then '+' || n.code || n.number end
  from (select regexp_replace(replace(left(p_phone, 64), '(0)', ''), '[^0-9+]', '', 'g') as number, private.calling_code(p_site) as code) n
$$;

create function private.phone_hash(p_e164 text) returns text
language sql immutable set search_path = ''
as $$ select encode(sha256(convert_to(p_e164, 'UTF8')), 'hex') $$;

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
grant execute on function public.add_caller_number(uuid, text, text) to opsmantik_app, service_role;
