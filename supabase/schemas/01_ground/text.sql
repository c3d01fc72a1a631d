-- Text that people type, text that is shown in part only, and hashes.

-- is_plain_text: printable, not blank, bounded. Control characters and direction overrides let a
-- name look like another.
create function private.is_plain_text(p_text text, p_max int) returns boolean
language sql immutable set search_path = ''
as $$
  select coalesce(
    char_length(p_text) between 1 and p_max
      and p_text = btrim(p_text)
      and p_text !~
        '[\u0001-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]',
    false)
$$;

-- url_path: the path of an address, without its host, query and fragment.
create function private.url_path(p_url text) returns text
language sql immutable set search_path = ''
as $$
  select case when p_url is not null then coalesce(nullif(left(
    split_part(split_part(regexp_replace(p_url, '^[a-z]+://[^/?#]*', '', 'i'), '?', 1), '#', 1),
    120), ''), '/') end
$$;

-- search_pattern: what a reader searches for, as a pattern for `like` on text that is folded in the
-- same way: without case, and with one i, since a Turkish keyboard writes "OCI" and "ocı" for one
-- another. The text's side is written out where it is searched: a call per row would be slow.
create function private.search_pattern(p_text text) returns text
language sql immutable set search_path = ''
as $$
  select '%' || regexp_replace(translate(lower(translate(p_text, 'Iİ', 'ii')), 'ı', 'i'),
    '([\\%_])', '\\\1', 'g') || '%'
$$;

-- masked_phone: enough to recognise a caller, too little to call one: +90 532 ••• 41 07.
create function private.masked_phone(p_phone text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when n.digits is null then null
    when length(n.digits) < 8 then '••• ' || right(n.digits, 2)
    else case
        when n.digits ~ '^90\d{10}$' then '+90 ' || substr(n.digits, 3, 3)
        when n.digits ~ '^0\d{10}$' then left(n.digits, 4)
        when p_phone like '+%' then '+' || left(n.digits, 2)
        else left(n.digits, 3) end
      || ' ••• ' || substr(right(n.digits, 4), 1, 2) || ' ' || right(n.digits, 2) end
  from (select nullif(regexp_replace(p_phone, '\D', '', 'g'), '') as digits) n
$$;

-- masked_click: enough of a click id to tell two apart, too little to use it.
create function private.masked_click(p_click text) returns text
language sql immutable set search_path = ''
as $$
  select case
    when char_length(p_click) >= 16 then left(p_click, 6) || '…' || right(p_click, 4)
    when p_click is not null then '…' end
$$;

-- sha256_hex: the SHA-256 of a text, as 64 hex digits.
create function private.sha256_hex(p_text text) returns text
language sql immutable parallel safe set search_path = ''
as $$ select encode(sha256(convert_to(p_text, 'UTF8')), 'hex') $$;
