/** What our gate is compared with: a Next app with only one INSERT, with and without one Upstash call before it. Never shipped. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nextBinary } from "../local/app/app-server.ts";
import { checkoutDir, localDir } from "../local/process/state-dir.ts";

const insertRoute = `
import { createHash } from "node:crypto";
import postgres from "postgres";

export const sql = postgres(process.env.BENCH_DATABASE_URL, { max: 10 });

export async function insert(request) {
  const { s, eid } = await request.json();
  const key = createHash("sha256").update(s).update(eid).digest();
  const rows = await sql\`insert into public.bench_rows (site_id, idempotency_key, created_at, expires_at)
    values (\${process.env.BENCH_SITE_ID}, \${key}, now(), now() + interval '90 days') on conflict do nothing returning 1\`;
  return Response.json({ ok: true, duplicate: rows.length === 0 });
}
`;

const files: Record<string, string> = {
  "package.json": JSON.stringify({ name: "bench-bare-app", private: true, type: "module" }),
  "next.config.mjs": `export default { turbopack: { root: ${JSON.stringify(checkoutDir)} }, poweredByHeader: false };`,
  "instrumentation.js": "export function register() {}", // otherwise Next finds ours, further up
  "app/layout.js": "export default function Layout({ children }) { return <html lang='en'><body>{children}</body></html>; }",
  "app/page.js": "export default function Page() { return null; }",
  "lib/insert.js": insertRoute,
  "app/api/health/route.js": "export function GET() { return Response.json({ ok: true }); }",
  "app/api/insert/route.js": `export { insert as POST } from "../../../lib/insert.js";`,
  "app/api/upstash-insert/route.js": `
import { Redis } from "@upstash/redis";
import { insert } from "../../../lib/insert.js";

const redis = new Redis({ url: process.env.UPSTASH_REDIS_REST_URL, token: process.env.UPSTASH_REDIS_REST_TOKEN, enableTelemetry: false });

export async function POST(request) {
  await redis.incr("bench:" + request.headers.get("x-forwarded-for"));
  return insert(request);
}`,
};

/** The build loads the routes; nothing connects. */
const unusedEnv = {
  BENCH_DATABASE_URL: "postgres://unused@127.0.0.1:1/unused",
  UPSTASH_REDIS_REST_URL: "http://127.0.0.1:1",
  UPSTASH_REDIS_REST_TOKEN: "unused",
};

/** Writes and builds it below the checkout, where it finds the same packages; gives its folder. */
export function buildBareApp(): string {
  const dir = join(localDir(), "bench-bare-app");
  rmSync(dir, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  execFileSync(process.execPath, [nextBinary, "build"], {
    cwd: dir,
    env: {
      ...process.env,
      NODE_ENV: "production",
      NEXT_TELEMETRY_DISABLED: "1",
      ...unusedEnv,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return dir;
}
