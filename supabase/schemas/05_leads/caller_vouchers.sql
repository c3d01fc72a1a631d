-- Vouchers: only the app can make the hash of a number, since the vault's key is not in the
-- database. A person's request carries that hash through their own session, where they could put
-- another's in its place. So the app asks for a voucher over its own door, and functions that
-- people call take a hash only with the voucher of this very number and site. Nothing is stored.

create table private.voucher_key (
  id boolean primary key default true,
  secret bytea not null,
  constraint there_is_one_voucher_key check (id)
);
alter table private.voucher_key enable row level security;
insert into private.voucher_key (secret) values (decode(
  replace(pg_catalog.gen_random_uuid()::text || pg_catalog.gen_random_uuid()::text, '-', ''),
  'hex'));

-- voucher_of: binds a number's hash to the number and the site.
--   Takes    p_phone_hash as phone_hash gives it, p_caller {hash, keyId}.
create function private.voucher_of(p_site_id uuid, p_phone_hash text, p_caller jsonb) returns text
language sql stable security definer set search_path = ''
as $$
  select encode(sha256(k.secret || sha256(k.secret || convert_to(jsonb_build_array(
      p_site_id, p_phone_hash, p_caller ->> 'hash', p_caller ->> 'keyId')::text, 'UTF8'))), 'hex')
  from private.voucher_key k
$$;

-- vouch_callers: a voucher for each hash that the app made.
--   Takes    p_callers [{phoneHash, hash, keyId}]: at most 400.
--   Returns  [voucher] in the order given, or null for an unknown site.
--   Callers  service role only.
create function public.vouch_callers(p_public_id text, p_callers jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select (
    select coalesce(jsonb_agg(
      private.voucher_of(s.id, c.line ->> 'phoneHash', c.line) order by c.place), '[]')
    from jsonb_array_elements(p_callers) with ordinality c (line, place)
    where c.place <= 400)
  from public.sites s where s.public_id = p_public_id
$$;
grant execute on function public.vouch_callers(text, jsonb) to opsmantik_app, service_role;

-- vouched: of the hashes that came with a number, those that the app made of it.
--   Takes    p_callers [{hash, keyId, voucher}]: the first four count.
create function private.vouched(p_site_id uuid, p_phone_hash text, p_callers jsonb) returns jsonb
language sql stable security definer set search_path = ''
as $$
  select coalesce(jsonb_agg(c.line - 'voucher' order by c.place), '[]')
  from jsonb_array_elements(case jsonb_typeof(p_callers) when 'array' then p_callers else '[]' end)
    with ordinality c (line, place)
  where c.place <= 4 and jsonb_typeof(c.line) = 'object'
    and c.line ->> 'voucher' = private.voucher_of(p_site_id, p_phone_hash, c.line)
$$;
