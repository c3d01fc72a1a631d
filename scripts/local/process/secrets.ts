import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateApiKey } from "@supabase/lite";

/** Every secret of one embedded stack. */
export interface StackSecrets {
  postgresPassword: string;
  appDatabasePassword: string;
  jwtSecret: string;
  publishableKey: string;
  secretKey: string;
  upstashToken: string;
  qstashToken: string;
  qstashCurrentSigningKey: string;
  qstashNextSigningKey: string;
  cronSecret: string;
  ociSessionSecret: string;
  /** Base64 of 32 bytes: what provider credentials are encrypted with. */
  vaultKey: string;
}

/** Random, and kept in the state directory, so that sessions and data survive a restart. */
export async function loadSecrets(stateDir: string): Promise<StackSecrets> {
  const path = join(stateDir, "secrets.json");
  // A secret added by a newer version joins the ones already there.
  const kept: Partial<StackSecrets> = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  const secrets = { ...(await newSecrets()), ...kept };
  writeFileSync(`${path}.part`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.part`, path);
  return secrets;
}

async function newSecrets(): Promise<StackSecrets> {
  return {
    postgresPassword: randomToken(),
    appDatabasePassword: randomToken(),
    jwtSecret: randomToken(),
    publishableKey: (await generateApiKey("publishable")).key,
    secretKey: (await generateApiKey("secret")).key,
    upstashToken: randomToken(),
    qstashToken: randomToken(),
    qstashCurrentSigningKey: `sig_${randomToken()}`,
    qstashNextSigningKey: `sig_${randomToken()}`,
    cronSecret: randomToken(),
    ociSessionSecret: randomToken(),
    vaultKey: randomBytes(32).toString("base64"),
  };
}

/** 256 bits, in characters that need no escaping in a URL, a header or a shell. */
function randomToken(): string {
  return randomBytes(32).toString("base64url");
}
