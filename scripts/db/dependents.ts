import type postgres from "postgres";

export interface Dependent {
  kind: string;
  name: string;
}

// A view depends on what it reads by its rule, a function on a view by the type of its rows.
const query = `
with recursive gone(classid, objid, depth) as (
  select 'pg_proc'::regclass::oid, f::regprocedure::oid, 0 from unnest($1::text[]) f
  union
  select 'pg_class'::regclass::oid, v::regclass::oid, 0 from unnest($2::text[]) v
  union
  select x.classid, x.objid, g.depth + 1
  from gone g
    join pg_depend d on d.refclassid = g.classid and d.refobjid = g.objid and d.deptype in ('n', 'a', 'i')
    left join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
    cross join lateral (
      select case when w.oid is null then d.classid else 'pg_class'::regclass::oid end as classid,
        coalesce(w.ev_class, d.objid) as objid) x
  where (x.classid, x.objid) <> (g.classid, g.objid)
    and g.classid in ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_type'::regclass)
)
select case when p.oid is not null then 'function' when c.relkind = 'v' then 'view'
    when t.oid is not null then 'trigger' when l.oid is not null then 'policy' else 'other' end as kind,
  coalesce(p.oid::regprocedure::text, c.oid::regclass::text, t.tgname || ' on ' || t.tgrelid::regclass,
    l.polname || ' on ' || l.polrelid::regclass, pg_describe_object(g.classid, g.objid, 0)) as name
from gone g
  left join pg_proc p on g.classid = 'pg_proc'::regclass and p.oid = g.objid
  left join pg_class c on g.classid = 'pg_class'::regclass and c.oid = g.objid and c.relkind = 'v'
  left join pg_trigger t on g.classid = 'pg_trigger'::regclass and t.oid = g.objid
  left join pg_policy l on g.classid = 'pg_policy'::regclass and l.oid = g.objid
where g.classid <> 'pg_type'::regclass
group by 1, 2
order by max(g.depth) desc, 1, 2`;

/** These functions and views with whatever cannot stand without them, in an order in which they can be dropped. */
export async function withDependents(sql: postgres.Sql, functions: string[], views: string[]): Promise<Dependent[]> {
  return sql.begin(async (tx) => {
    await tx`set local search_path = ''`;
    return [...(await tx.unsafe<Dependent[]>(query, [functions, views]))];
  });
}
