import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { env, isVaultKey } from "#lib/env.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteUuid } from "#lib/site.ts";

export interface SealedSecret {
  keyId: string;
  /** base64(nonce | tag | ciphertext) */
  sealed: string;
}

/** Where a secret belongs. It is authenticated with the secret, so a row that was moved to another site does not open there. */
export interface SecretPlace {
  siteUuid: SiteUuid;
  purpose: string;
}

const cipherName = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

const placeBytes = ({ siteUuid, purpose }: SecretPlace) => Buffer.from(`${siteUuid}:${purpose}`, "utf8");

export function sealSecret(plain: string, place: SecretPlace, ring: KeyRing = keyRing()): SealedSecret {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, ring.current.bytes, nonce, { authTagLength: tagBytes }).setAAD(placeBytes(place));
  const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return { keyId: ring.current.id, sealed: Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64") };
}

/** The plain text. Throws VAULT_KEY_MISMATCH when no key of the ring opens it; the message never holds a key or the content. */
export function openSecret({ keyId, sealed }: SealedSecret, place: SecretPlace, ring: KeyRing = keyRing()): string {
  const key = [ring.current, ring.previous].find((candidate) => candidate?.id === keyId);
  if (!key) {
    const variables = ring.previous ? "neither OPSMANTIK_VAULT_KEY nor OPSMANTIK_VAULT_KEY_PREVIOUS" : "not OPSMANTIK_VAULT_KEY";
    throw new AppError("VAULT_KEY_MISMATCH", { detail: `this was sealed with the key ${keyId}, which is ${variables}` });
  }
  try {
    const bytes = Buffer.from(sealed, "base64");
    const decipher = createDecipheriv(cipherName, key.bytes, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(placeBytes(place)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString("utf8");
  } catch {
    const detail = `the key ${keyId} does not open this: it was altered, or belongs to another site or purpose`;
    throw new AppError("VAULT_KEY_MISMATCH", { detail });
  }
}

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
  if (!current) throw new AppError("VAULT_KEY_MISSING", { detail: "OPSMANTIK_VAULT_KEY is not set: no secret can be sealed or opened" });
  return {
    current: readKey("OPSMANTIK_VAULT_KEY", current),
    ...(previous && { previous: readKey("OPSMANTIK_VAULT_KEY_PREVIOUS", previous) }),
  };
}
