import { z } from "zod";
import { ProviderRateLimitError } from "#lib/providers/provider-error.ts";
import { fetchJson } from "./fetch-json.ts";
import { googleHosts } from "./hosts.ts";

const granted = z.object({ refresh_token: z.string().min(1) });
const timeoutMs = 15_000;

interface CodeGrant {
  client_id: string;
  client_secret: string;
  code: string;
  redirectUri: string;
}

/** The refresh token behind a consent's code; null when Google refuses the code or gives none. */
export async function exchangeCode({ client_id, client_secret, code, redirectUri }: CodeGrant): Promise<string | null> {
  const body = new URLSearchParams({ client_id, client_secret, code, redirect_uri: redirectUri, grant_type: "authorization_code" });
  const init = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body };
  const answer = await fetchJson(googleHosts().token, init, { timeoutMs }, [client_secret, code]);
  if (answer.status === 429) throw new ProviderRateLimitError("Google's token endpoint answered 429");
  return answer.status === 200 ? (granted.safeParse(answer.body).data?.refresh_token ?? null) : null;
}
