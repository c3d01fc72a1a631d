import { z } from "zod";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteUuid } from "#lib/site.ts";
import { openSecret, type SealedSecret, type SecretPlace, sealSecret } from "#lib/vault/secret.ts";

/** A Google customer id as people copy it (123-456-7890) becomes the ten digits that the APIs take. */
const customerId = z
  .string()
  .trim()
  .transform((text) => text.replaceAll(/[\s-]/g, ""))
  .pipe(z.string().regex(/^\d{3,12}$/, "is a customer id: ten digits, with or without dashes"));

const text = z.string().trim().min(1).max(512);
const conversionActionName = z
  .string()
  .trim()
  .regex(/^customers\/\d+\/conversionActions\/\d+$/, "is customers/<id>/conversionActions/<id>");

/** The credentials of a site's Google account, under the runbook's names. They are encrypted in provider_credentials. */
export const credentialsSchema = z.object({
  customer_id: customerId,
  login_customer_id: customerId.optional(),
  /** Google ignores it since September 2026. */
  developer_token: text.optional(),
  client_id: text,
  client_secret: text,
  refresh_token: text,
  conversion_action_resource_name: conversionActionName,
  transport: z.enum(["data_manager", "ads_api"]).default("data_manager"),
});

export type Credentials = z.output<typeof credentialsSchema>;

/** A site's sealed credentials open for this site and provider only. */
export function credentialsPlace(siteUuid: SiteUuid, providerKey: string): SecretPlace {
  return { siteUuid, purpose: `provider_credentials:${providerKey}` };
}

export function sealCredentials(credentials: Credentials, siteUuid: SiteUuid, providerKey: string): SealedSecret {
  return sealSecret(JSON.stringify(credentials), credentialsPlace(siteUuid, providerKey));
}

/** Throws the vault's errors, and CREDENTIALS_UNREADABLE when the decrypted text is not what we expect. The message names fields, never their content. */
export function openCredentials(sealed: SealedSecret, siteUuid: SiteUuid, providerKey: string): Credentials {
  const parsed = credentialsSchema.safeParse(parseJson(openSecret(sealed, credentialsPlace(siteUuid, providerKey))));
  if (parsed.success) return parsed.data;
  const fields = [...new Set(parsed.error.issues.map(({ path }) => path.join(".") || "all of them"))].join(", ");
  throw new AppError("CREDENTIALS_UNREADABLE", { detail: `the stored credentials are not complete (${fields}): connect Google again` });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What screens and tables may show of it. */
export function describeAccount(credentials: Credentials) {
  return {
    customerId: credentials.customer_id,
    ...(credentials.login_customer_id && { loginCustomerId: credentials.login_customer_id }),
    // Every client id ends alike; the part before tells them apart.
    clientIdTail: credentials.client_id.replace(/\.apps\.googleusercontent\.com$/, "").slice(-6),
    hasDeveloperToken: credentials.developer_token !== undefined,
  };
}
