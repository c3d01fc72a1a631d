-- Everything the schemas decide about a database, one line each: (kind, name, definition).
-- Columns carry their place: rows are read and written as a whole in places.
with ours as (
  select n.oid, n.nspname, n.nspacl, n.nspowner from pg_namespace n
  where n.nspname in ('public', 'private')
), granted as (
  select 'schema grant' as kind, n.nspname::text as name,
    coalesce(n.nspacl, acldefault('n', n.nspowner)) as acl
  from ours n
  union all
  select 'function grant', p.oid::regprocedure::text,
    coalesce(p.proacl, acldefault('f', p.proowner))
  from pg_proc p join ours n on n.oid = p.pronamespace
  union all
  select 'table grant', c.oid::regclass::text,
    coalesce(c.relacl,
      acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
  from pg_class c join ours n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'S')
  union all
  select 'column grant', format('%s.%I', a.attrelid::regclass, a.attname), a.attacl
  from pg_attribute a join pg_class c on c.oid = a.attrelid join ours n on n.oid = c.relnamespace
  where a.attacl is not null
  union all
  select 'default privilege', format('%s%s %s', d.defaclrole::regrole,
    coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace::text, ''),
    d.defaclobjtype), d.defaclacl
  from pg_default_acl d
), relations as (
  select c.oid, c.relkind, c.oid::regclass::text as name, c.reloptions, c.relowner,
    c.relrowsecurity, c.relforcerowsecurity, c.relpersistence, c.relpartbound
  from pg_class c join ours n on n.oid = c.relnamespace
)
select g.kind, g.name, coalesce((
  select string_agg(format('%s: %s%s',
    case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
    lower(a.privilege_type),
    case when a.is_grantable then ' with grant option' else '' end), ', '
    order by a.grantee::regrole::text, a.privilege_type)
  from aclexplode(g.acl) a), '') as definition
from granted g
union all
select 'function', p.oid::regprocedure::text,
  format(E'%s\nowner %s, result %s', pg_get_functiondef(p.oid), p.proowner::regrole,
    pg_get_function_result(p.oid))
from pg_proc p join ours n on n.oid = p.pronamespace
union all
select 'type', t.oid::regtype::text, coalesce(
  (select string_agg(e.enumlabel, ', ' order by e.enumsortorder)
   from pg_enum e where e.enumtypid = t.oid),
  (select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
     order by a.attnum)
   from pg_attribute a where a.attrelid = t.typrelid))
from pg_type t join ours n on n.oid = t.typnamespace left join pg_class c on c.oid = t.typrelid
where t.typtype = 'e' or (t.typtype = 'c' and c.relkind = 'c')
union all
select 'domain', t.oid::regtype::text, concat_ws(' ', format_type(t.typbasetype, t.typtypmod),
  (select string_agg(format('%I %s', c.conname, pg_get_constraintdef(c.oid)), ', '
     order by c.conname)
   from pg_constraint c where c.contypid = t.oid))
from pg_type t join ours n on n.oid = t.typnamespace
where t.typtype = 'd'
union all
select 'table', r.name, concat_ws(', ', 'owner ' || r.relowner::regrole,
  case when r.relrowsecurity then 'row security' end,
  case when r.relforcerowsecurity then 'also for its owner' end,
  case when r.relpersistence <> 'p' then 'unlogged' end,
  array_to_string(r.reloptions, ', '), pg_get_partkeydef(r.oid),
  (select 'part of ' || i.inhparent::regclass from pg_inherits i where i.inhrelid = r.oid),
  pg_get_expr(r.relpartbound, r.oid))
from relations r where r.relkind in ('r', 'p')
union all
select 'column', format('%s.%I', r.name, a.attname), concat_ws(', ',
  row_number() over (partition by r.oid order by a.attnum) || '. '
    || format_type(a.atttypid, a.atttypmod),
  case when a.attnotnull then 'not null' end,
  case a.attgenerated when 's' then 'generated ' else 'default ' end
    || pg_get_expr(d.adbin, d.adrelid),
  case when a.attidentity <> '' then 'identity ' || a.attidentity::text end,
  'storage ' || a.attstorage::text)
from relations r join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where r.relkind in ('r', 'p')
union all
select 'view', r.name,
  format(E'%s\nowner %s %s', pg_get_viewdef(r.oid), r.relowner::regrole, r.reloptions)
from relations r where r.relkind = 'v'
union all
select 'constraint', format('%s on %s', c.conname, r.name),
  pg_get_constraintdef(c.oid) || case when c.convalidated then '' else ', not validated' end
from pg_constraint c join relations r on r.oid = c.conrelid
where c.contype <> 'n'
union all
select 'index', i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
from pg_index i join relations r on r.oid = i.indrelid
union all
-- By function: ours also watch auth.users.
select 'trigger', format('%s on %s', t.tgname, t.tgrelid::regclass),
  pg_get_triggerdef(t.oid) || ', ' || t.tgenabled::text
from pg_trigger t join pg_proc p on p.oid = t.tgfoid join ours n on n.oid = p.pronamespace
where not t.tgisinternal
union all
select 'policy', format('%s on %s', p.polname, r.name), concat_ws(', ', p.polcmd::text,
  case when p.polpermissive then 'permissive' else 'restrictive' end,
  (select string_agg(case o when 0 then 'public' else o::regrole::text end, ' ')
   from unnest(p.polroles) o),
  'using ' || pg_get_expr(p.polqual, p.polrelid),
  'check ' || pg_get_expr(p.polwithcheck, p.polrelid))
from pg_policy p join relations r on r.oid = p.polrelid
union all
select 'role', r.rolname, concat_ws(', ', case when r.rolcanlogin then 'login' end,
  case when r.rolinherit then 'inherit' end, case when r.rolbypassrls then 'bypassrls' end,
  case when r.rolsuper then 'superuser' end, array_to_string(r.rolconfig, ', '))
from pg_roles r
where r.rolname in ('opsmantik_app', 'anon', 'authenticated', 'service_role')
union all
select 'comment', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
from pg_description d join relations r on d.classoid = 'pg_class'::regclass and r.oid = d.objoid
union all
select 'comment', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
from pg_description d join pg_proc p on d.classoid = 'pg_proc'::regclass and p.oid = d.objoid
  join ours n on n.oid = p.pronamespace
