import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { test as base, expect, type Page } from "@playwright/test";
import { installSnippet } from "#lib/ingest/install-snippet.ts";
import { tracker } from "#lib/ingest/tracker.gen.ts";
import type { SiteId } from "#lib/site.ts";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";

interface SentEvent {
  eid: string;
  t: number;
  sid: string;
  u: string;
  r: string;
  ec: string;
  ea: string;
  el: string;
  ev: number | null;
  meta: Record<string, string | number | undefined>;
  consent_scopes?: string[];
}

interface Delivery {
  body: string;
  headers: IncomingHttpHeaders;
  s: string;
  v: number;
  events: SentEvent[];
}

/** What the visitor decided: a message of its own, without events. */
interface SentChoice {
  s: string;
  v: number;
  fp: string;
  consent_scopes: string[];
  t: number;
  u: string;
}

interface Answer {
  status: number;
  headers?: OutgoingHttpHeaders;
  /** What the gate says of each event, in order. */
  results?: string[];
}

/** A customer's site on one origin, and on another the tracker with a server that remembers what it was sent. */
export interface TrackedSite {
  url: string;
  siteId: SiteId;
  /** What the snippet on the pages says beside the site. */
  options: { consent?: "required"; dnt?: "respect"; views?: "on"; twice?: boolean };
  deliveries: Delivery[];
  choices: SentChoice[];
  /** Which of the two each request was, in order. */
  order: ("choice" | "events")[];
  /** Bodies of the requests to /api/track/pv. */
  views: Record<string, unknown>[];
  /** Methods and paths of everything else that reached the tracker's server. */
  others: string[];
  /** What the next deliveries are answered; the last one stays. */
  answers: (Answer | Promise<Answer>)[];
  /** The same for choices. */
  choiceAnswers: (Answer | Promise<Answer>)[];
  events(action?: string): SentEvent[];
  /** Everything recorded so far, in order: it waits for an event recorded last, behind which the queue holds nothing. */
  settled(page: Page): Promise<SentEvent[]>;
  /** Returns when a request made later than any of the page's own has arrived. */
  barrier(page: Page): Promise<void>;
}

/** What pages of the tests call. */
type Om = ((command: string, ...args: unknown[]) => unknown) & {
  consent(scopes: string[]): void;
  stamp(): string | undefined;
  q?: unknown[];
};

declare global {
  var om: Om;
}

const siteId = "0123456789abcdef0123456789abcdef" as SiteId;

const content = `
  <a id="tel" href="tel:+905321234107"><b>Call us</b></a>
  <a id="wa-me" href="https://wa.me/905321234107?text=hello">WhatsApp</a>
  <a id="wa-api" href="https://api.whatsapp.com/send?phone=905321234107&text=hello">WhatsApp</a>
  <a id="wa-scheme" href="whatsapp://send?phone=905321234107&text=hello">WhatsApp</a>
  <a id="plain" href="https://www.whatsapp.com/">About WhatsApp</a>
  <form id="quote" method="post" action="/thanks"><input name="id" value="secret-id"><input name="name" value="secret-name"><button>Ask</button></form>
  <form name="contact" method="post" action="/thanks"><input name="phone" value="secret-phone"><button>Send</button></form>
  <form role="search" method="post" action="/thanks"><input name="q"><button>Find</button></form>
  <form method="post" action="/thanks"><input type="search" name="q"><button>Look</button></form>
  <form data-om-ignore method="post" action="/thanks"><input name="q"><button>Ignored</button></form>
  ${"<p>Text.</p>".repeat(200)}`;

