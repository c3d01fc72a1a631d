import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "#lib/platform/app-error.ts";

/** What SQL answers to a change that carries a key: the bytes to serve, the first time and every time after. */
export const onceAnswer = z.object({ status: z.number(), replayed: z.boolean(), body: z.string() });
export type OnceAnswer = z.output<typeof onceAnswer>;

/** The arguments that every such function takes. */
export interface RequestIdentity {
  p_key?: string;
  p_request_hash: string;
}

const framed = (text: string) => `${Buffer.byteLength(text)}:${text}`;

/** The draft standard writes the key as a quoted string; most callers send it bare. */
function headerKey(request: Request): string | null {
  const given = request.headers.get("idempotency-key");
  return given === null ? null : given.replace(/^"(.*)"$/, "$1");
}

/**
 * Which request this is: its key, from the header or from the body, and a hash over what was sent, byte for byte.
 * The same key with another hash is somebody's mistake, and SQL says so.
 */
export function requestIdentity(request: Request, rawBody: string, bodyKey?: string): RequestIdentity {
  const key = headerKey(request);
  if (key !== null && bodyKey !== undefined && key !== bodyKey)
    throw new AppError("INVALID_IDEMPOTENCY_KEY", { detail: "The Idempotency-Key header and idempotency_key in the body differ." });
  const chosen = key ?? bodyKey ?? null;
  if (chosen !== null && (chosen.length === 0 || chosen.length > 255))
    throw new AppError("INVALID_IDEMPOTENCY_KEY", { detail: "A key has 1 to 255 characters." });
  const { pathname, search } = new URL(request.url);
  const hash = createHash("sha256").update(framed(request.method) + framed(pathname + search) + framed(rawBody));
  return { p_request_hash: hash.digest("hex"), ...(chosen !== null && { p_key: chosen }) };
}

/** Serves the stored bytes as they are. */
export function serveOnce({ status, replayed, body }: OnceAnswer): Response {
  const type = status < 400 ? "application/json" : "application/problem+json";
  return new Response(body, { status, headers: { "content-type": type, ...(replayed && { "idempotent-replayed": "true" }) } });
}
