import { beforeAll, expect, test } from "vitest";
import { credentialsSchema, describeAccount, openCredentials, sealCredentials } from "#lib/providers/credentials.ts";
import type { SiteUuid } from "#lib/site.ts";
import { sealSecret } from "#lib/vault/secret.ts";
import { secrets, useGoogleEnv } from "#tests/support/scripted-google.ts";

beforeAll(() => {
  useGoogleEnv("http://127.0.0.1:1");
  process.env.OPSMANTIK_VAULT_KEY = Buffer.alloc(32, "vault-key-of-tests").toString("base64");
});

const siteUuid = "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f" as SiteUuid;
/** As the runbook writes them. */
const asked = {
  customer_id: "123-456-7890",
  login_customer_id: "999-888-7776",
  client_id: "client-123456.apps.googleusercontent.com",
  conversion_action_resource_name: "customers/123/conversionActions/456",
  ...secrets,
};

test("the runbook's credentials are taken; customer ids lose their dashes and Data Manager is the default", () => {
  expect(credentialsSchema.parse(asked)).toEqual({
    ...asked,
    customer_id: "1234567890",
    login_customer_id: "9998887776",
    transport: "data_manager",
  });
});

test("a manager and a developer token can be left out, anything else not", () => {
  const { login_customer_id: _manager, developer_token: _token, ...enough } = asked;
  expect(credentialsSchema.safeParse(enough).success).toBe(true);
  for (const name of ["customer_id", "client_id", "client_secret", "refresh_token", "conversion_action_resource_name"])
    expect(credentialsSchema.safeParse({ ...enough, [name]: undefined }).success).toBe(false);
  for (const wrong of [{ customer_id: "abc" }, { conversion_action_resource_name: "456" }, { transport: "script" }])
    expect(credentialsSchema.safeParse({ ...enough, ...wrong }).success).toBe(false);
});

test("they open for their own site and provider only", () => {
  const credentials = credentialsSchema.parse(asked);
  const sealed = sealCredentials(credentials, siteUuid, "google_ads");
  expect(openCredentials(sealed, siteUuid, "google_ads")).toEqual(credentials);
  expect(() => openCredentials(sealed, siteUuid, "another")).toThrow(/VAULT_KEY_MISMATCH/);
});

// Guarantee: an incomplete secret is told by the names of its fields; neither the log nor a row learns what stands in them.
test("what opens and is no credentials is called so, by its fields alone", () => {
  const place = { siteUuid, purpose: "provider_credentials:google_ads" };
  const messageOf = (plain: string) => {
    try {
      return JSON.stringify(openCredentials(sealSecret(plain, place), siteUuid, "google_ads"));
    } catch (error) {
      return String(error);
    }
  };
  expect(messageOf('{"customer_id": "x-very-secret"}')).toMatch(/CREDENTIALS_UNREADABLE: .*customer_id.*refresh_token/);
  expect(messageOf('{"customer_id": "x-very-secret"}')).not.toContain("x-very-secret");
  expect(messageOf("no JSON at all")).toContain("CREDENTIALS_UNREADABLE");
});

// Guarantee: what screens and tables keep of an account holds nothing that opens it.
test("an account is described without a secret", () => {
  const shown = describeAccount(credentialsSchema.parse(asked));
  expect(shown).toEqual({ customerId: "1234567890", loginCustomerId: "9998887776", clientIdTail: "123456", hasDeveloperToken: true });
  for (const secret of Object.values(secrets)) expect(JSON.stringify(shown)).not.toContain(secret);
});
