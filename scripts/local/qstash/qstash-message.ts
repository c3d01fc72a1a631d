import { createHash, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** One message, as the Upstash-* headers of its publisher describe it. */
export interface QstashMessage {
  id: string;
  destination: string;
  method: string;
  headers: Record<string, string>;
  body: string;
  deliverAt: number;
  retriesMax: number;
  timeoutMs: number;
  failureCallback: string | undefined;
  deduplicationKey: string | undefined;
}

export class RefusedMessage extends Error {}

const defaultRetries = 3;
const timeoutMaxMs = 300_000;
const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseMessage(rawDestination: string, given: IncomingHttpHeaders | Record<string, string>, body: string): QstashMessage {
  const header = (name: string) => one(given[`upstash-${name}`]);
  const destination = parseDestination(rawDestination);
  const notBeforeSeconds = header("not-before");
  const delay = header("delay");
  const headers = forwardedHeaders(given);
  return {
    id: `msg_${randomUUID().replaceAll("-", "")}`,
    destination,
    method: header("method") ?? "POST",
    headers: { "content-type": one(given["content-type"]) ?? "application/json", ...headers },
    body,
    deliverAt: notBeforeSeconds ? Number(notBeforeSeconds) * 1_000 : Date.now() + (delay ? durationMs(delay) : 0),
    retriesMax: Number(header("retries") ?? defaultRetries),
    timeoutMs: Math.min(durationMs(header("timeout") ?? "300s"), timeoutMaxMs),
    failureCallback: header("failure-callback"),
    deduplicationKey: deduplicationKey(header("deduplication-id"), header("content-based-deduplication"), [destination, headers, body]),
  };
}

function parseDestination(raw: string): string {
  const text = /^https?%3a/i.test(raw) ? decodeURIComponent(raw) : raw;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) throw new RefusedMessage(`invalid destination url: ${text}`);
  return text;
}

function forwardedHeaders(given: IncomingHttpHeaders | Record<string, string>): Record<string, string> {
  const prefix = "upstash-forward-";
  const names = Object.keys(given).filter((name) => name.startsWith(prefix));
  return Object.fromEntries(names.map((name) => [name.slice(prefix.length), one(given[name]) ?? ""]));
}

function deduplicationKey(id: string | undefined, contentBased: string | undefined, content: unknown[]): string | undefined {
  // QStash refuses such an id, so an app that uses one must fail here as well.
  if (id?.includes(":")) throw new RefusedMessage("deduplication id must not contain ':'");
  if (id) return `id ${id}`;
  if (contentBased !== "true") return undefined;
  return `content ${createHash("sha256").update(JSON.stringify(content)).digest("hex")}`;
}

/** "90s", "2m", or several together, "1h30m". */
function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([smhd])/g)];
  if (parts.length === 0) throw new RefusedMessage(`invalid duration: ${text}`);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitMs[unit ?? "s"] ?? 0), 0);
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
