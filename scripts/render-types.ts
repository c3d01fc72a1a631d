/** Writes lib/db/types.gen.ts from a live catalog: the functions each door may call, their arguments, and our enums. */
import type postgres from "postgres";

interface CatalogFunction {
  name: string;
  arguments: { name: string; type: string; optional: boolean }[];
  service: boolean;
  session: boolean;
}

/** Arguments that name a site: the two ids of a site must not be mixed up. */
const siteArguments: Record<string, string> = { p_site_id: "SiteUuid", p_public_id: "SiteId" };

/** What a caller passes for each SQL type. Any other type fails the build. */
const argumentTypes: Record<string, string> = {
  text: "string",
  uuid: "string",
  boolean: "boolean",
  integer: "number",
  bigint: "number",
  numeric: "number",
  "timestamp with time zone": "string",
  date: "string",
  jsonb: "Json",
};

const catalogQuery = `
select p.proname as name,
  has_function_privilege('opsmantik_app', p.oid, 'execute') as service,
  has_function_privilege('authenticated', p.oid, 'execute') and p.prorettype = 'jsonb'::regtype as session,
  coalesce((select jsonb_agg(jsonb_build_object('name', a.name, 'type', format_type(a.type, null),
              'optional', a.position > p.pronargs - p.pronargdefaults) order by a.position)
            from unnest(p.proargnames[1:p.pronargs], p.proargtypes::oid[]) with ordinality a(name, type, position)), '[]') as arguments
from pg_proc p
where p.pronamespace = 'public'::regnamespace
  and (has_function_privilege('opsmantik_app', p.oid, 'execute') or has_function_privilege('authenticated', p.oid, 'execute'))
order by p.proname`;

const enumQuery = `
select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
from pg_type t join pg_enum e on e.enumtypid = t.oid
where t.typnamespace = 'public'::regnamespace group by t.typname order by t.typname`;

export async function renderTypes(sql: postgres.Sql): Promise<string> {
  const [{ migration = "" } = {}] = await sql<
    { migration: string }[]
  >`select max(version) as migration from supabase_migrations.schema_migrations`;
  const functions = (await sql.unsafe<CatalogFunction[]>(catalogQuery)).filter((row) => row.service || row.session);
  const enums = await sql.unsafe<{ name: string; labels: string[] }[]>(enumQuery);

  const typeOf = (type: string): string => {
    if (type.endsWith("[]")) return `${typeOf(type.slice(0, -2))}[]`;
    const known = enums.find(({ name }) => name === type.replace(/^public\./, ""));
    const result = known ? `Database["public"]["Enums"]["${known.name}"]` : argumentTypes[type];
    if (!result) throw new Error(`No TypeScript type for the SQL type ${type}: add it to scripts/render-types.ts`);
    return result;
  };
  const argsOf = (fn: CatalogFunction) =>
    fn.arguments.length === 0
      ? "Record<never, never>"
      : `{ ${fn.arguments.map((argument) => `${argument.name}${argument.optional ? "?" : ""}: ${siteArguments[argument.name] ?? typeOf(argument.type)}`).join("; ")} }`;
  const services = functions.filter((fn) => fn.service);
  const sessions = functions.filter((fn) => fn.session);

  return `// Generated from the database by \`npm run types:generate\`; a test fails when it is not current. Do not edit.
import type { SiteId, SiteUuid } from "#lib/site.ts";

export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[];

/** The newest migration this code was written against. */
export const latestMigration = "${migration}";

export interface Database {
  public: {
    Tables: Record<never, never>;
    Views: Record<never, never>;
    Functions: {
${functions.map((fn) => `      ${fn.name}: { Args: ${argsOf(fn)}; Returns: Json };`).join("\n")}
    };
    Enums: {
${enums.map(({ name, labels }) => `      ${name}: ${labels.map((label) => `"${label}"`).join(" | ")};`).join("\n")}
    };
    CompositeTypes: Record<never, never>;
  };
}

/** What the service door may call, with argument names: they become SQL text, so nothing else is let through. */
export const serviceFunctions = {
${services.map((fn) => `  ${fn.name}: [${fn.arguments.map(({ name }) => `"${name}"`).join(", ")}],`).join("\n")}
} as const;

/** What signed-in people may call through the session door. */
export type SessionFunction =
${sessions.map((fn) => `  | "${fn.name}"`).join("\n")};
`;
}
