import { expect, test } from "vitest";
import { issueScriptSession, openScriptSession } from "#lib/oci/script/session.ts";

const keyId = "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f";
const secret = "a".repeat(40);
const now = new Date("2026-11-16T10:00:00Z");

test("a token opens for five minutes and not a second longer", async () => {
  const { token, expiresAt } = await issueScriptSession(keyId, secret, now);
  expect(expiresAt.toISOString()).toBe("2026-11-16T10:05:00.000Z");
  expect(await openScriptSession(token, secret, new Date("2026-11-16T10:04:59Z"))).toEqual({ keyId });
  expect(await openScriptSession(token, secret, new Date("2026-11-16T10:05:01Z"))).toBeNull();
});

// Guarantee: the token shows no internal id to whoever holds it, and nobody can make or alter one.
test("a token is opaque, and a forged, altered or cut one opens nothing", async () => {
  const { token } = await issueScriptSession(keyId, secret, now);
  const visible = token
    .split(".")
    .map((part) => Buffer.from(part, "base64url").toString("utf8"))
    .join(" ");
  expect(visible).not.toContain(keyId);
  const altered = `${token.slice(0, -2)}${token.endsWith("AA") ? "BB" : "AA"}`;
  for (const bad of ["", "x", token.slice(0, -5), altered, `${token}.`]) expect(await openScriptSession(bad, secret, now)).toBeNull();
  expect(await openScriptSession(token, "b".repeat(40), now)).toBeNull();
});
