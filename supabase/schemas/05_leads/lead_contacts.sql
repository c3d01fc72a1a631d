-- Who a lead is, as operators write it down: a name, a number and notes. Names and notes are for
-- operators; the number is the caller's, as if a telephone system had reported it.

-- lead_to_describe: the lead, locked. One whose personal data was erased takes nothing more:
-- nobody would find it again to erase it.
--   Refuses  404 NOT_FOUND for a lead of another site, 409 LEAD_ERASED.
create function private.lead_to_describe(p_site public.sites, p_call_id uuid) returns public.calls
language plpgsql security definer set search_path = ''
as $$
declare
  v_call public.calls;
begin
  select c.* into v_call from public.calls c
    where c.id = p_call_id and c.site_id = p_site.id for no key update;
  if v_call.id is null then
    perform private.fail(404, 'NOT_FOUND');
  end if;
  if v_call.visitor_id like 'erased-%' then
    perform private.fail(409, 'LEAD_ERASED');
  end if;
  return v_call;
end
$$;

-- set_lead_contact: gives a lead a name and a number, or takes them away. What is left out stays.
--   Takes    p_contact {name?, phone?, caller?}: '' takes away. caller {hash, keyId, voucher} is
--            the number as the vault keeps it, made by the app; {} where there is no vault key. A
--            hash that the app did not make of this number is not kept.
--   Writes   a proof that names the changed fields, not what they say.
--   Refuses  400 VALIDATION_FAILED with the field name or phone, and as lead_to_describe.
--   Callers  operators.
create function public.set_lead_contact(p_public_id text, p_call_id uuid, p_contact jsonb)
returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_old public.calls := private.lead_to_describe(v_site, p_call_id);
  v_name text := nullif(btrim(p_contact ->> 'name'), '');
  v_phone text := private.e164(v_site, p_contact ->> 'phone');
  v_caller jsonb := private.vouched(v_site.id, private.phone_hash(v_phone),
    jsonb_build_array(p_contact -> 'caller')) -> 0;
  v_fields text[];
begin
  if v_name is not null and not private.is_plain_text(v_name, 80) then
    perform private.refuse_setting('name');
  end if;
  if btrim(p_contact ->> 'phone') <> '' and v_phone is null then
    perform private.refuse_setting('phone');
  end if;
  v_fields := array_remove(array[
    case when p_contact ? 'name' and v_name is distinct from v_old.contact_name then 'name' end,
    case when p_contact ? 'phone'
      and v_phone is distinct from coalesce(private.e164(v_site, v_old.phone), v_old.phone)
      then 'phone' end], null);
  if cardinality(v_fields) = 0 then
    return jsonb_build_object('ok', true);
  end if;
  update public.calls c
    set contact_name = case when 'name' = any (v_fields) then v_name else c.contact_name end,
        phone = case when 'phone' = any (v_fields) then v_phone else c.phone end,
        caller_hash = case when 'phone' = any (v_fields)
          then v_caller ->> 'hash' else c.caller_hash end,
        caller_key_id = case when 'phone' = any (v_fields)
          then v_caller ->> 'keyId' else c.caller_key_id end,
        updated_at = private.current_moment()
    where c.id = v_old.id;
  perform private.prove(v_site.id, private.user_actor(), jsonb_build_object(
    'contract', 'lead', 'contractVersion', 'lead/1', 'entityId', v_old.id, 'to', 'contact',
    'facts', jsonb_build_object('fields', v_fields)));
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.set_lead_contact(text, uuid, jsonb) to authenticated;

-- add_lead_note: writes a note into the lead's history.
--   Writes   a proof with the note beside it, where it can be erased.
--   Refuses  400 VALIDATION_FAILED with the field note, and as lead_to_describe.
--   Callers  operators.
create function public.add_lead_note(p_public_id text, p_call_id uuid, p_note text) returns jsonb
language plpgsql security definer set search_path = ''
as $$
declare
  v_site public.sites := private.require_open_site(p_public_id, 'operator');
  v_call public.calls := private.lead_to_describe(v_site, p_call_id);
begin
  if char_length(coalesce(btrim(p_note), '')) not between 1 and 500 then
    perform private.refuse_setting('note');
  end if;
  perform private.prove(v_site.id, private.user_actor(), jsonb_build_object(
    'contract', 'lead', 'contractVersion', 'lead/1', 'entityId', v_call.id, 'to', 'noted',
    'note', p_note));
  update public.calls c set updated_at = private.current_moment() where c.id = v_call.id;
  return jsonb_build_object('ok', true);
end
$$;
grant execute on function public.add_lead_note(text, uuid, text) to authenticated;

-- leads_of_person: other leads of the same person: of the same visit, of the same visitor, or from
-- the same number, unless that is a switchboard's. At most 20, newest first.
create function private.leads_of_person(p_call public.calls) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(jsonb_build_object(
      'id', o.id, 'channel', o.channel, 'status', o.status, 'calledAt', o.called_at)
    order by o.called_at desc, o.id desc), '[]')
  from (
    select x.* from public.calls x
    where x.id <> p_call.id and x.id in (
      select c.id from public.calls c where c.session_id = p_call.session_id
      union
      select c.id from public.calls c
        where c.site_id = p_call.site_id and c.visitor_id = p_call.visitor_id
      union
      select c.id from public.calls c
        where c.site_id = p_call.site_id and c.caller_hash = p_call.caller_hash
          and not private.is_switchboard(p_call.site_id, array[p_call.caller_hash]))
    order by x.called_at desc, x.id desc limit 20) o
$$;
