import { createServer } from "node:http";
import { checkFields } from "#lib/providers/check-fields.ts";
import type { ConversionJob, ProviderConnection } from "#lib/providers/port.ts";
import { siteUuidShape } from "#lib/site.ts";
import { closeServer, listenLocal, readBody, sendJson } from "#scripts/local/process/local-server.ts";

interface ScriptedAnswer {
  status?: number;
  body?: unknown;
  /** The body as it is written, where its spelling matters. */
  text?: string;
  headers?: Record<string, string>;
  /** Ends the connection without an answer. */
  isCut?: boolean;
  /** Never answers. */
  isSilent?: boolean;
}

type Row = Record<string, unknown>;
interface SentBody {
  destinations?: Row[];
  events?: Row[];
  conversions?: Row[];
  conversionAdjustments?: Row[];
  jobId?: number;
  validateOnly?: boolean;
  query?: string;
}

export interface SentRequest {
  path: string;
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  body: SentBody;
  text: string;
}

type Reply = ScriptedAnswer | ((request: SentRequest) => ScriptedAnswer | Promise<ScriptedAnswer>);

export interface ScriptedGoogle {
  url: string;
  requests: SentRequest[];
  /** The next calls whose path ends so get these answers, in this order; the last one stays. */
  answer(pathEnd: string, ...replies: Reply[]): void;
  /** Requests of one kind. */
  sent(pathEnd: string): SentRequest[];
  stop(): Promise<void>;
}

/** What each request must be, by Google's published definitions. */
const messageOf: Record<string, string> = {
  "events:ingest": "datamanager.IngestEventsRequest",
  ":uploadClickConversions": "googleads.services.UploadClickConversionsRequest",
  ":uploadConversionAdjustments": "googleads.services.UploadConversionAdjustmentsRequest",
  "googleAds:search": "googleads.services.SearchGoogleAdsRequest",
};

const bothScopes = "https://www.googleapis.com/auth/adwords https://www.googleapis.com/auth/datamanager";

/**
 * A server that answers as a test scripts it, for shapes that Google's simulator never gives. It gives out access tokens, and a request that is
 * not as Google defines it is answered 500 with the problem.
 */
export async function startScriptedGoogle(): Promise<ScriptedGoogle> {
  const requests: SentRequest[] = [];
  const scripts = new Map<string, Reply[]>();
  let tokens = 0;
  scripts.set("oauth2/token", [
    () => ({ body: { access_token: `ya29.token-${++tokens}`, expires_in: 3599, scope: bothScopes, token_type: "Bearer" } }),
  ]);
  const server = createServer(async (incoming, response) => {
    const url = new URL(incoming.url ?? "", "http://google");
    const text = (await readBody(incoming)).toString("utf8");
    const body = text.startsWith("{") ? JSON.parse(text) : {};
    const request = { path: url.pathname, query: url.searchParams, headers: incoming.headers, body, text };
    requests.push(request);
    const message = Object.entries(messageOf).find(([end]) => url.pathname.endsWith(end))?.[1];
    const problems = message ? checkFields(message, body) : [];
    if (problems.length > 0) return sendJson(response, 500, { problems });
    const replies = [...scripts].find(([end]) => url.pathname.endsWith(end))?.[1] ?? [];
    const reply = (replies.length > 1 ? replies.shift() : replies[0]) ?? { status: 404 };
    const scripted = typeof reply === "function" ? await reply(request) : reply;
    const { status = 200, body: answer = {}, text: written, headers = {}, isCut, isSilent } = scripted;
    if (isSilent) return;
    if (isCut) return incoming.socket.destroy();
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (written !== undefined) return response.writeHead(status, { "content-type": "application/json" }).end(written);
    sendJson(response, status, answer);
  });
  const url = await listenLocal(server, "scripted Google");
  return {
    url,
    requests,
    answer: (pathEnd, ...replies) => void scripts.set(pathEnd, [...replies]),
    sent: (pathEnd) => requests.filter(({ path }) => path.endsWith(pathEnd)),
    stop: () => closeServer(server),
  };
}

/** Points the providers, as imported by this test file, at a server. Call before anything reads the environment. */
export function useGoogleEnv(url: string): void {
  Object.assign(process.env, {
    APP_URL: "https://app.opsmantik.test",
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    SUPABASE_URL: "http://127.0.0.1:1",
    SUPABASE_PUBLISHABLE_KEY: "sb_publishable_of-tests",
    UPSTASH_REDIS_REST_URL: "http://127.0.0.1:1",
    UPSTASH_REDIS_REST_TOKEN: "token-of-tests-0123",
    QSTASH_TOKEN: "qstash-token-of-tests",
    QSTASH_CURRENT_SIGNING_KEY: "sig_current-of-tests",
    QSTASH_NEXT_SIGNING_KEY: "sig_next-of-tests",
    CRON_SECRET: "cron-secret-of-tests",
    OCI_SESSION_SECRET: "session-secret-of-tests-0123456789",
    GOOGLE_API_BASE_URL: url,
  });
}

export const secrets = {
  client_secret: "GOCSPX-client-secret",
  refresh_token: "1//refresh-token",
  developer_token: "developer-token-secret",
};

let sites = 0;

/** A connection of a site of its own, so that no test finds another's access token. */
export function connectionOf(
  given: Partial<ProviderConnection> = {},
  more: Partial<ProviderConnection["credentials"]> = {},
): ProviderConnection {
  return {
    siteUuid: siteUuidShape.parse(`0190b5a8-0000-7000-8000-${String(++sites).padStart(12, "0")}`),
    version: 1,
    fetchTimeoutMs: 2_000,
    ...given,
    credentials: {
      customer_id: "1234567890",
      client_id: "client.apps.googleusercontent.com",
      client_secret: secrets.client_secret,
      refresh_token: secrets.refresh_token,
      conversion_action_resource_name: "customers/1234567890/conversionActions/1005",
      transport: "data_manager",
      ...more,
    },
  };
}

/** A conversion of a phone lead with a click; each has an id of its own. */
export function jobOf(number: number, given: Partial<ConversionJob> = {}): ConversionJob {
  return {
    id: `row-${number}`,
    kind: "CONVERSION",
    via: "data_manager",
    orderId: `seal_${String(number).padStart(8, "0")}`,
    conversionAction: "customers/1234567890/conversionActions/1005",
    conversionTime: "2026-11-16T11:03:22.500Z",
    timezone: "Europe/Istanbul",
    valueCents: 150_050,
    currency: "TRY",
    gclid: `Cj0KCQ_click_${number}`,
    gbraid: null,
    wbraid: null,
    phoneHash: null,
    emailHash: null,
    channel: "phone",
    consent: null,
    mayHaveArrived: false,
    ...given,
  };
}
