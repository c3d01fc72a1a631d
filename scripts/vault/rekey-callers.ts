import type postgres from "postgres";
import { callerHashes } from "#lib/vault/caller-hash.ts";
import type { KeyRing } from "#lib/vault/secret.ts";

interface HashedRow {
  kind: "call" | "sale";
  id: string;
  from: string | null;
  phoneHash: string | null;
}

const stepMax = 500;

/**
 * Hashes callers' numbers with the current vault key: those of another key, or bare ones (null) as older versions stored them. Each step is one
 * statement, and what is done leaves the list, so that it can be stopped and started again at any time.
 */
export async function rekeyCallers(
  sql: postgres.Sql,
  ring: KeyRing,
  fromKeyId: string | null,
): Promise<{ rekeyed: number; forgotten: number }> {
  const total = { rekeyed: 0, forgotten: 0 };
  for (;;) {
    const [line] = await sql<{ rows: HashedRow[] }[]>`select public.list_caller_hashes(${fromKeyId}, ${stepMax}) as rows`;
    const rows = line?.rows ?? [];
    if (rows.length === 0) return total;
    const next = rows.map(({ phoneHash, ...row }) => ({ ...row, hash: null, ...(phoneHash && callerHashes(phoneHash, ring)[0]) }));
    await sql`select public.rekey_caller_hashes(${sql.json(next)})`;
    total.rekeyed += next.filter(({ hash }) => hash !== null).length;
    total.forgotten += next.filter(({ hash }) => hash === null).length;
  }
}
