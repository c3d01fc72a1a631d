import postgres from "postgres";
import { databaseError } from "./database-error.ts";
import type { RpcTransport } from "./transport.ts";

interface PostgresTransportOptions {
  url: string;
  poolMax?: number;
  prepare?: boolean;
  /** How long a call may take; as over REST. */
  deadlineMs?: number;
}

/** Where hosted Supabase's transaction pooler listens. It hands each transaction another backend, so nothing stays prepared. */
const transactionPoolerPort = "6543";

/** The driver would turn a time into a Date and lose its microseconds; a date would shift with the zone. */
const asWritten = {
  serialize: (value: unknown) => (value instanceof Date ? value.toISOString() : String(value)),
  parse: (text: string) => text,
};
const quoted = (item: unknown) => `"${String(item).replace(/["\\]/g, "\\$&")}"`;
/** Arguments only: every answer is one jsonb. */
const asArray = {
  serialize: (items: unknown[]) => `{${items.map((item) => (item === null ? "NULL" : quoted(item))).join(",")}}`,
  parse: (text: string) => text,
};
const types = {
  timestamptz: { to: 1184, from: [1184], ...asWritten },
  date: { to: 1082, from: [1082], ...asWritten },
  texts: { to: 1009, from: [1009], ...asArray },
  uuids: { to: 2951, from: [2951], ...asArray },
  integers: { to: 1007, from: [1007], ...asArray },
};

/** Codes of the driver, the system (ECONNRESET, ENOTFOUND, …) and the server for a connection that was lost or never opened. */
const isLost = (code = "") => /^(CONNECT|E[A-Z]|57P0)/.test(code);

/** The driver has no deadline for a query: without one, a query could wait for a connection for ever. */
async function within<T>(deadlineMs: number, query: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject({ code: "CONNECT_TIMEOUT", message: `no answer in ${deadlineMs} ms` }), deadlineMs);
  return Promise.race([query, late]).finally(() => clearTimeout(timer));
}

/**
 * The direct transport: postgres.js as the role opsmantik_app.
 * A pool that lost a connection is replaced by a new one. A connection that closes while a query is being written to it never works
 * again (postgres.js 3.4.9), and after each failure the driver waits longer before it reconnects, up to 20 s. Queries
 * that still run in the old pool finish there; then its connections idle out.
 */
export function postgresTransport({
  url,
  poolMax = 10,
  prepare = new URL(url).port !== transactionPoolerPort,
  deadlineMs = 15_000,
}: PostgresTransportOptions): RpcTransport {
  const openPool = () =>
    postgres(url, {
      max: poolMax,
      types,
      prepare,
      // Otherwise each connection first queries the array types. If it is lost during that query, the error is uncaught and the process ends
      // (postgres.js 3.4.9).
      fetch_types: false,
      connect_timeout: 5,
      idle_timeout: 30,
      connection: { application_name: "opsmantik", TimeZone: "UTC" },
      onnotice: () => undefined,
    });
  let pool = openPool();
  return {
    async call(name, args) {
      const keys = Object.keys(args).filter((key) => args[key] !== undefined);
      const list = keys.map((key, index) => `${key} => $${index + 1}`).join(", ");
      // postgres.js types its parameters by what the server says they are, so any JSON value may stand here.
      const values = keys.map((key) => args[key]) as postgres.ParameterOrJSON<never>[];
      const sql = pool;
      try {
        // Unsafe text is not prepared unless asked for, and an unprepared statement takes two round trips instead of one.
        const rows = await within(deadlineMs, sql.unsafe(`select public.${name}(${list}) as result`, values, { prepare }));
        return rows[0]?.result ?? null;
      } catch (error) {
        const { code, message, detail } = error as { code?: string; message: string; detail?: string };
        if (isLost(code) && sql === pool) pool = openPool();
        throw databaseError({ code, message, details: detail });
      }
    },
    close: () => pool.end({ timeout: 5 }),
  };
}
