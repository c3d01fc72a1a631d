import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { generateApiKey } from "@supabase/lite";
import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { type Gateway, prepareGateway } from "#scripts/local/gateway/gateway.ts";
import { sharedStack } from "./shared-stack.ts";

export interface TestGateway extends Gateway {
  /** For minting tokens that the gateway accepts. */
  jwtSecret: string;
}

/** A Supabase gateway on a test database, with keys of its own. */
export async function startTestGateway(databaseUrl: string, siteUrl = "http://localhost:3000"): Promise<TestGateway> {
  const jwtSecret = randomBytes(32).toString("base64url");
  const publishableKey = (await generateApiKey("publishable")).key;
  const secretKey = (await generateApiKey("secret")).key;
  const logPath = join(sharedStack().logDir, "gateway.log");
  const prepared = await prepareGateway({ databaseUrl, siteUrl, keys: { jwtSecret, publishableKey, secretKey }, logPath });
  return { ...(await prepared.listen()), jwtSecret };
}

/** Nobody in particular: what a visitor's browser could do with the publishable key. */
export function anonymousClient(gateway: Gateway): SupabaseClient {
  const auth = { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false };
  return createClient(gateway.url, gateway.publishableKey, { auth });
}

export async function signInAs(gateway: Gateway, { email, password }: { email: string; password: string }): Promise<SupabaseClient> {
  const client = anonymousClient(gateway);
  const { error } = await client.auth.signInWithPassword({ email, password });
  if (error) throw error;
  return client;
}
