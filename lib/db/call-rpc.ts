import type { z } from "zod";
import { env } from "#lib/env.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { postgresTransport } from "./postgres-transport.ts";
import { supabaseTransport } from "./supabase-transport.ts";
import type { RpcTransport } from "./transport.ts";
import { type Database, serviceFunctions } from "./types.gen.ts";

type ServiceFunction = keyof typeof serviceFunctions;
type ArgsOf<Name extends ServiceFunction> = Database["public"]["Functions"][Name]["Args"];

let transport: RpcTransport | undefined;

function serviceTransport(): RpcTransport {
  const { DATABASE_URL, SUPABASE_URL, SUPABASE_SECRET_KEY = "" } = env();
  transport ??= DATABASE_URL
    ? postgresTransport({ url: DATABASE_URL })
    : supabaseTransport({ url: SUPABASE_URL, secretKey: SUPABASE_SECRET_KEY });
  return transport;
}

/**
 * The service door: machine routes change state only through these functions. People's requests use the session door instead.
 * Names and argument names become SQL text, so both are checked against the generated list, whatever the types say.
 */
export async function callRpc<Name extends ServiceFunction, Result>(
  name: Name,
  args: ArgsOf<Name>,
  result: z.ZodType<Result>,
): Promise<Result> {
  const known: readonly string[] = serviceFunctions[name] ?? [];
  const unknownArgument = Object.keys(args).find((key) => !known.includes(key));
  if (!Object.hasOwn(serviceFunctions, name) || unknownArgument) {
    throw new Error(`${name}(${unknownArgument ?? ""}) is not a service function: run npm run types:generate`);
  }
  return result.parse(await serviceTransport().call(name, args));
}

const budgetMs = 20_000;

/** For crons: repeats a bounded step while it says that more is left, for at most 20 seconds. The next run continues. */
export async function untilDone(step: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + budgetMs;
  while ((await step()) && Date.now() < until);
}

const triesMax = 3;

/** A deadlock: Postgres ends one of the two transactions, and we try it again. */
export async function retryDeadlocks<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isDeadlock = error instanceof AppError && (error.facts.cause as { code?: string } | undefined)?.code === "40P01";
      if (!isDeadlock || attempt === triesMax) throw error;
    }
  }
}
