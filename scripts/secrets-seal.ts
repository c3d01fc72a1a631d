/**
 * `npm run secrets:seal` encrypts what an older version stored in clear or as a bare hash: call secrets and callers' numbers. It changes the tables themselves, so DATABASE_URL
 * has to be the database owner's, not the app's; OPSMANTIK_VAULT_KEY is the app's. It works in small steps, can be stopped and started again at any
 * time, and does nothing where nothing is left. Prints counts only. Exits 2 when it is asked wrongly, 1 when the database refuses.
 */

import postgres from "postgres";
import { type KeyRing, keyRing } from "#lib/vault/secret.ts";
import { readDemoFile } from "./local/demo/demo-file.ts";
import { rekeyCallers } from "./vault/rekey-callers.ts";
import { sealClearSecrets } from "./vault/seal-clear-secrets.ts";

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

function readRing(): KeyRing {
  try {
    const { OPSMANTIK_VAULT_KEY, OPSMANTIK_VAULT_KEY_PREVIOUS } = process.env;
    return keyRing({ OPSMANTIK_VAULT_KEY, OPSMANTIK_VAULT_KEY_PREVIOUS });
  } catch (error) {
    stop(error instanceof Error ? error.message : String(error));
  }
}

const ring = readRing();
const url = process.env.DATABASE_URL ?? readDemoFile()?.adminDatabaseUrl;
if (!url) stop("Set DATABASE_URL to the database, as its owner, or start the demo.");

const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} });
try {
  const secrets = await sealClearSecrets(sql, ring);
  console.log(`ok     ${secrets} call secrets encrypted with the key ${ring.current.id}; none is left in clear`);
  const { rekeyed } = await rekeyCallers(sql, ring, null);
  console.log(`       ${rekeyed} callers' numbers hashed with the key; none is left bare`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await sql.end();
}
