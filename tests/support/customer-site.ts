import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { devices, type Page } from "@playwright/test";
import postgres from "postgres";
import { installSnippet } from "#lib/ingest/install-snippet.ts";
import type { ExportItem } from "#lib/oci/handout/items.ts";
import type { SiteId } from "#lib/site.ts";
import { closeServer, listenLocal } from "#scripts/local/process/local-server.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createKey, createSite } from "#tests/fixtures/site.ts";
import { test as base, expect } from "./e2e-test.ts";

interface Held {
  billed: number;
  captured: number;
  sessions: number;
  events: number;
  calls: number;
}

/** A customer of the running stack, of whom no other test knows: a site of their own, and its pages. */
interface Customer {
  url: string;
  siteId: SiteId;
  /** What the site's settings and its snippet say. To be called before a page is opened. */
  requireConsent(): Promise<void>;
  /** Puts another line into the site's pages. */
  install(snippet: string): void;
  /** What the site's script does: fetches all that waits, and says that Google has it. */
  deliver(): Promise<ExportItem[]>;
  /** A page of a visitor in a browser of their own, whose telephone link leads nowhere. */
  visit(path: string): Promise<Page>;
  /** How many rows the database holds of this site. */
  held(): Promise<Held>;
  calls(): Promise<{ gclid: string | null; phone: string | null; intentStamp: string; billedRows: number }[]>;
}

export const test = base.extend<{ customer: Customer }>({
  customer: async ({ stack, browser }, use) => {
    const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
    const [owner] = await sql`select id from auth.users where email = ${stack.users.find(({ role }) => role === "owner")?.email ?? ""}`;
    const asOwner = { id: String(owner?.id) };
    const name = `Customer ${randomUUID()}`;
    const { siteId, siteUuid } = await createSite(sql, asOwner, { name, domains: ["localhost"] });

    let snippet = installSnippet({ appUrl: stack.baseUrl, siteId });
    const server = createServer((_request, response) =>
      response.setHeader("content-type", "text/html").end(
        `<!doctype html><html lang="en"><head><title>Kombi</title>${snippet}</head><body><a href="tel:+902165550101">Call us</a>
         <script>document.querySelector("a").addEventListener("click", (event) => event.preventDefault())</script></body></html>`,
      ),
    );
    const url = (await listenLocal(server, "customer's page")).replace("127.0.0.1", "localhost");

    await use({
      url,
      siteId,
      async requireConsent() {
        await callAs(sql, asOwner, (tx) => tx`select public.set_site_privacy(${siteId}, 'required', false)`);
        snippet = installSnippet({ appUrl: stack.baseUrl, siteId, consent: "required" });
      },
      install(line) {
        snippet = line;
      },
      async deliver() {
        const { key } = await createKey(sql, { siteId, owner: asOwner }, ["script"], { name: randomUUID() });
        const call = async (path: string, headers: Record<string, string>, body?: unknown) => {
          const sent = body ? { method: "POST", body: JSON.stringify(body) } : {};
          return (await fetch(stack.baseUrl + path, { ...sent, headers: { "content-type": "application/json", ...headers } })).json();
        };
        const { session_token } = await call("/api/oci/v2/verify", { "x-api-key": key }, { siteId });
        const session = { authorization: `Bearer ${session_token}` };
        const items: ExportItem[] = await call(`/api/oci/google-ads-export?siteId=${siteId}&markAsExported=true`, session);
        const queueIds = items.map(({ id }) => id);
        if (queueIds.length > 0)
          expect(await call("/api/oci/ack", session, { siteId, queueIds })).toEqual({ ok: true, updated: queueIds.length });
        return items;
      },
      async visit(path) {
        // Without saying so, a headless browser is taken for the robot that it is.
        const context = await browser.newContext({ userAgent: devices["Desktop Chrome"].userAgent });
        const page = await context.newPage();
        await page.goto(url + path);
        return page;
      },
      async held() {
        const [row] = await sql<Held[]>`
          select (select count(*)::int from public.ingest_idempotency where site_id = ${siteUuid}) as billed,
                 (select count(*)::int from public.ingest_fallback_buffer where site_id = ${siteUuid}) as captured,
                 (select count(*)::int from public.sessions where site_id = ${siteUuid}) as sessions,
                 (select count(*)::int from private.events where site_id = ${siteUuid}) as events,
                 (select count(*)::int from public.calls where site_id = ${siteUuid}) as calls`;
        if (!row) throw new Error("No figures.");
        return { ...row };
      },
      async calls() {
        return [
          ...(await sql<{ gclid: string | null; phone: string | null; intentStamp: string; billedRows: number }[]>`
            select c.gclid, c.phone, c.intent_stamp as "intentStamp",
              (select count(*)::int from public.ingest_idempotency i where i.site_id = c.site_id and i.eid = c.intent_stamp) as "billedRows"
            from public.calls c where c.site_id = ${siteUuid} order by c.called_at`),
        ];
      },
    });
    await closeServer(server);
    await callAs(sql, asOwner, (tx) => tx`select public.set_site_archived(${siteId}, true)`); // other tests look at the owner's sites
    await sql.end();
  },
});

export { expect };
