import fc from "fast-check";
import { expect, test } from "vitest";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteUuid } from "#lib/site.ts";
import { keyRing, openSecret, sealSecret } from "#lib/vault/secret.ts";

const keyOf = (text: string) => Buffer.alloc(32, text).toString("base64");
const older = keyRing({ OPSMANTIK_VAULT_KEY: keyOf("old") });
const ring = keyRing({ OPSMANTIK_VAULT_KEY: keyOf("new"), OPSMANTIK_VAULT_KEY_PREVIOUS: keyOf("old") });
const place = { siteUuid: "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f" as SiteUuid, purpose: "provider_credentials:google_ads" };
const secret = '{"client_secret":"GOCSPX-never-shown","refresh_token":"1//never-shown"}';

function refusalOf(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("what was sealed opens again, and no two seals of it look alike", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => openSecret(sealSecret(text, place, ring), place, ring) === text.toWellFormed()),
  );
  expect(sealSecret(secret, place, ring).sealed).not.toBe(sealSecret(secret, place, ring).sealed);
});

// Guarantee: a stolen table shows nothing, and the key id does not give the key away.
test("neither the secret nor the key can be read from what is stored", () => {
  const { keyId, sealed } = sealSecret(secret, place, ring);
  expect(Buffer.from(sealed, "base64").toString("latin1")).not.toContain("never-shown");
  expect(keyId).toMatch(/^[0-9a-f]{8}$/);
  expect(ring.current.bytes.toString("hex")).not.toContain(keyId);
});

// Guarantee: a rotation never leaves a site without its credentials. Mutation: open with the current key only.
test("while two keys live, secrets of both open and new ones are sealed with the current", () => {
  const before = sealSecret(secret, place, older);
  expect(openSecret(before, place, ring)).toBe(secret);
  expect(sealSecret(secret, place, ring).keyId).toBe(ring.current.id);
  expect(ring.current.id).not.toBe(before.keyId);
});

// Guarantee: one site's credentials never work for another, also when somebody copies the row. Mutation: drop setAAD.
test.each([
  ["another site", { ...place, siteUuid: "0190b5a8-3f5c-7c1e-8a34-000000000000" as SiteUuid }],
  ["another purpose", { ...place, purpose: "provider_credentials:meta" }],
])("a secret does not open for %s", (_name, other) => {
  const refusal = refusalOf(() => openSecret(sealSecret(secret, place, ring), other, ring));
  expect(refusal.code).toBe("VAULT_KEY_MISMATCH");
  expect(refusal.message).not.toContain("never-shown");
});

test("an altered or cut secret is refused as a whole", () => {
  const { keyId, sealed } = sealSecret(secret, place, ring);
  const bytes = Buffer.from(sealed, "base64");
  for (const at of [0, 13, 30, bytes.length - 1]) {
    const altered = Buffer.from(bytes);
    altered[at] = (altered[at] ?? 0) ^ 1;
    expect(refusalOf(() => openSecret({ keyId, sealed: altered.toString("base64") }, place, ring)).code).toBe("VAULT_KEY_MISMATCH");
  }
  for (const cut of ["", sealed.slice(0, 8), sealed.slice(0, 30)])
    expect(refusalOf(() => openSecret({ keyId, sealed: cut }, place, ring)).code).toBe("VAULT_KEY_MISMATCH");
});

// Guarantee: whoever set the wrong key learns which variable to look at, and nobody learns a key.
test("a missing, malformed or unknown key is named by its variable", () => {
  const unknown = refusalOf(() => openSecret(sealSecret(secret, place, ring), place, older));
  expect(unknown.code).toBe("VAULT_KEY_MISMATCH");
  expect(unknown.message).toContain("OPSMANTIK_VAULT_KEY");
  expect(unknown.message).toContain(ring.current.id);
  expect(unknown.message).not.toContain(keyOf("new"));
  expect(refusalOf(() => keyRing({})).message).toMatch(/VAULT_KEY_MISSING: OPSMANTIK_VAULT_KEY is not set/);
  const malformed = refusalOf(() => keyRing({ OPSMANTIK_VAULT_KEY: keyOf("new"), OPSMANTIK_VAULT_KEY_PREVIOUS: "too-short-key" }));
  expect(malformed.message).toContain("OPSMANTIK_VAULT_KEY_PREVIOUS must be 32 bytes in base64");
  expect(malformed.message).not.toContain("too-short-key");
});
