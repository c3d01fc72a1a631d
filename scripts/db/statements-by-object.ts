import type postgres from "postgres";
import type { Statement } from "./read-schemas.ts";

/** For each object by kind and name, the statements that make and grant it; for a table, all that stands on it. */
export async function statementsByObject(sql: postgres.Sql, statements: Statement[]): Promise<Map<string, Statement[]>> {
  const signatures = await readSignatures(sql);
  const left = new Map([...signatures].map(([name, all]) => [name, [...all]]));
  const found = new Map<string, Statement[]>();
  for (const one of statements) {
    for (const key of keysOf(one, signatures, left)) found.set(key, [...(found.get(key) ?? []), one]);
  }
  return found;
}

/** Of each name the functions that have it, in the order in which they were made. */
async function readSignatures(sql: postgres.Sql): Promise<Map<string, string[]>> {
  const rows = await sql.begin(async (tx) => {
    await tx`set local search_path = ''`;
    return tx<{ name: string; signature: string }[]>`
      select p.pronamespace::regnamespace || '.' || p.proname as name, p.oid::regprocedure::text as signature
      from pg_proc p where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace) order by p.oid`;
  });
  const names = Map.groupBy(rows, ({ name }) => name);
  return new Map([...names].map(([name, all]) => [name, all.map(({ signature }) => signature)]));
}

function keysOf({ text, makes = "" }: Statement, signatures: Map<string, string[]>, left: Map<string, string[]>): string[] {
  if (text.startsWith("create function ")) return [`function ${left.get(makes)?.shift()}`];
  if (makes) return [`${text.split(" ")[1]} ${makes}`];
  if (text.startsWith("grant execute ")) {
    const names = [...text.matchAll(/([\w.]+)\(/g)].map(([, name = ""]) => name);
    return names.flatMap((name) => signatures.get(name) ?? []).map((signature) => `function ${signature}`);
  }
  const [, kind, name, on] = /^create (?:constraint )?(trigger|policy|index|unique index) (\w+)\b.*?\son\s+([\w.]+)/s.exec(text) ?? [];
  if (on) return [`${kind} ${name} on ${on}`, `table ${on}`];
  const [, table] = /^(?:alter table|grant select.*?\son)\s+([\w.]+)/s.exec(text) ?? [];
  return table ? [`table ${table}`, `view ${table}`] : [];
}
