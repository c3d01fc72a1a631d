import { appendFileSync, closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Account, AuthCode, CallRecord, Conversion, Fault, IngestRequest, OauthClient, Settings, UploadTally } from "./sim-shapes.ts";

interface Tables {
  accounts: Account;
  clients: OauthClient;
  codes: AuthCode;
  conversions: Conversion;
  requests: IngestRequest;
  /** Requests that are being processed, in the order they came in. */
  waiting: number;
  /** When a click id was first seen. */
  clicks: number;
  tallies: UploadTally;
  faults: Fault;
  settings: Settings;
  /** How far the virtual clock is ahead, in milliseconds. */
  clock: number;
}
type TableName = keyof Tables;
type Change = [TableName, string, unknown];

interface JournalLine {
  changes?: Change[];
  call?: CallRecord;
}

/**
 * The simulator's memory. Every call ends with one line of a journal that holds all it changed, written before the answer: a kill
 * loses nothing that was answered, and a start reads the journal again. Without a folder it lives in memory only.
 */
export class Store {
  readonly log: CallRecord[] = [];
  readonly #tables = new Map<TableName, Map<string, unknown>>();
  readonly #file: number | null;
  #pending: Change[] = [];

  constructor(stateDir: string | undefined) {
    this.#file = stateDir ? this.#replay(stateDir) : null;
  }

  get<Name extends TableName>(table: Name, key: string): Tables[Name] | undefined {
    return this.#table(table).get(key);
  }

  /** Without a copy: every call walks the waiting requests, of which a storm has thousands. Removing while walking is fine. */
  each<Name extends TableName>(table: Name): Iterable<[string, Tables[Name]]> {
    return this.#table(table);
  }

  entries<Name extends TableName>(table: Name): [string, Tables[Name]][] {
    return [...this.#table(table)];
  }

  values<Name extends TableName>(table: Name): Tables[Name][] {
    return [...this.#table(table).values()];
  }

  put<Name extends TableName>(table: Name, key: string, value: Tables[Name]): void {
    this.#apply([table, key, value]);
    this.#pending.push([table, key, value]);
  }

  remove(table: TableName, key: string): void {
    this.#apply([table, key, null]);
    this.#pending.push([table, key, null]);
  }

  /** Writes what has changed since the last time, with the call that changed it. */
  commit(call?: Omit<CallRecord, "seq">): void {
    const line: JournalLine = {};
    if (this.#pending.length > 0) line.changes = this.#pending;
    if (call) {
      const record = { seq: this.log.length + 1, ...call };
      this.log.push(record);
      line.call = record;
    }
    this.#pending = [];
    if (this.#file !== null && (line.changes || line.call)) appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }

  #table<Name extends TableName>(name: Name): Map<string, Tables[Name]> {
    const table = this.#tables.get(name) ?? new Map<string, unknown>();
    this.#tables.set(name, table);
    return table as Map<string, Tables[Name]>; // put() takes only this table's values
  }

  #apply([table, key, value]: Change): void {
    const rows: Map<string, unknown> = this.#table(table);
    if (value === null) rows.delete(key);
    else rows.set(key, value);
  }

  /** A kill may have cut the last line: its caller got no answer, so it never happened. */
  #replay(stateDir: string): number {
    mkdirSync(stateDir, { recursive: true });
    const path = join(stateDir, "google.jsonl");
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of whole.split("\n").filter(Boolean)) {
      const { changes = [], call }: JournalLine = JSON.parse(line);
      for (const change of changes) this.#apply(change);
      if (call) this.log.push(call);
    }
    const file = openSync(path, "a", 0o600);
    if (whole.length < text.length) ftruncateSync(file, Buffer.byteLength(whole));
    return file;
  }
}
