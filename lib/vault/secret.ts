import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { AppError } from "#lib/platform/app-error.ts";
import { type KeyRing, keyRing } from "./key-ring.ts";

export interface SealedSecret {
  keyId: string;
  /** base64(nonce | tag | ciphertext) */
  sealed: string;
}

/** Where a secret belongs. It is authenticated with the secret, so a row that was moved to another site does not open there. */
export interface SecretPlace {
  siteUuid: string;
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
    throw new AppError("VAULT_KEY_MISMATCH", { detail: `the credentials were sealed with the key ${keyId}, which is ${variables}` });
  }
  try {
    const bytes = Buffer.from(sealed, "base64");
    const decipher = createDecipheriv(cipherName, key.bytes, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
    decipher.setAAD(placeBytes(place)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString("utf8");
  } catch {
    const detail = `the key ${keyId} does not open these credentials: they were altered, or belong to another site or purpose`;
    throw new AppError("VAULT_KEY_MISMATCH", { detail });
  }
}
