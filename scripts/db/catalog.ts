import { readFileSync } from "node:fs";
import { join } from "node:path";
import type postgres from "postgres";

interface CatalogEntry {
  kind: string;
  name: string;
  definition: string;
}

export type Catalog = Map<string, CatalogEntry>;

const query = readFileSync(join(import.meta.dirname, "catalog.sql"), "utf8");

/** What a database is made of, by kind and name: everything that the schemas decide, with who may use it. */
export function readCatalog(sql: postgres.Sql): Promise<Catalog> {
  return sql.begin(readCatalogIn);
}

/** The same inside a transaction of the caller's own. */
export async function readCatalogIn(tx: postgres.TransactionSql): Promise<Catalog> {
  // Without a search path every name carries its schema.
  await tx`set local search_path = ''`;
  const entries = [...(await tx.unsafe<CatalogEntry[]>(query)), ...(await fixedRows(tx))];
  return new Map(entries.map((entry) => [`${entry.kind} ${entry.name}`, entry]));
}

/** The rows of tables that nothing but the schemas write. */
async function fixedRows(tx: postgres.TransactionSql): Promise<CatalogEntry[]> {
  return tx<CatalogEntry[]>`
    select 'row' as kind, 'contracts ' || c.contract as name, to_jsonb(c)::text as definition from public.contracts c
    union all
    select 'row', concat_ws(' ', 'contract_moves', m.contract_version, m.from_state, m.to_state), to_jsonb(m)::text
    from public.contract_moves m`;
}

export interface Difference {
  kind: string;
  name: string;
  from: string | undefined;
  to: string | undefined;
}

/** What has to change for the first to become the second. */
export function compareCatalogs(from: Catalog, to: Catalog): Difference[] {
  const keys = [...new Set([...from.keys(), ...to.keys()])].toSorted();
  return keys.flatMap((key) => {
    const [before, after] = [from.get(key), to.get(key)];
    const { kind, name } = before ?? after ?? { kind: "", name: key };
    return before?.definition === after?.definition ? [] : [{ kind, name, from: before?.definition, to: after?.definition }];
  });
}
