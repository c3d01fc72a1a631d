import { afterEach, beforeEach, expect } from "vitest";
import { AdsAccount, type AdsRun } from "#tests/fixtures/ads-script/ads-account.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "./fault-proxy.ts";

export type ClickKind = "gclid" | "wbraid" | "gbraid";
export interface DeliveryState {
  status: "QUEUED" | "PROCESSING" | "RETRY" | "COMPLETED" | "FAILED";
  code?: string;
  category?: string;
}

/** What the script talks to. Click ids of conversions start with `gclid-` if they are one, and with `0AAAA-` if not. */
export interface ScriptServer {
  url: string;
  siteId: string;
  apiKey: string;
  /** How many conversions one export hands out. */
  pageSize: number;
  /** Conversions that are due, by the ids that an export gives them. */
  enqueue(count: number, click?: ClickKind): Promise<string[]>;
  statesOf(ids: string[]): Promise<DeliveryState[]>;
  /** What time does: conversions whose claim ran out can be claimed again. */
  recover(): Promise<void>;
  stop(): Promise<void>;
}

export type OpenScriptServer = () => Promise<ScriptServer>;
export type ExportedRow = Record<string, unknown>;

export const verifyPath = "/api/oci/v2/verify";
export const exportPath = "/api/oci/google-ads-export";
export const ackPath = "/api/oci/ack";
export const failedPath = "/api/oci/ack-failed";

/** For each test a server, a proxy in front of it in which things can go wrong, and an account that has the script. */
export class ScriptBench {
  server!: ScriptServer; // set before each test
  proxy!: FaultProxy; // set before each test
  account!: AdsAccount; // set before each test

  constructor(openServer: OpenScriptServer) {
    beforeEach(async () => {
      this.server = await openServer();
      this.proxy = await startFaultProxy(() => this.server.url);
      this.account = new AdsAccount({
        OPSMANTIK_SITE_ID: this.server.siteId,
        OPSMANTIK_API_KEY: this.server.apiKey,
        OPSMANTIK_BASE_URL: `${this.proxy.url}/`,
      });
    });
    afterEach(async () => {
      await this.proxy.stop();
      await this.server.stop();
    });
  }

  /** What the script asked for, in order. */
  get paths(): string[] {
    return this.proxy.requests.map((request) => request.path);
  }

  sentTo(path: string) {
    return this.proxy.requests.filter((request) => request.path === path);
  }

  faultAt(path: string, does: Fault["does"], rest: Partial<Fault> = {}): void {
    this.proxy.faults.push({ path, does, ...rest });
  }

  /** Changes the rows of every export on their way to the script. */
  tamper(change: (row: ExportedRow, index: number) => ExportedRow | null): void {
    this.faultAt(exportPath, { tamper: (body) => (body as ExportedRow[]).map(change) }); // an export is a list
  }

  /** The different states that these conversions are in, sorted. */
  async statuses(ids: string[]): Promise<string[]> {
    return [...new Set((await this.server.statesOf(ids)).map((state) => state.status))].toSorted();
  }

  /** How many conversions Google counts. */
  get booked(): number {
    return this.account.conversions.size;
  }

  /** A log is read by everybody with access to the account. */
  expectNoSecretIn(run: AdsRun): void {
    const text = run.logs.join("\n") + run.error;
    const tokens = this.proxy.requests.flatMap(({ headers }) => headers.authorization?.slice("Bearer ".length) ?? []);
    for (const secret of [this.server.apiKey, "gclid-", "0AAAA-", ...tokens]) expect(text).not.toContain(secret);
  }
}
