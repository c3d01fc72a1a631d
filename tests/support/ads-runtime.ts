import { readFileSync } from "node:fs";
import { MessageChannel, Worker } from "node:worker_threads";
import type { AdsEvent, AdsExecution, CsvFile, FetchAnswer, FetchRequest, PropertyRequest } from "./ads-services.ts";

const scriptFile = new URL("../../scripts/google-ads-oci/GoogleAdsScript.js", import.meta.url);

type Row = CsvFile["rows"][number];
const clickColumns = ["Google Click ID", "WBRAID", "GBRAID"];
const knownColumns = [...clickColumns, "Order ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"];

export interface AdsRun {
  /** What main() threw; null when it came to its end. A run that Google ended has neither. */
  error: string | null;
  isEnded: boolean;
  logs: string[];
  sleepsMs: number[];
  files: CsvFile[];
}

/** A Google Ads account: what its scripts remember and what Google made of their uploads, from run to run. */
export class AdsAccount {
  readonly properties: Record<string, string>;
  readonly timeZone: string;
  /** Counted conversions by order id. */
  readonly conversions = new Map<string, Row>();
  readonly duplicates: Row[] = [];
  readonly rejected: { row: Row; reason: string }[] = [];
  readonly #google: { url: string; customerId: string } | null;
  #posts: Promise<void>[] = [];

  /** With `google` every applied file also goes to that simulator, so that what the APIs send meets what the script sent. */
  constructor(properties: Record<string, string>, timeZone = "Europe/Istanbul", google: { url: string; customerId: string } | null = null) {
    this.properties = { ...properties };
    this.timeZone = timeZone;
    this.#google = google;
  }

  /** Runs the file that customers paste. `edit` changes its text first, as a customer who fills in the top would. */
  async runScript(options: Partial<AdsExecution> & { edit?: (source: string) => string } = {}): Promise<AdsRun> {
    const { edit = (source) => source, ...given } = options;
    const execution: AdsExecution = {
      isPreview: false,
      timeZone: this.timeZone,
      startsAheadMinutes: 0,
      applyThrowsAt: [],
      endsAfterApply: null,
      endsAtFetch: null,
      secondsPerApply: 0,
      ...given,
    };
    const run: AdsRun = { error: null, isEnded: false, logs: [], sleepsMs: [], files: [] };
    const calls = new MessageChannel();
    const events = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    calls.port1.on("message", async (request: FetchRequest | PropertyRequest) => {
      calls.port1.postMessage("property" in request ? this.#keep(request) : await answerTo(request));
      Atomics.store(signal, 0, 1);
      Atomics.notify(signal, 0);
    });
    events.port1.on("message", (event: AdsEvent) => this.#note(run, event));
    const worker = new Worker(new URL("./ads-script-in-child.ts", import.meta.url), {
      workerData: { source: edit(readFileSync(scriptFile, "utf8")), execution, port: calls.port2, events: events.port2, signal },
      transferList: [calls.port2, events.port2],
    });
    const closed = new Promise((resolve) => events.port1.once("close", resolve));
    await new Promise((resolve, reject) => worker.once("exit", resolve).once("error", reject));
    await closed;
    calls.port1.close();
    await Promise.all(this.#posts.splice(0));
    return run;
  }

  #keep(request: PropertyRequest): Record<string, string> {
    if (request.property === "write") {
      if (request.value === null) delete this.properties[request.key];
      else this.properties[request.key] = request.value;
    }
    return { ...this.properties };
  }

  #note(run: AdsRun, event: AdsEvent): void {
    if (event.kind === "log") run.logs.push(event.text);
    if (event.kind === "sleep") run.sleepsMs.push(event.ms);
    if (event.kind === "applied") {
      run.files.push(event.file);
      for (const row of event.file.rows) this.#book(event.file, row);
      if (this.#google) this.#posts.push(postFile(this.#google, event.file));
    }
    if (event.kind === "ended") Object.assign(run, { isEnded: true, error: event.error });
  }

  /** What Google does with a row after apply() returned, where no script sees it. */
  #book(file: CsvFile, row: Row): void {
    const reason = rejection(file, row);
    if (reason) this.rejected.push({ row, reason });
    else if (this.conversions.has(String(row["Order ID"]))) this.duplicates.push(row);
    else this.conversions.set(String(row["Order ID"]), row);
  }
}

async function postFile({ url, customerId }: { url: string; customerId: string }, { columns, rows }: CsvFile): Promise<void> {
  const response = await fetch(`${url}/__sim/script-uploads`, { method: "POST", body: JSON.stringify({ customerId, columns, rows }) });
  if (!response.ok) throw new Error(`The simulator refused the file: ${await response.text()}`);
}

function rejection(file: CsvFile, row: Row): string | null {
  if (file.columns.some((column) => !knownColumns.includes(column))) return "unknown column";
  if (clickColumns.filter((column) => row[column]).length !== 1) return "not one click id";
  // In the tests a gclid starts with its name and a braid does not.
  if (row["Google Click ID"] && !/^(gclid-|Cj0KCQ|EAIaIQ)/.test(String(row["Google Click ID"]))) return "unparseable gclid";
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:?\d\d$/.test(String(row["Conversion time"]))) return "malformed time";
  if (!row["Order ID"] || !row["Conversion name"]) return "missing field";
  if (typeof row["Conversion value"] !== "number" || !/^[A-Z]{3}$/.test(String(row["Conversion currency"]))) return "malformed value";
  return null;
}

async function answerTo({ url, method, headers, body, followRedirects }: FetchRequest): Promise<FetchAnswer> {
  try {
    const response = await fetch(url, { method, headers, body, redirect: followRedirects ? "follow" : "manual" });
    // Google hands on the names as most servers write them.
    const named = [...response.headers].map(([name, value]) => [name.replace(/(^|-)./g, (start) => start.toUpperCase()), value]);
    return { status: response.status, headers: Object.fromEntries(named), text: await response.text() };
  } catch (error) {
    return { networkError: String(error) };
  }
}
