import { createHash } from "node:crypto";
import { env, isVaultKey } from "#lib/env.ts";
import { AppError } from "#lib/platform/app-error.ts";

interface VaultKey {
  /** First eight hex characters of the key's SHA-256: says which key sealed a secret, and nothing about the key. */
  id: string;
  bytes: Buffer;
}

/** Seals with `current`. Opens with either, so that a rotation needs no pause. */
export interface KeyRing {
  current: VaultKey;
  previous?: VaultKey;
}

interface KeyVariables {
  OPSMANTIK_VAULT_KEY?: string;
  OPSMANTIK_VAULT_KEY_PREVIOUS?: string;
}

function readKey(name: keyof KeyVariables, text: string): VaultKey {
  if (!isVaultKey(text)) throw new AppError("VAULT_KEY_MISSING", { detail: `${name} must be 32 bytes in base64` });
  const bytes = Buffer.from(text, "base64");
  return { id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes };
}

export function keyRing(variables: KeyVariables = env()): KeyRing {
  const { OPSMANTIK_VAULT_KEY: current, OPSMANTIK_VAULT_KEY_PREVIOUS: previous } = variables;
  if (!current)
    throw new AppError("VAULT_KEY_MISSING", { detail: "OPSMANTIK_VAULT_KEY is not set: no credentials can be sealed or opened" });
  return {
    current: readKey("OPSMANTIK_VAULT_KEY", current),
    ...(previous && { previous: readKey("OPSMANTIK_VAULT_KEY_PREVIOUS", previous) }),
  };
}
