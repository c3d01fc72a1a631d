/** The demo's story: a page that leads a stranger from an ad click to a conversion that Google counted, on live data. */
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { installSnippet } from "#lib/ingest/install-snippet.ts";
import type { SiteId } from "#lib/site.ts";
import { deliverySettings, sendAtOnce } from "#tests/fixtures/site.ts";
import { demoCustomerId } from "../../google/accounts.ts";
import type { StopList } from "../../process/stop-list.ts";
import { signInAsOwner } from "../connect-as-owner.ts";
import type { DemoFile } from "../demo-file.ts";
import { LeadStream } from "./others/lead-stream.ts";
import { OutsideWorld } from "./others/outside-world.ts";
import { ScriptRunner } from "./others/script-runner.ts";
import { Troubles } from "./others/troubles.ts";
import { booksPage } from "./pages/books-page.ts";
import { shopPage, shopUrl } from "./pages/shop-page.ts";
import { tellStops } from "./pages/stops.ts";
import type { TroubleNow } from "./pages/story-page.ts";
import { startStoryServer } from "./pages/story-server.ts";
import { signedInCookies } from "./sign-in.ts";
import { StoryNotes, type Way } from "./story-notes.ts";
import { readBooks, traceLead } from "./trace-lead.ts";

interface StoryOptions {
  demo: DemoFile;
  stateDir: string;
  port: number;
  /** Without them only the reader's own deeds happen: for tests. */
  hasOthers?: boolean;
  /** The Google account that the script runs in. */
  scriptAccount?: string;
}

const newClick = () => `Cj0KCQ${randomBytes(13).toString("hex")}`;

/** Starts the pages, the script's schedule, the leads and what goes wrong. Resolves when the first page answers. */
export async function startStory(
  { demo, stateDir, port, hasOthers = true, scriptAccount = demoCustomerId }: StoryOptions,
  stopList: StopList,
): Promise<string> {
  const url = `http://localhost:${port}`;
  const { baseUrl, googleUrl } = demo;
  const sql = postgres(demo.adminDatabaseUrl, { max: 2, onnotice: () => {} });
  stopList.add(() => sql.end({ timeout: 1 }));
  const stopping = new AbortController();
  stopList.add(async () => stopping.abort());
  const notes = new StoryNotes(stateDir, newClick);
  const owner = demo.users.find(({ role }) => role === "owner");
  const [ownerRow] = await sql`select id from auth.users where email = ${owner?.email ?? ""}`;
  const ownerId = String(ownerRow?.id);

  const sites = demo.sites.map((site) => ({ ...site, way: site.syncMethod }));
  const siteOf = (way: Way) => {
    const site = sites.find((one) => one.way === way);
    if (!site) throw new Error(`The demo has no site that sends by ${way}.`);
    return site;
  };
  if (!notes.now.isQuick) {
    await deliverySettings(sql, { siteId: siteOf("script").siteId, owner: { id: ownerId } }, sendAtOnce);
    notes.change({ isQuick: true });
  }

  const world = new OutsideWorld(baseUrl, sql, stopping.signal);
  const script = new ScriptRunner(demo, scriptAccount);
  stopList.add(() => script.stop());
  const stream = new LeadStream(world, [siteOf("script"), siteOf("api")], notes);
  stopList.add(async () => stream.stop());
  const auth = { supabaseUrl: demo.supabaseUrl, publishableKey: demo.supabasePublishableKey };
  const db = await signInAsOwner(auth, demo);
  const troubles = new Troubles({ sql, googleUrl, notes, owner: { id: ownerId, db } }, world);

  const server = await startStoryServer(
    {
      async view(way, reader) {
        const { siteId } = siteOf(way);
        const gclid = notes.now.clicks[way];
        const siteNames = await readSites(sql);
        const facts = {
          way,
          siteId,
          gclid,
          timeZone: siteNames.get(siteId)?.timeZone ?? "UTC",
          shopUrl: shopUrl(url, way, gclid),
          trace: await traceLead(sql, googleUrl, { siteId, gclid }),
        };
        return {
          ...reader,
          ...demo,
          way,
          stops: tellStops(reader.locale, facts),
          shops: { script: siteNames.get(siteOf("script").siteId)?.name ?? "", api: siteNames.get(siteOf("api").siteId)?.name ?? "" },
          siteNames,
          timeZone: facts.timeZone,
          isStreaming: notes.now.leadsOn,
          happenings: stream.happenings,
          troubles: await readTroubles(sql, troubles),
        };
      },
      shop: (way, reader) => shopPage({ way, ...reader, snippet: installSnippet({ appUrl: baseUrl, siteId: siteOf(way).siteId }) }),
      books: async (reader, orderId) => booksPage({ ...reader, conversions: await readBooks(googleUrl), orderId }),
      runScript: () => script.run(),
      switchLeads: (isOn) => stream.switch(isOn),
      startAgain: (way) => notes.change({ clicks: { ...notes.now.clicks, [way]: newClick() } }),
      playTrouble: (name) => void troubles.play(name),
      signIn: (cookies) => signedInCookies(cookies, { email: owner?.email ?? "", password: owner?.password ?? "" }),
    },
    { port, baseUrl },
  );
  stopList.add(server.stop);
  if (hasOthers) {
    stream.start();
    void troubles.playAll();
  }
  return url;
}

async function readSites(sql: postgres.Sql): Promise<Map<string, { name: string; currency: string; timeZone: string }>> {
  const rows = await sql<{ siteId: SiteId; name: string; currency: string; timeZone: string }[]>`
    select public_id as "siteId", name, currency, timezone as "timeZone" from public.sites`;
  return new Map(rows.map(({ siteId, ...site }) => [siteId, site]));
}

/** Where each trouble stands now. */
async function readTroubles(sql: postgres.Sql, { played }: Troubles): Promise<Record<string, TroubleNow>> {
  const clicks = Object.values(played).map(({ gclid }) => gclid);
  const rows = await sql`
    select s.gclid, q.id, case when q.provider_error_category = 'AUTH' then 'BLOCKED' else q.status end as status, d.verdict
    from public.sales s join public.offline_conversion_queue q on q.sale_id = s.id
    left join public.provider_dispatches d on d.queue_id = q.id where s.gclid = any (${clicks}) order by q.created_at`;
  return Object.fromEntries(
    Object.entries(played).map(([name, { siteId, gclid }]) => {
      const row = rows.findLast((one) => one.gclid === gclid);
      return [name, { siteId, rowId: row?.id ?? null, status: row?.status ?? null, verdict: row?.verdict ?? null }];
    }),
  );
}
