import { sharedStack } from "./shared-stack.ts";
import type { TestDatabase } from "./test-database.ts";
import type { TestGateway } from "./test-gateway.ts";

export const appOrigin = "https://app.opsmantik.test";

/** Points the app's code, as imported by this test file, at the test's own parts. Call before anything reads the environment. */
export function useAppEnv(parts: {
  database: Pick<TestDatabase, "appUrl">;
  /** Without it nobody can sign in. */
  gateway?: Pick<TestGateway, "url" | "publishableKey" | "secretKey">;
  redisRest?: { url: string; token: string };
}): Record<string, string> {
  const values = {
    APP_URL: appOrigin,
    DATABASE_URL: parts.database.appUrl,
    SUPABASE_URL: parts.gateway?.url ?? "http://localhost:1",
    SUPABASE_PUBLISHABLE_KEY: parts.gateway?.publishableKey ?? "key-of-no-gateway-0123456789abcdef",
    SUPABASE_SECRET_KEY: parts.gateway?.secretKey ?? "key-of-no-gateway-0123456789abcdef",
    UPSTASH_REDIS_REST_URL: parts.redisRest?.url ?? sharedStack().upstashUrl,
    UPSTASH_REDIS_REST_TOKEN: parts.redisRest?.token ?? sharedStack().upstashToken,
    QSTASH_TOKEN: "qstash-token-of-tests",
    QSTASH_CURRENT_SIGNING_KEY: "sig_current-of-tests",
    QSTASH_NEXT_SIGNING_KEY: "sig_next-of-tests",
    TRUSTED_PROXY: "1", // tests name their callers in x-forwarded-for
    CRON_SECRET: "cron-secret-of-tests",
    OCI_SESSION_SECRET: "session-secret-of-tests-0123456789",
    OPSMANTIK_VAULT_KEY: Buffer.alloc(32, "vault-key-of-tests").toString("base64"),
  };
  Object.assign(process.env, values);
  return values;
}
