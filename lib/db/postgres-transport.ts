import postgres from "postgres";
import { databaseError } from "./database-error.ts";
import type { RpcTransport } from "./transport.ts";

interface PostgresTransportOptions {
  url: string;
  poolMax?: number;
  prepare?: boolean;
}

/** Where hosted Supabase's transaction pooler listens. It hands each transaction another backend, so nothing stays prepared. */
const transactionPoolerPort = "6543";

/** The driver would turn a time into a Date and lose its microseconds; a date would shift with the zone. */
const asWritten = {
  serialize: (value: unknown) => (value instanceof Date ? value.toISOString() : String(value)),
  parse: (text: string) => text,
};
const types = { timestamptz: { to: 1184, from: [1184], ...asWritten }, date: { to: 1082, from: [1082], ...asWritten } };

/** The direct transport: postgres.js as the role opsmantik_app. */
export function postgresTransport({
  url,
  poolMax = 10,
  prepare = new URL(url).port !== transactionPoolerPort,
}: PostgresTransportOptions): RpcTransport {
  const sql = postgres(url, {
    max: poolMax,
    types,
    prepare,
    connect_timeout: 5,
    // By default each failed connection makes the next wait longer, up to 20 s, and requests wait with it. The gate must say
    // at once that Postgres is down, and find it at once when it is back; a pool of ten is no stampede.
    backoff: () => 0.1 + Math.random() * 0.2,
    idle_timeout: 30,
    connection: { application_name: "opsmantik", TimeZone: "UTC" },
    onnotice: () => undefined,
  });
  return {
    async call(name, args) {
      const keys = Object.keys(args).filter((key) => args[key] !== undefined);
      const list = keys.map((key, index) => `${key} => $${index + 1}`).join(", ");
      // postgres.js types its parameters by what the server says they are, so any JSON value may stand here.
      const values = keys.map((key) => args[key]) as postgres.ParameterOrJSON<never>[];
      try {
        // Unsafe text is not prepared unless asked for, and an unprepared statement takes two round trips instead of one.
        const rows = await sql.unsafe(`select public.${name}(${list}) as result`, values, { prepare });
        return rows[0]?.result ?? null;
      } catch (error) {
        const { code, message, detail } = error as { code?: string; message: string; detail?: string };
        throw databaseError({ code, message, details: detail });
      }
    },
    close: () => sql.end({ timeout: 5 }),
  };
}
