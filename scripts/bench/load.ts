/** One burst of load, in a process of its own: reads what to do from its argument, prints what it saw as one line of JSON. */

import { createHash, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import postgres from "postgres";
import type { SiteId, SiteUuid } from "#lib/site.ts";

export interface LoadOrder {
  /** "driver" inserts through postgres.js without any HTTP; the others post to the url. */
  kind: "driver" | "single" | "batch" | "duplicate";
  url: string;
  databaseUrl: string;
  siteUuid: SiteUuid;
  siteId: SiteId;
  origin: string;
  connections: number;
  seconds: number;
}

export interface LoadResult {
  requests: number;
  events: number;
  failures: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
}

const eventsPerBatch = 20;
/** One caller may send 2,000 events a minute; a real site has many callers, who send far fewer each. */
const eventsPerCaller = 500;

function eventOf(order: LoadOrder, eid: string) {
  return {
    s: order.siteId,
    u: `${order.origin}/products/${eid.slice(0, 8)}?utm_source=google&utm_medium=cpc`,
    eid,
    sid: eid,
    ec: "interaction",
    ea: "view",
    el: "Products",
    r: "https://www.google.com/",
    meta: { fp: eid, gclid: `Cj0KCQ-${eid}`, cts: Date.now(), utm_source: "google", utm_medium: "cpc", sw: 390, sh: 844, lan: "tr-TR" },
  };
}

function bodies(order: LoadOrder): () => string {
  const repeated = JSON.stringify(eventOf(order, randomUUID()));
  if (order.kind === "duplicate") return () => repeated;
  if (order.kind === "single") return () => JSON.stringify(eventOf(order, randomUUID()));
  return () => JSON.stringify({ s: order.siteId, events: Array.from({ length: eventsPerBatch }, () => eventOf(order, randomUUID())) });
}

function poster(order: LoadOrder): () => Promise<boolean> {
  const agent = new Agent({ keepAlive: true, maxSockets: order.connections });
  const body = bodies(order);
  const { hostname: host, port, pathname: path } = new URL(order.url);
  const requestsPerCaller = order.kind === "batch" ? eventsPerCaller / eventsPerBatch : eventsPerCaller;
  let sent = 0;
  let caller = "";
  return () =>
    new Promise((resolve) => {
      if (sent++ % requestsPerCaller === 0) caller = randomUUID();
      const text = body();
      const headers = {
        origin: order.origin,
        "content-type": "text/plain",
        "content-length": Buffer.byteLength(text),
        "x-forwarded-for": caller,
        "user-agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
      };
      const sending = request({ host, port, path, method: "POST", agent, headers }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode === 200));
      });
      sending.on("error", () => resolve(false));
      sending.end(text);
    });
}

function inserter(order: LoadOrder): () => Promise<boolean> {
  const sql = postgres(order.databaseUrl, { max: 10 });
  return async () => {
    const key = createHash("sha256").update(randomUUID()).digest();
    await sql`insert into public.bench_rows (site_id, idempotency_key, created_at, expires_at)
      values (${order.siteUuid}, ${key}, now(), now() + interval '90 days') on conflict do nothing`;
    return true;
  };
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const act = order.kind === "driver" ? inserter(order) : poster(order);
  const times: number[] = [];
  let failures = 0;
  const startedAt = performance.now();
  const endAt = startedAt + order.seconds * 1000;
  await Promise.all(
    Array.from({ length: order.connections }, async () => {
      for (let now = performance.now(); now < endAt; ) {
        const succeeded = await act();
        const after = performance.now();
        if (succeeded) times.push(after - now);
        else failures++;
        now = after;
      }
    }),
  );
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return {
    requests: times.length,
    events: times.length * (order.kind === "batch" ? eventsPerBatch : 1),
    failures,
    seconds: (performance.now() - startedAt) / 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

if (process.argv[2]) {
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(process.argv[2])))}\n`);
  process.exit(0);
}
