import { demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { startGoogle } from "#scripts/local/google/google.ts";
import type { CallRecord, Conversion, Settings } from "#scripts/local/google/sim-shapes.ts";

export type ShownConversion = Omit<Conversion, "conversionTime" | "restatedAt"> & {
  key: string;
  conversionTime: string;
  restatedAt: string | null;
};

export interface GoogleAnswer {
  status: number;
  headers: Headers;
  // Google's answers differ by call; a test says which fields it expects.
  // biome-ignore lint/suspicious/noExplicitAny: read by matchers
  body: any;
}

/** A simulator's address with what tests ask of it. */
export class GoogleClient {
  readonly url: string;
  constructor(url: string) {
    this.url = url;
  }

  async send(path: string, { method = "POST", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: unknown }) {
    const text =
      body instanceof URLSearchParams ? body : body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${this.url}${path}`, { method, headers, body: text, redirect: "manual" });
    const answer = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(answer) : answer } satisfies GoogleAnswer;
  }

  /** The admin API; fails the test when a call is refused. */
  async admin(method: "GET" | "POST" | "DELETE", path: string, body?: unknown) {
    const answer = await this.send(`/__sim${path}`, { method, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  advance(seconds: number): Promise<unknown> {
    return this.admin("POST", "/clock", { advanceSeconds: seconds });
  }

  addFault(fault: object): Promise<unknown> {
    return this.admin("POST", "/faults", fault);
  }

  putAccount(account: object): Promise<unknown> {
    return this.admin("POST", "/accounts", { customerId: demoCustomerId, ...account });
  }

  async conversions(): Promise<ShownConversion[]> {
    return (await this.admin("GET", "/state")).conversions;
  }

  async log(after = 0): Promise<CallRecord[]> {
    return (await this.admin("GET", `/log?after=${after}`)).calls;
  }

  async token(refreshToken = demoRefreshToken): Promise<string> {
    const body = new URLSearchParams({
      client_id: demoClient.clientId,
      client_secret: demoClient.clientSecret,
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    });
    return (await this.send("/oauth2/token", { body })).body.access_token;
  }

  async authorized(path: string, options: { method?: string; headers?: Record<string, string>; body?: unknown; token?: string }) {
    const token = options.token ?? (await this.token());
    return this.send(path, {
      ...options,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...options.headers },
    });
  }

  ingest(body: unknown, token?: string): Promise<GoogleAnswer> {
    return this.authorized("/datamanager/v1/events:ingest", { body, ...(token && { token }) });
  }

  requestStatus(requestId: string): Promise<GoogleAnswer> {
    return this.authorized(`/datamanager/v1/requestStatus:retrieve?requestId=${requestId}`, { method: "GET" });
  }

  adsApi(path: string, body: unknown, headers: Record<string, string> = {}): Promise<GoogleAnswer> {
    return this.authorized(`/googleads/v26/customers/${path}`, { body, headers });
  }
}

/** A simulator in this process, as strict as Google and with Google's own waits unless told otherwise. */
export async function startTestGoogle(options: { settings?: Partial<Settings>; clock?: () => number; stateDir?: string } = {}) {
  const google = await startGoogle(options);
  return Object.assign(new GoogleClient(google.url), { stop: google.stop });
}
