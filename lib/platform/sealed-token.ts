import { createHash } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import type { z } from "zod";
import { env } from "#lib/env.ts";

/** What a browser carries for us without being able to read or change it. `purpose` keeps a token of one kind from passing as another. */
interface TokenKind<Payload> {
  purpose: string;
  lifetimeSeconds: number;
  payload: z.ZodType<Payload>;
}

const encryptionKey = () => createHash("sha256").update(env().OCI_SESSION_SECRET).digest();

export function sealToken<Payload extends Record<string, unknown>>(kind: TokenKind<Payload>, payload: Payload): Promise<string> {
  return new EncryptJWT(payload)
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .setAudience(kind.purpose)
    .setIssuedAt()
    .setExpirationTime(`${kind.lifetimeSeconds} s`)
    .encrypt(encryptionKey());
}

/** The payload; null for anything forged, altered, expired or of another kind. */
export async function openToken<Payload>(kind: TokenKind<Payload>, token: string, now = new Date()): Promise<Payload | null> {
  try {
    const { payload } = await jwtDecrypt(token, encryptionKey(), {
      audience: kind.purpose,
      currentDate: now,
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    return kind.payload.parse(payload);
  } catch {
    return null;
  }
}
