/**
 * `npm run vault:rotate` seals every site's secrets again with OPSMANTIK_VAULT_KEY, those that OPSMANTIK_VAULT_KEY_PREVIOUS sealed: Google's
 * credentials and call secrets; and hashes callers' numbers again. It connects as the app does: DATABASE_URL, or the running demo. It can be stopped and started again at any time:
 * each secret is one step, 500 numbers are another, and both keys open until the previous one is removed. Prints counts only. Exits 2 when it is asked wrongly, 1 when
 * something is left.
 */

import postgres from "postgres";
import { type KeyRing, keyRing, openSecret, type SealedSecret, sealSecret } from "#lib/vault/secret.ts";
import { readDemoFile } from "./local/demo/demo-file.ts";
import { rekeyCallers } from "./vault/rekey-callers.ts";
import { type SealedKind, type SealedRow, sealedKinds } from "./vault/sealed-kinds.ts";

const batchMax = 1_000;

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

function readKeys(): Required<KeyRing> {
  try {
    const { OPSMANTIK_VAULT_KEY, OPSMANTIK_VAULT_KEY_PREVIOUS } = process.env;
    const ring = keyRing({ OPSMANTIK_VAULT_KEY, OPSMANTIK_VAULT_KEY_PREVIOUS });
    if (!ring.previous) stop("Set OPSMANTIK_VAULT_KEY_PREVIOUS to the key that OPSMANTIK_VAULT_KEY replaces.");
    if (ring.previous.id === ring.current.id) stop("OPSMANTIK_VAULT_KEY and OPSMANTIK_VAULT_KEY_PREVIOUS are the same key.");
    return { current: ring.current, previous: ring.previous };
  } catch (error) {
    stop(error instanceof Error ? error.message : String(error));
  }
}

/** "moved" when its owner replaced it meanwhile: the next round reads it again. */
async function reseal(sql: postgres.Sql, ring: KeyRing, kind: SealedKind, row: SealedRow): Promise<"resealed" | "moved" | "does not open"> {
  const place = kind.place(row);
  let next: SealedSecret;
  try {
    next = sealSecret(openSecret(row, place, ring), place, ring);
  } catch {
    return "does not open";
  }
  return (await kind.reseal(sql, row, next)) ? "resealed" : "moved";
}

/** Batch after batch, until only secrets that no key opens are left. */
async function rotate(sql: postgres.Sql, ring: Required<KeyRing>, kind: SealedKind): Promise<{ resealed: number; left: number }> {
  let resealed = 0;
  for (;;) {
    const rows = await kind.list(sql, ring.previous.id, batchMax);
    let closed = 0;
    for (const row of rows) {
      const outcome = await reseal(sql, ring, kind, row);
      if (outcome === "resealed") resealed += 1;
      if (outcome === "does not open") closed += 1;
    }
    if (closed === rows.length) return { resealed, left: closed };
  }
}

const ring = readKeys();
const url = process.env.DATABASE_URL ?? readDemoFile()?.databaseUrl;
if (!url) stop("Set DATABASE_URL to the app's database, or start the demo.");

// The pooler of a deployment keeps no prepared statements.
const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} });
try {
  let sealedAgain = 0;
  let closed = 0;
  const numbers = { rekeyed: 0, forgotten: 0 };
  for (const kind of sealedKinds) {
    const { resealed, left } = await rotate(sql, ring, kind);
    sealedAgain += resealed;
    closed += left;
    if (left > 0) console.log(`WRONG  ${left} still under the key ${ring.previous.id}: they do not open. ${kind.fix}`);
  }
  for (const fromKeyId of [ring.previous.id, null]) {
    const { rekeyed, forgotten } = await rekeyCallers(sql, ring, fromKeyId);
    numbers.rekeyed += rekeyed;
    numbers.forgotten += forgotten;
  }
  console.log(`ok     ${sealedAgain} sealed again with the key ${ring.current.id}`);
  console.log(`       ${numbers.rekeyed} callers' numbers hashed again; ${numbers.forgotten} hashes of numbers we no longer have deleted`);
  if (closed === 0) console.log("       nothing is left under the previous key: OPSMANTIK_VAULT_KEY_PREVIOUS can go");
  process.exitCode = closed > 0 ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await sql.end();
}
