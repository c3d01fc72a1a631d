import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

/** What one execution of a script meets; everything here crosses a thread. */
export interface AdsExecution {
  isPreview: boolean;
  timeZone: string;
  /** How far its clock is ahead of ours when it starts. */
  startsAheadMinutes: number;
  /** Which calls of apply(), counted from 1, throw, and after which the run is ended as Google ends one that takes too long. */
  applyThrowsAt: number[];
  endsAfterApply: number | null;
  /** The path at whose first request the run is ended, before it is sent. */
  endsAtFetch: string | null;
  /** How much of the run's time each apply() takes. */
  secondsPerApply: number;
}

export interface CsvFile {
  name: string | null;
  columns: string[];
  timeZone: string | null;
  rows: Record<string, string | number>[];
  droppedKeys: string[];
}

export interface FetchRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
  followRedirects: boolean;
}

/** The account keeps the properties: what one run writes another that runs at the same time reads. A null value deletes. */
export type PropertyRequest = { property: "all" } | { property: "write"; key: string; value: string | null };

export type FetchAnswer = { status: number; headers: Record<string, string>; text: string } | { networkError: string };

export type AdsEvent =
  | { kind: "log"; text: string }
  | { kind: "sleep"; ms: number }
  | { kind: "applied" | "previewed"; file: CsvFile }
  | { kind: "ended"; error: string | null };

interface Wire {
  emit(event: AdsEvent): void;
  port: MessagePort;
  signal: Int32Array;
}

const sleepMsMax = 300_000;
const propertyBytesMax = 9 * 1024;
const fetchOptions = ["method", "headers", "payload", "contentType", "muteHttpExceptions", "followRedirects"];

/** The services of Google Ads Scripts that a script of ours may use, as strict as Google's and as silent where Google is silent. */
export function adsServices(execution: AdsExecution, wire: Wire) {
  const clock = { aheadMs: execution.startsAheadMinutes * 60_000 };
  return {
    clock,
    globals: {
      AdsApp: {
        bulkUploads: () => ({
          newCsvUpload: (columns: string[], options?: object) => newCsvUpload({ execution, wire, clock }, columns, options),
        }),
        currentAccount: () => ({ getTimeZone: () => execution.timeZone }),
        getExecutionInfo: () => ({ isPreview: () => execution.isPreview }),
      },
      Logger: { log: (text: unknown) => wire.emit({ kind: "log", text: String(text) }) },
      PropertiesService: { getScriptProperties: () => scriptProperties(wire) },
      UrlFetchApp: {
        fetch(url: string, options: Record<string, unknown> = {}) {
          if (new URL(url).pathname === execution.endsAtFetch) process.exit(1);
          return fetchSync(wire, url, options);
        },
      },
      Utilities: {
        sleep: (ms: number) => {
          if (!(ms >= 0 && ms <= sleepMsMax)) throw new Error(`Invalid argument: sleep(${ms})`);
          clock.aheadMs += ms;
          wire.emit({ kind: "sleep", ms });
        },
      },
    },
  };
}

interface Runtime {
  execution: AdsExecution;
  wire: Wire;
  clock: { aheadMs: number };
}

let applyCount = 0;

function newCsvUpload({ execution, wire, clock }: Runtime, columns: string[], options: { timeZone?: string } = {}) {
  // A list of the script's world knows only what ES5 knows.
  const declared = [...columns];
  const file: CsvFile = { name: null, columns: declared, timeZone: options.timeZone ?? null, rows: [], droppedKeys: [] };
  let isForConversions = false;
  const upload = {
    append(row: Record<string, string | number>) {
      const entries = Object.entries(row);
      file.droppedKeys.push(...entries.map(([key]) => key).filter((key) => !declared.includes(key)));
      file.rows.push(Object.fromEntries(entries.filter(([key]) => declared.includes(key))));
      return upload;
    },
    forOfflineConversions() {
      isForConversions = true;
      return upload;
    },
    setFileName(name: string) {
      file.name = name;
      return upload;
    },
    preview: () => wire.emit({ kind: "previewed", file }),
    apply() {
      applyCount += 1;
      clock.aheadMs += execution.secondsPerApply * 1000;
      if (!isForConversions) throw new Error("The upload has no column of campaign management.");
      if (execution.applyThrowsAt.includes(applyCount)) throw new Error("Service error: bulk uploads. Please try again later.");
      wire.emit({ kind: execution.isPreview ? "previewed" : "applied", file });
      if (execution.endsAfterApply === applyCount) process.exit(1);
    },
  };
  return upload;
}

function scriptProperties(wire: Wire) {
  const all = () => askSync<Record<string, string>>(wire, { property: "all" });
  return {
    getProperty: (key: string) => all()[key] ?? null,
    getProperties: all,
    setProperty(key: string, value: string) {
      if (Buffer.byteLength(value) > propertyBytesMax) throw new Error("Argument too large: value");
      askSync(wire, { property: "write", key, value });
    },
    deleteProperty: (key: string) => askSync(wire, { property: "write", key, value: null }),
  };
}

/** Another thread answers while this one stands still, since the runtime of Google Ads knows no promises. */
function askSync<T>({ port, signal }: Wire, request: FetchRequest | PropertyRequest): T {
  port.postMessage(request);
  Atomics.wait(signal, 0, 0);
  Atomics.store(signal, 0, 0);
  return receiveMessageOnPort(port)?.message;
}

function fetchSync(wire: Wire, url: string, options: Record<string, unknown>) {
  const unknown = Object.keys(options).filter((name) => !fetchOptions.includes(name));
  if (unknown.length > 0) throw new Error(`Attribute provided with no value or invalid value: ${unknown}`);
  const { method = "get", headers = {}, payload = null, contentType = "application/x-www-form-urlencoded" } = options;
  const request = {
    url,
    method: String(method).toUpperCase(),
    headers: {
      "user-agent": "Mozilla/5.0 (compatible; Google-Apps-Script; beanserver; +https://script.google.com)",
      ...(headers as Record<string, string>), // the script's own, checked by Google only when it sends them
      ...(payload === null ? {} : { "content-type": String(contentType) }),
    },
    body: payload === null ? null : String(payload),
    followRedirects: options.followRedirects !== false,
  } satisfies FetchRequest;
  const answer = askSync<FetchAnswer>(wire, request);
  if ("networkError" in answer) throw new Error(`Address unavailable: ${url}`);
  if (!options.muteHttpExceptions && answer.status >= 400) throw new Error(`Request failed for ${url} returned code ${answer.status}.`);
  return { getResponseCode: () => answer.status, getContentText: () => answer.text, getHeaders: () => ({ ...answer.headers }) };
}
