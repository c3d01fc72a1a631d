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
function headerKey(request: Request): string | undefined {
  return request.headers.get("idempotency-key")?.replace(/^"(.*)"$/, "$1");
}

const invalidKey = (detail: string) => new AppError("INVALID_IDEMPOTENCY_KEY", { detail });

/** Null, numbers and the like are refused as well as texts that Postgres could not keep. */
function checkedKey(key: unknown): string {
  if (typeof key !== "string" || key.length === 0 || [...key].length > 255) throw invalidKey("A key is a text of 1 to 255 characters.");
  if (key.includes("\0") || !key.isWellFormed()) throw invalidKey("A key has no NUL and no half characters.");
  return key;
}

/**
 * Which request this is: its key, from the header or from the body, and a hash over what was sent, byte for byte.
 * SQL refuses the same key with another hash.
 */
export function requestIdentity(request: Request, rawBody: string, bodyKey?: unknown): RequestIdentity {
  const given = [headerKey(request), bodyKey].filter((key) => key !== undefined).map(checkedKey);
  if (given.length === 2 && given[0] !== given[1]) throw invalidKey("The Idempotency-Key header and idempotency_key in the body differ.");
  const { pathname, search } = new URL(request.url);
  const hash = createHash("sha256").update(framed(request.method) + framed(pathname + search) + framed(rawBody));
  return { p_request_hash: hash.digest("hex"), ...(given[0] !== undefined && { p_key: given[0] }) };
}

/** For routes that take nothing without a key. */
export function requireIdentity(request: Request, rawBody: string, bodyKey?: unknown): Required<RequestIdentity> {
  const { p_key, p_request_hash } = requestIdentity(request, rawBody, bodyKey);
  if (p_key === undefined) throw invalidKey("Send a key: idempotency_key in the body, or the Idempotency-Key header.");
  return { p_key, p_request_hash };
}

/** Serves the stored bytes as they are. */
export function serveOnce({ status, replayed, body }: OnceAnswer): Response {
  const type = status < 400 ? "application/json" : "application/problem+json";
  return new Response(body, { status, headers: { "content-type": type, ...(replayed && { "idempotent-replayed": "true" }) } });
}