async function startTrackedSite(): Promise<TrackedSite & { stop(): Promise<void> }> {
  const site: TrackedSite = {
    url: "",
    siteId,
    options: {},
    deliveries: [],
    choices: [],
    order: [],
    views: [],
    others: [],
    answers: [{ status: 200 }],
    choiceAnswers: [{ status: 200 }],
    events: (action) => site.deliveries.flatMap(({ events }) => events).filter(({ ea }) => !action || ea === action),
    settled: async (page) => {
      const last = `settled-${site.events().length}`;
      await page.evaluate((name) => om("event", name), last);
      await expect.poll(() => site.events(last).length).toBeGreaterThan(0);
      return site.events().filter(({ ea }) => !ea.startsWith("settled-"));
    },
    barrier: async (page) => {
      await page.evaluate(async (url) => void (await fetch(url)), `${trackerUrl}/barrier`);
    },
  };

  const trackerServer = createServer(async (request, response) => {
    const cors = {
      "access-control-allow-origin": request.headers.origin ?? "*",
      "access-control-expose-headers": "retry-after",
    };
    if (request.method === "GET" && request.url === tracker.path) {
      response.writeHead(200, { ...cors, "content-type": "text/javascript" }).end(readFileSync(`public${tracker.path}`));
    } else if (request.method === "POST" && request.url === "/api/sync") {
      const body = (await readBody(request)).toString("utf8");
      const sent = JSON.parse(body);
      site.order.push(sent.events ? "events" : "choice");
      if (sent.events) site.deliveries.push({ body, headers: request.headers, ...sent });
      else site.choices.push(sent);
      const answers = sent.events ? site.answers : site.choiceAnswers;
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      const { status, headers, results } = (await answer) ?? { status: 200 };
      response.writeHead(status, { ...cors, ...headers }).end(results && JSON.stringify({ results }));
    } else if (request.method === "POST" && request.url === "/api/track/pv") {
      site.views.push(JSON.parse((await readBody(request)).toString("utf8")));
      response.writeHead(200, cors).end('{"ok":true}');
    } else {
      site.others.push(`${request.method} ${request.url}`);
      response.writeHead(request.url === "/barrier" ? 204 : 404, cors).end();
    }
  });
  const trackerUrl = await listenLocal(trackerServer, "tracker server");

  const pageServer = createServer((request, response) => {
    const { twice, ...options } = site.options;
    const snippet = installSnippet({ appUrl: trackerUrl, siteId, ...options });
    response
      .writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": `default-src 'none'; script-src ${trackerUrl}; connect-src ${trackerUrl}; form-action 'self'; base-uri 'none'; require-trusted-types-for 'script'`,
      })
      .end(
        `<!doctype html><html lang="en"><head><title>Page ${request.url?.split("?")[0]}</title>${snippet}${twice ? snippet : ""}</head><body>${content}`,
      );
  });
  site.url = await listenLocal(pageServer, "page server");

  return Object.assign(site, {
    stop: async () => {
      await closeServer(pageServer);
      await closeServer(trackerServer);
    },
  });
}

/** Each test has a site of its own, and whatever it tries, the page's console stays clean and no preflight is made. */
export const test = base.extend<{ site: TrackedSite }>({
  site: async ({ context }, use) => {
    const site = await startTrackedSite();
    const complaints: string[] = [];
    context.on("weberror", (error) => complaints.push(String(error.error())));
    context.on("console", (message) => {
      // The browser's own note on an answer that a test asked for.
      if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Failed to load resource"))
        complaints.push(message.text());
    });
    await use(site);
    await site.stop();
    expect(complaints).toEqual([]);
    expect(site.others.filter((request) => request !== "GET /barrier")).toEqual([]);
  },
});

export { expect };

/** What the tracker keeps in this browser, or null. */
export function storedBy(page: Page): Promise<Record<string, unknown> | null> {
  return page.evaluate((key) => JSON.parse(localStorage.getItem(key) ?? "null"), `om_${siteId}`);
}

/** The links of the page lead nowhere, so that a test can go on after a click. */
export async function holdLinks(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const type of ["click", "auxclick"]) document.addEventListener(type, (event) => event.preventDefault());
  });
}
