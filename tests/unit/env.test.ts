import { expect, test } from "vitest";
import { parseEnv } from "#lib/env.ts";

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
