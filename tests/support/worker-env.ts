import { randomBytes } from "node:crypto";

/** Every variable that a worker needs, with secrets of its own. What it does not talk to has an address where nobody listens. */
export function workerEnv(parts: { databaseUrl: string; googleUrl: string; redis: Record<string, string> }): Record<string, string> {
  const random = () => randomBytes(32).toString("base64url");
  return {
    ...parts.redis,
    DATABASE_URL: parts.databaseUrl,
    GOOGLE_API_BASE_URL: parts.googleUrl,
    OPSMANTIK_VAULT_KEY: randomBytes(32).toString("base64"),
    APP_URL: "http://localhost:3000",
    SUPABASE_URL: "http://localhost:1",
    SUPABASE_PUBLISHABLE_KEY: random(),
    QSTASH_TOKEN: random(),
    QSTASH_CURRENT_SIGNING_KEY: random(),
    QSTASH_NEXT_SIGNING_KEY: random(),
    CRON_SECRET: random(),
    OCI_SESSION_SECRET: random(),
    NODE_ENV: "test",
  };
}
