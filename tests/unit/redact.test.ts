import { expect, test } from "vitest";
import { redact } from "#lib/platform/redact.ts";

const secrets = {
  phone: "+90 532 123 41 07",
  gclid: "Cj0KCQiAgribBhDkARIsAASA5bukT0a9Zqjxxxxxxx",
  key: "om_0123456789abcdef0123456789abcdef0123456789abcdef",
  jwt: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyIn0.c2lnbmF0dXJlLW9mLXRva2Vu",
  jwe: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aXZpdml2.Y2lwaGVydGV4dA.dGFndGFn",
  password: "hunter2-hunter2",
  email: "elif.demir@akderekombi.com.tr",
  cookie: "base64-eyJhY2Nlc3NfdG9rZW4iOiJleUpoYkdjaU9pSklVekkxTmlKOSJ9",
  tokenHash: "pkce_0a1b2c3d4e5f60718293a4b5c6d7e8f9",
  serviceKey: "sb_secret_abcdefghijklmnop",
};

// Guarantee: whoever reads our logs cannot call, impersonate or re-attribute a customer's visitor.
test.each([
  [
    "by the name of the field",
    {
      phone: secrets.phone,
      gclid: secrets.gclid,
      "x-api-key": secrets.key,
      session_token: secrets.jwt,
      password: secrets.password,
      email: secrets.email,
    },
  ],
  [
    "inside a sentence",
    {
      message: `call ${secrets.phone} of ${secrets.email} with ${secrets.key}, Bearer ${secrets.jwt}, ${secrets.jwe}, ${secrets.cookie}, token_hash=${secrets.tokenHash}, ${secrets.serviceKey}`,
    },
  ],
  ["inside a url", { url: `https://shop.test/?gclid=${secrets.gclid}&tel=905321234107` }],
  [
    "deep inside an error",
    {
      error: new Error(`failed for ${secrets.phone}`, {
        cause: { headers: { authorization: secrets.jwt }, body: { wbraid: secrets.gclid } },
      }),
    },
  ],
])("secrets and personal data are hidden %s", (_where, fields) => {
  const printed = JSON.stringify(redact(fields));
  for (const value of Object.values(secrets)) expect(printed).not.toContain(value);
  expect(printed).not.toMatch(/5321234107|532 123 41/);
});

test("ids of ours stay searchable", () => {
  const ids = {
    digest: "2367233214",
    requestId: "req_0mwiqjbrd2ae6458bc0b4e1b9a",
    migration: "20261116000400",
    path: "/api/sites/0123456789abcdef0123456789abcdef",
  };
  expect(redact(ids)).toEqual(ids);
  const sentence = "site 0123456789abcdef0123456789abcdef, row 0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f";
  expect(redact({ message: sentence })).toEqual({ message: sentence });
});

test("what a reader needs stays", () => {
  expect(redact({ path: "/api/sites", status: 409, durationMs: 12, code: "LAST_OWNER", prefix: "om_01234567" })).toEqual({
    path: "/api/sites",
    status: 409,
    durationMs: 12,
    code: "LAST_OWNER",
    prefix: "om_01234567",
  });
});

test("a huge or endless object is cut, not followed", () => {
  const loop: Record<string, unknown> = { wide: Array.from({ length: 1000 }, (_, index) => index) };
  loop.self = loop;
  expect(JSON.stringify(redact(loop)).length).toBeLessThan(2000);
});
