import { expect, test } from "vitest";
import { deploymentId, parseEnv } from "#lib/env.ts";

const complete = {
  APP_URL: "https://app.example.com",
  DATABASE_URL: "postgresql://u:p@localhost:6543/postgres",
  SUPABASE_URL: "https://x.supabase.co",
  SUPABASE_PUBLISHABLE_KEY: "sb_publishable_0123456789",
  UPSTASH_REDIS_REST_URL: "https://x.upstash.io",
  UPSTASH_REDIS_REST_TOKEN: "token-of-redis-0123",
  QSTASH_TOKEN: "token-of-qstash-0123",
  QSTASH_CURRENT_SIGNING_KEY: "sig_current_0123456789",
  QSTASH_NEXT_SIGNING_KEY: "sig_next_0123456789",
  CRON_SECRET: "cron-secret-0123456789",
  OCI_SESSION_SECRET: "session-secret-0123456789-0123456789",
};

test("a complete environment is accepted, with defaults for what may be left out", () => {
  expect(parseEnv(complete)).toMatchObject({ QSTASH_URL: "https://qstash.upstash.io", NODE_ENV: "production" });
});

// Guarantee: a deployer fixes a broken environment in one go instead of one start per variable.
test("one message names every missing and malformed variable", () => {
  const { CRON_SECRET: _missing, ...rest } = complete;
  const broken = {
    ...rest,
    APP_URL: "app.example.com",
    OCI_SESSION_SECRET: "short",
    DATABASE_URL: "",
    UPSTASH_REDIS_REST_URL: "redis://x",
  };
  const message = (() => {
    try {
      parseEnv(broken);
      return "";
    } catch (error) {
      return String(error);
    }
  })();
  for (const name of ["APP_URL", "CRON_SECRET: is missing", "OCI_SESSION_SECRET: must have at least 32", "UPSTASH_REDIS_REST_URL"])
    expect(message).toContain(name);
  expect(message).not.toContain("QSTASH_TOKEN");
});

test("an empty variable counts as missing, and without any way to the database both are named", () => {
  expect(() => parseEnv({ ...complete, DATABASE_URL: "" })).toThrow(/DATABASE_URL.*SUPABASE_SECRET_KEY/);
});

test("uploads to Google have the limits of the runbook unless something else is set", () => {
  expect(parseEnv(complete)).toMatchObject({
    CONCURRENCY_PER_SITE_PROVIDER: 2,
    CONCURRENCY_GLOBAL_PER_PROVIDER: 10,
    SEMAPHORE_TTL_MS: 120_000,
    GOOGLE_ADS_API_VERSION: "v26",
    VERDICT_FIRST_POLL_SECONDS: 1800,
    VERDICT_UNKNOWN_AFTER_HOURS: 168,
  });
  expect(parseEnv({ ...complete, CONCURRENCY_GLOBAL_PER_PROVIDER: "0" }).CONCURRENCY_GLOBAL_PER_PROVIDER).toBe(0);
});

// Guarantee: no deployment hands customers' credentials to something that is not Google. Mutation: drop the refine.
test("another address for Google is refused on Vercel and taken elsewhere", () => {
  const elsewhere = { ...complete, GOOGLE_API_BASE_URL: "http://127.0.0.1:9999" };
  expect(parseEnv(elsewhere).GOOGLE_API_BASE_URL).toBe("http://127.0.0.1:9999");
  expect(() => parseEnv({ ...elsewhere, VERCEL: "1" })).toThrow(/GOOGLE_API_BASE_URL: is for the simulator.*Remove it/);
});

// Guarantee: a malformed key stops the start, not the first upload, and is not printed.
test("a vault key that is not 32 bytes is refused at the start", () => {
  const short = Buffer.alloc(31, "k").toString("base64");
  expect(() => parseEnv({ ...complete, OPSMANTIK_VAULT_KEY: short })).toThrow(/OPSMANTIK_VAULT_KEY: must be 32 random bytes/);
  expect(() => parseEnv({ ...complete, OPSMANTIK_VAULT_KEY: short })).not.toThrow(short);
  expect(() => parseEnv({ ...complete, OPSMANTIK_VAULT_KEY: "!".repeat(44) })).toThrow(/OPSMANTIK_VAULT_KEY/);
});

test("a build on Vercel is named by its deployment, and what Next itself was told wins", () => {
  expect(deploymentId({ VERCEL_DEPLOYMENT_ID: "dpl_7" })).toBe("dpl_7");
  expect(deploymentId({ VERCEL_DEPLOYMENT_ID: "dpl_7", NEXT_DEPLOYMENT_ID: "dpl_8" })).toBe("dpl_8");
  expect(deploymentId({ VERCEL_DEPLOYMENT_ID: "" })).toBeUndefined();
});
