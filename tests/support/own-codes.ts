import { globSync, readFileSync } from "node:fs";
import type postgres from "postgres";

/** Codes that our own functions write: what they assign to the column, hand to close_waiting, or fall back to. */
async function codesInSql(sql: postgres.Sql): Promise<string[]> {
  const functions = await sql<{ source: string }[]>`
    select p.prosrc as source from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('public', 'private') and (p.prosrc ~ 'provider_error_code =' or p.prosrc ~ 'close_waiting')`;
  const found = new Set<string>();
  for (const { source } of functions) {
    const written = [
      ...source.matchAll(/(?:set|,)\s+provider_error_code\s+=\s+(.*?)(?=provider_error_category|\n\s+\w+\s+=|\n\s+(?:from|where) |;)/gs),
      ...source.matchAll(/close_waiting\(\s*p_sale_id, (.*?)\);/gs),
      ...source.matchAll(/(coalesce\(left\(\w+\.code, 64\), .*?\))/g),
    ];
    for (const [, expression = ""] of written)
      for (const [, code = ""] of expression.matchAll(/(?<!= |<> )'([A-Z]+(?:_[A-Z]+)*)'/g)) found.add(code);
  }
  return [...found];
}

const codesIn = (path: string, pattern: RegExp) => [...readFileSync(path, "utf8").matchAll(pattern)].map(([, code = ""]) => code);

/** Every code that SQL, the export or the worker leaves on a row by itself. */
export const ownCodes = async (sql: postgres.Sql): Promise<string[]> => [
  ...(await codesInSql(sql)),
  ...globSync("lib/oci/**/*.ts").flatMap((file) => codesIn(file, /id: row\.id,\s+code: "([A-Z_]+)"/g)),
  ...["deliver-group", "process-offline-conversions", "send-batch"].flatMap((file) =>
    codesIn(`lib/delivery/${file}.ts`, /"([A-Z]+_[A-Z_]+)"/g),
  ),
  ...codesIn("lib/providers/google/send-batches.ts", /code: "([A-Z_]+)"/g),
];

/** What the script itself reports. */
export const scriptCodes = (): string[] =>
  codesIn("scripts/google-ads-oci/GoogleAdsScript.js", /(?:return|code:) "([A-Z]+_[A-Z_]+)"/g).filter((code) => code !== "INVALID_ID");
