import type { z } from "zod";
import { AppError } from "#lib/platform/app-error.ts";
import { log, newRequestId, withRequestId } from "#lib/platform/log.ts";
import { giveBack } from "./allowance.ts";
import { parseInput, parseJson } from "./parse-input.ts";
import { problemResponse } from "./problem.ts";
import { enforceLimits, type RateLimit } from "./rate-limit.ts";

/** What a guard gets: the request as it came, with nothing checked yet. */
export interface GuardContext {
  request: Request;
  rawBody: string;
  params: Record<string, string>;
  /** Headers that the guard adds to the answer, for example a refreshed session cookie. */
  responseHeaders: Headers;
}

/** Decides who is asking, or throws. What it returns becomes `actor`. */
export type Guard<Actor> = (context: GuardContext) => Promise<Actor> | Actor;

interface Route<Actor, Params, Query, Body> {
  guard: Guard<Actor>;
  params?: z.ZodType<Params>;
  query?: z.ZodType<Query>;
  body?: z.ZodType<Body>;
  /**
   * `before` limits strangers by address, before the body is read. `failures` limits what the guard may refuse: a caller who has used it up is
   * turned away before the guard works. `after` limits whom the guard let in.
   */
  limits?: {
    before?: RateLimit;
    failures?: readonly RateLimit[];
    after?: RateLimit<NoInfer<Actor>> | readonly RateLimit<NoInfer<Actor>>[];
  };
  bodyMaxBytes?: number;
  /** Where a contract fixes another shape than problem+json for refusals. */
  refuse?: (error: unknown, requestId: string) => Response | Promise<Response>;
  /** On every answer of the route, also on refusals before the guard. */
  headers?: Record<string, string>;
  run(input: { actor: Actor; params: Params; query: Query; body: Body; request: Request; rawBody: string }): unknown;
}

type RouteHandler = (request: Request, context: { params: Promise<Record<string, string | string[] | undefined>> }) => Promise<Response>;

/** Marks what handler() built; a test finds routes that were not. */
export const builtByHandler = Symbol("built by handler()");

/** The only way to make a route. The order is fixed: limits, guard over the raw body, limit, params, query, body, run. */
export function handler<Actor, Params = undefined, Query = undefined, Body = undefined>(
  route: Route<Actor, Params, Query, Body>,
): RouteHandler {
  const serve: RouteHandler = (request, context) => {
    const requestId = newRequestId();
    return withRequestId(requestId, async () => {
      const startedAt = performance.now();
      const responseHeaders = new Headers({ ...route.headers, "x-request-id": requestId, "cache-control": "no-store" });
      const response = await answer(route, request, singleParams(await context.params), responseHeaders).catch((error: unknown) =>
        (route.refuse ?? problemResponse)(error, requestId),
      );
      for (const [name, value] of responseHeaders)
        if (name === "set-cookie" || !response.headers.has(name)) response.headers.append(name, value);
      log.info("request", {
        method: request.method,
        path: new URL(request.url).pathname,
        status: response.status,
        durationMs: Math.round(performance.now() - startedAt),
      });
      return response;
    });
  };
  return Object.assign(serve, { [builtByHandler]: true });
}

/** A route without parameters gets none at all; a catch-all segment is a list, which none of our routes reads. */
function singleParams(params: Record<string, string | string[] | undefined> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(params ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

async function answer<Actor, Params, Query, Body>(
  route: Route<Actor, Params, Query, Body>,
  request: Request,
  rawParams: Record<string, string>,
  responseHeaders: Headers,
): Promise<Response> {
  const { before, failures, after } = route.limits ?? {};
  if (before) await enforceLimits([before], { request, actor: undefined });
  const rawBody = await readBody(request, route.bodyMaxBytes);
  const actor = await countFailures(failures, request, () => route.guard({ request, rawBody, params: rawParams, responseHeaders }));
  if (after) await enforceLimits([after].flat(), { request, actor });
  const params = parseInput(route.params, rawParams);
  const query = route.query ? parseInput(route.query, Object.fromEntries(new URL(request.url).searchParams)) : (undefined as Query); // as the body
  const body = route.body ? parseInput(route.body, parseJson(rawBody)) : (undefined as Body); // without a schema nobody reads it
  const result = await route.run({ actor, params, query, body, request, rawBody });
  if (result instanceof Response) return result;
  if (result === undefined) throw new AppError("INTERNAL", { detail: "The route answered nothing." });
  return Response.json(result);
}

const isGuess = (error: unknown) => error instanceof AppError && error.status < 500 && error.code !== "RATE_LIMITED";

/** Taken before the work and given back unless the caller was refused, so that guesses made at the same time count too. */
export async function countFailures<Result>(
  limits: readonly RateLimit[] | undefined,
  request: Request,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  if (!limits) return work();
  const taken = await enforceLimits(limits, { request, actor: undefined });
  try {
    const result = await work();
    giveBack(taken);
    return result;
  } catch (error) {
    if (!isGuess(error)) giveBack(taken);
    throw error;
  }
}

const defaultMaxBytes = 64 * 1024;

/** Reads the body, counting what arrives: a content-length header may lie. Stops reading at the limit. */
async function readBody(request: Request, maxBytes = defaultMaxBytes): Promise<string> {
  if (!request.body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > maxBytes) {
      await reader.cancel();
      throw new AppError("PAYLOAD_TOO_LARGE", {
        detail: `The body is larger than ${maxBytes} bytes.`,
        extra: { maxBytes },
        // The rest of the body would be read as the next request on this connection.
        headers: { connection: "close" },
      });
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks).toString("utf8");
}
