import { createHmac, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { POST as callEvent } from "#app/api/call-event/route.ts";
import { GET as recoverCron } from "#app/api/cron/ingest/recover/route.ts";
import { POST as sync } from "#app/api/sync/route.ts";
import { POST as workerRoute } from "#app/api/workers/ingest/route.ts";
import type { SiteId, SiteUuid } from "#lib/site.ts";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";
import { type Qstash, startQstash } from "#scripts/local/qstash/qstash.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createSite, makeCallSecret, setCeilings } from "#tests/fixtures/site.ts";
import { createPerson, type Person } from "#tests/fixtures/team.ts";
import { useAppEnv as setAppEnv } from "./app-env.ts";
import { send } from "./requests.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";
import { waitForRedis } from "./wait-for-redis.ts";

/** A browser that isbot knows for one. */
export const browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

export interface IngestSite {
  siteId: SiteId;
  siteUuid: SiteUuid;
  origin: string;
  callSecret: string;
}

interface SiteSettings {
  consentMode?: "off" | "required";
  respectsPrivacySignal?: boolean;
  /** As many events as an owner may set. */
  highCeilings?: boolean;
  /** Without a call secret: nothing of the site is ever signed. */
  hasTelephone?: false;
  /** Nothing of it is kept for leads unless told otherwise, so that a test of the cap meets the cap. */
  plan?: { limit: number | null; enforcement: "soft" | "hard"; capMultiplier?: number; leadSharePercent?: number };
}

export interface IngestApp {
  db: TestDatabase;
  env: Record<string, string>;
  qstash: Qstash;
  owner: Person;
  /** Bodies of the wake-ups that QStash delivered to the worker. */
  wakeUps: string[];
  newSite(settings?: SiteSettings): Promise<IngestSite>;
  /** What the tracker on a page of the site sends. */
  sync(site: IngestSite, body: unknown, headers?: Record<string, string>): Promise<Response>;
  call(site: IngestSite, body: unknown, signing?: Partial<Signing>): Promise<Response>;
  /** What the cron does each minute. */
  recover(): Promise<{ stored: number; calls: number; failed: number; folded: number; purged: number }>;
  stop(): Promise<void>;
}

interface Signing {
  ts: string;
  secret: string;
  /** What goes over the wire when it differs from what was signed. */
  sentBody: string;
  signature: string;
  /** Where it comes from; without it all calls come from one address. */
  address: string;
}

interface IngestAppOptions {
  redisRest?: { url: string; token: string };
  /** "asleep": wake-ups arrive and nothing happens, so that the test is the only worker. */
  worker?: "awake" | "asleep";
}

/** The gate and its worker on a database of their own, with a real QStash between the two. */
export async function startIngestApp({ redisRest, worker = "awake" }: IngestAppOptions = {}): Promise<IngestApp> {
  const db = await createTestDatabase();
  const wakeUps: string[] = [];
  const server = createServer(async (request, response) => {
    const body = (await readBody(request)).toString("utf8");
    wakeUps.push(body);
    if (worker === "asleep") return response.writeHead(200).end();
    const headers = new Headers(request.headers as Record<string, string>);
    const answer = await send(workerRoute, { path: request.url ?? "", body, headers: Object.fromEntries(headers) });
    response.writeHead(answer.status).end(await answer.text());
  });
  const workerOrigin = await listenLocal(server, "worker");
  const env = setAppEnv({ database: db, ...(redisRest && { redisRest }) });
  const qstash = await startQstash({
    retryBaseMs: 50,
    token: String(env.QSTASH_TOKEN),
    currentSigningKey: String(env.QSTASH_CURRENT_SIGNING_KEY),
    nextSigningKey: String(env.QSTASH_NEXT_SIGNING_KEY),
  });
  Object.assign(process.env, { APP_URL: workerOrigin, QSTASH_URL: qstash.url });
  const owner = await createPerson(db.sql, "owner@ingest.test");

  return {
    db,
    env,
    qstash,
    owner,
    wakeUps,
    newSite: (settings) => newSite(db, owner, settings),
    sync(site, body, headers = {}) {
      waitForRedis();
      return send(sync, { body, headers: pageHeaders(site, headers) });
    },
    call(site, body, signing) {
      waitForRedis();
      return send(callEvent, signedCall(site, body, signing));
    },
    async recover() {
      const response = await send(recoverCron, { method: "GET", headers: { authorization: `Bearer ${env.CRON_SECRET}` } });
      if (!response.ok) throw new Error(`The cron answered ${response.status}: ${await response.text()}`);
      return response.json();
    },
    async stop() {
      await qstash.stop();
      await closeServer(server);
      await db.drop();
    },
  };
}

let sitesMade = 0;

async function newSite(db: TestDatabase, owner: Person, settings: SiteSettings = {}) {
  const { consentMode, respectsPrivacySignal, plan, highCeilings, hasTelephone = true } = settings;
  const name = `shop-${++sitesMade}`;
  const { siteId, siteUuid } = await createSite(db.sql, owner, { name });
  await db.sql`
    update public.sites s set consent_mode = ${consentMode ?? "off"}, respects_privacy_signal = ${respectsPrivacySignal ?? false}
    where s.id = ${siteUuid}`;
  const callSecret = !hasTelephone ? "" : await makeCallSecret(db.sql, { siteId, siteUuid, owner });
  const site: IngestSite = { siteId, siteUuid, origin: `https://${name}.test`, callSecret };
  if (highCeilings) await setCeilings(db.sql, { siteId, owner });
  if (plan) {
    await db.sql`select public.set_site_plan(${siteId}, 'Test', ${plan.limit}, ${plan.enforcement}, 'TRY', ${plan.capMultiplier ?? null})`;
    await callAs(db.sql, owner, (tx) => tx`select public.set_lead_share(${siteId}, ${plan.leadSharePercent ?? 0})`);
  }
  return site;
}

/** Each test is a caller of its own to the rate limiter. */
function pageHeaders(site: IngestSite, headers: Record<string, string>): Record<string, string> {
  return { origin: site.origin, "user-agent": browser, "x-forwarded-for": randomUUID(), "content-type": "text/plain", ...headers };
}

function signedCall(site: IngestSite, body: unknown, signing: Partial<Signing> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const ts = signing.ts ?? String(Math.floor(Date.now() / 1000));
  const signature = signing.signature ?? sign(signing.secret ?? site.callSecret, ts, text);
  return {
    body: signing.sentBody ?? text,
    headers: {
      "x-ops-site-id": site.siteId,
      "x-ops-ts": ts,
      "x-ops-signature": signature,
      ...(signing.address && { "x-forwarded-for": signing.address }),
    },
  };
}

export function sign(secret: string, ts: string, body: string): string {
  return createHmac("sha256", secret).update(`${ts}.${body}`).digest("hex");
}

/** One event of the wire; every one is another unless told otherwise. */
export function pageView(site: IngestSite, change: Record<string, unknown> = {}): Record<string, unknown> {
  const id = randomUUID();
  return { s: site.siteId, u: `${site.origin}/${id}`, eid: id, ec: "interaction", ea: "view", meta: { fp: `visitor-${id}` }, ...change };
}

export function phoneCall(site: IngestSite, change: Record<string, unknown> = {}): Record<string, unknown> {
  return pageView(site, { ec: "conversion", ea: "phone_call", el: "tel:+902121112233", ...change });
}

export interface Figures {
  billed: number;
  captured: number;
  stored: number;
  calls: number;
}

/** What the database holds of a site. */
export async function figuresOf(db: TestDatabase, site: IngestSite): Promise<Figures> {
  const [row] = await db.sql<Figures[]>`
    select (select count(*)::int from public.ingest_idempotency where site_id = ${site.siteUuid}) as billed,
           (select count(*)::int from public.ingest_fallback_buffer where site_id = ${site.siteUuid} and not is_enrichment) as captured,
           (select count(*)::int from private.events where site_id = ${site.siteUuid}) as stored,
           (select count(*)::int from public.calls where site_id = ${site.siteUuid}) as calls`;
  if (!row) throw new Error("No figures.");
  return row;
}

/** The drops of a site by reason, folded or not. */
export async function dropsOf(db: TestDatabase, site: IngestSite): Promise<Record<string, number>> {
  const rows = await db.sql`
    select reason, sum(drops)::int as drops from (
      select site_id, reason, drops from public.ingest_drop_deltas union all select site_id, reason, drops from public.ingest_drops_daily) d
    where site_id = ${site.siteUuid} group by 1 order by 1`;
  return Object.fromEntries(rows.map((row) => [row.reason, row.drops]));
}
