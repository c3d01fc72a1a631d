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
    { message: `call ${secrets.phone} of ${secrets.email} with ${secrets.key}, Bearer ${secrets.jwt}, ${secrets.jwe}` },
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
