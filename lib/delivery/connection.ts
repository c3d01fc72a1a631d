import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { redact } from "#lib/platform/redact.ts";
import { openCredentials } from "#lib/providers/credentials.ts";
import type { ProviderConnection } from "#lib/providers/port.ts";
import type { SiteUuid } from "#lib/site.ts";
import { storableText } from "./pipeline.ts";

const messageMax = 1000;

const storedCredentials = z.object({ version: z.number(), keyId: z.string(), sealed: z.string() }).nullable();

/**
 * A site's credentials, read and opened. Null when the site is not connected.
 * Throws VAULT_KEY_MISMATCH or VAULT_KEY_MISSING when this server's key does not open them, CREDENTIALS_UNREADABLE when they are incomplete.
 */
export async function openConnection(siteUuid: SiteUuid, providerKey: string): Promise<ProviderConnection | null> {
  const stored = await callRpc("provider_credentials_for", { p_site_id: siteUuid, p_provider_key: providerKey }, storedCredentials);
  return stored && { siteUuid, version: stored.version, credentials: openCredentials(stored, siteUuid, providerKey) };
}

/**
 * Errors are stored and shown to operators. Secrets are removed from them, whoever wrote the text, and what the log redacts is redacted here
 * too. The result can be stored.
 */
export function withoutSecrets(message: string, { credentials }: ProviderConnection): string {
  const { refresh_token, client_secret, developer_token } = credentials;
  const clean = [refresh_token, client_secret, developer_token].reduce<string>(
    (text, secret) => (secret ? text.replaceAll(secret, "[secret]") : text),
    message,
  );
  return storableText(String(redact(clean)).slice(0, messageMax));
}
