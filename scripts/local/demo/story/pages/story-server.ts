import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { chooseLocale, type Locale, localeCookie, parseLocale } from "#lib/i18n/locale.ts";
import { parseTheme, type Theme, themeCookie } from "#lib/i18n/theme.ts";
import { closeServer, listenLocal, sendJson } from "../../../process/local-server.ts";
import { type TroubleName, troubleNames } from "../others/troubles.ts";
import { type Way, ways } from "../story-notes.ts";
import { brandIcon, readFont, storyCss } from "./page-frame.ts";
import { shopPaths } from "./shop-page.ts";
import { liveParts, type StoryView, storyPage } from "./story-page.ts";

/** What the pages can do. */
export interface StoryDeeds {
  view(way: Way, reader: { locale: Locale; theme: Theme }): Promise<StoryView>;
  shop(way: Way, reader: { locale: Locale; theme: Theme }): string;
  books(reader: { locale: Locale; theme: Theme }, orderId: string): Promise<string>;
  runScript(): Promise<void>;
  switchLeads(isOn: boolean): void;
  startAgain(way: Way): void;
  playTrouble(name: TroubleName): void;
  /** Cookies that sign the reader in, unless these do. */
  signIn(cookies: { name: string; value: string }[]): Promise<string[]>;
}

interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  way: Way;
  cookies: Map<string, string>;
}

const yearSeconds = 31_536_000;

/** The demo's own pages. They listen on this machine only, beside the product and outside of it: a deployment has none of this. */
export async function startStoryServer(
  deeds: StoryDeeds,
  { port, baseUrl }: { port: number; baseUrl: string },
): Promise<{ stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", `http://localhost:${port}`);
    const asked = { request, response, url, way: wayOf(url), cookies: cookiesOf(request) };
    answer(deeds, baseUrl, asked).catch((error: unknown) =>
      sendText(response, 500, error instanceof Error ? error.message : String(error)),
    );
  });
  await listenLocal(server, "The story", port);
  return { stop: () => closeServer(server) };
}

async function answer(deeds: StoryDeeds, baseUrl: string, asked: Asked): Promise<void> {
  const { request, response, url } = asked;
  if (request.method === "POST") return answerDeed(deeds, asked);
  const reader = readerOf(asked);
  switch (url.pathname) {
    case "/":
      if (parseLocale(url.searchParams.get("lang")))
        response.setHeader("set-cookie", `${localeCookie}=${reader.locale}; Path=/; Max-Age=${yearSeconds}`);
      return sendPage(response, storyPage(await deeds.view(asked.way, reader)));
    case "/live":
      return sendJson(response, 200, liveParts(await deeds.view(asked.way, reader)));
    case shopPaths.script:
      return sendPage(response, deeds.shop("script", reader));
    case shopPaths.api:
      return sendPage(response, deeds.shop("api", reader));
    case "/google":
      return sendPage(response, await deeds.books(reader, url.searchParams.get("order") ?? ""));
    case "/enter": {
      const to = url.searchParams.get("to") ?? "";
      const given = [...asked.cookies].map(([name, value]) => ({ name, value }));
      response.setHeader("set-cookie", await deeds.signIn(given));
      return redirect(response, 302, new URL(/^\/[\w?]/.test(to) ? to : "/dashboard", baseUrl).href);
    }
    case "/story.css":
      return void response.writeHead(200, { "content-type": "text/css", "cache-control": "no-cache" }).end(storyCss);
    case "/icon.svg":
      return void response.writeHead(200, { "content-type": "image/svg+xml" }).end(brandIcon);
    default: {
      const font = readFont(url.pathname);
      if (font) return void response.writeHead(200, { "content-type": "font/woff2", "cache-control": "max-age=86400" }).end(font);
      return sendText(response, 404, "Not found");
    }
  }
}

async function answerDeed(deeds: StoryDeeds, { request, response, url, way }: Asked): Promise<void> {
  // Another page in this browser must not press the buttons.
  if (request.headers["sec-fetch-site"] !== "same-origin" && request.headers.origin !== url.origin)
    return sendText(response, 403, "Forbidden");
  switch (url.pathname) {
    case "/script":
      await deeds.runScript();
      break;
    case "/leads":
      deeds.switchLeads(url.searchParams.get("on") === "1");
      break;
    case "/again":
      deeds.startAgain(way);
      break;
    case "/troubles": {
      const name = troubleNames.find((one) => one === url.searchParams.get("name"));
      if (name) deeds.playTrouble(name);
    }
  }
  // Where the reader was: a button may stand on the page of either way.
  const from = request.headers.referer ? wayOf(new URL(request.headers.referer)) : way;
  redirect(response, 303, `/?by=${url.pathname === "/again" ? way : from}`);
}

function wayOf(url: URL): Way {
  return ways.find((way) => way === url.searchParams.get("by")) ?? "script";
}

/** Language and theme as they were chosen in the product: cookies do not know ports. */
function readerOf({ request, url, cookies }: Asked): { locale: Locale; theme: Theme } {
  const asked = parseLocale(url.searchParams.get("lang"));
  return {
    locale: asked ?? chooseLocale(cookies.get(localeCookie), request.headers["accept-language"] ?? null),
    theme: parseTheme(cookies.get(themeCookie)),
  };
}

function cookiesOf({ headers }: IncomingMessage): Map<string, string> {
  const pairs = (headers.cookie ?? "").split("; ").filter((pair) => pair.includes("="));
  return new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), decodeURIComponent(pair.slice(pair.indexOf("=") + 1))]));
}

function redirect(response: ServerResponse, status: 302 | 303, to: string): void {
  response.writeHead(status, { location: to, "cache-control": "no-store" }).end();
}

function sendPage(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" }).end(text);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
}
