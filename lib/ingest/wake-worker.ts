import { Client } from "@upstash/qstash";
import { env } from "#lib/env.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteId } from "#lib/site.ts";

const workerPath = "/api/workers/ingest";

let client: Client | undefined;

/** No retries and a short wait: a minute later a cron finds the event anyway. */
function qstashClient(): Client {
  client ??= new Client({ baseUrl: env().QSTASH_URL, token: env().QSTASH_TOKEN, retry: false, enableTelemetry: false });
  return client;
}

const lastWake = new Map<string, { second: number; published: Promise<boolean> }>();
const rememberedSitesMax = 10_000;

/**
 * Tells the worker that a site has events: at most once per site and second from this process, delivered after that second has
 * ended, so that it finds them all. The events themselves are in Postgres; false only means that they wait for the cron.
 */
export function wakeWorker(siteId: SiteId, now = Date.now()): Promise<boolean> {
  const second = Math.floor(now / 1000);
  const known = lastWake.get(siteId);
  if (known?.second === second) return known.published;
  if (lastWake.size >= rememberedSitesMax) lastWake.clear();
  const published = publish(siteId, second);
  lastWake.set(siteId, { second, published });
  return published;
}

async function publish(siteId: SiteId, second: number): Promise<boolean> {
  try {
    await Promise.race([
      qstashClient().publishJSON({
        url: new URL(workerPath, env().APP_URL).href,
        body: { site: siteId },
        delay: 1,
        deduplicationId: `ingest-${siteId}-${second}`,
      }),
      new Promise((_, reject) => setTimeout(() => reject(new Error("QStash did not answer in time")), 2_000).unref()),
    ]);
    return true;
  } catch (error) {
    log.warn("worker not woken; the cron will find the events", { reason: error instanceof Error ? error.message : String(error) });
    return false;
  }
}
