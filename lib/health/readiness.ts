import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { reachAuth } from "#lib/db/session-client.ts";
import { latestMigration } from "#lib/db/types.gen.ts";
import { log } from "#lib/platform/log.ts";
import { redis } from "#lib/platform/redis.ts";

interface Check {
  name: "postgres" | "redis" | "auth" | "migrations";
  ok: boolean;
  latencyMs: number | null;
  detail?: string;
}

async function timed<T>(name: Check["name"], work: () => Promise<T>): Promise<{ check: Check; value?: T }> {
  const startedAt = performance.now();
  try {
    const value = await work();
    return { check: { name, ok: true, latencyMs: Math.round(performance.now() - startedAt) }, value };
  } catch (error) {
    log.error("not ready", { part: name, error });
    return { check: { name, ok: false, latencyMs: null, detail: `${name} did not answer` } };
  }
}

/** Whether this deployment can serve: each part it needs, with how long it took to answer. */
export async function readiness(): Promise<{ ready: boolean; checks: Check[] }> {
  const [database, cache, auth] = await Promise.all([
    timed("postgres", () => callRpc("database_readiness", {}, z.object({ migration: z.string() }))),
    timed("redis", () => redis().ping()),
    timed("auth", reachAuth), // every page of a signed-in person goes through Supabase's own API
  ]);
  const found = database.value?.migration;
  const current = found === latestMigration;
  const migrations: Check = {
    name: "migrations",
    ok: current,
    latencyMs: database.check.latencyMs,
    ...(!current && {
      detail: found
        ? `the database is at ${found}, the code needs ${latestMigration}: run supabase db push`
        : "unknown while postgres is away",
    }),
  };
  const checks = [database.check, cache.check, auth.check, migrations];
  return { ready: checks.every((check) => check.ok), checks };
}
