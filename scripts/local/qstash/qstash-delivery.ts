import { createHash, randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import type { QstashMessage } from "./qstash-message.ts";

export interface DeliveryResult {
  status: number;
  body: string;
  headers: Record<string, string>;
}

const signatureSeconds = 300;
const nonRetryableStatus = 489;

/** One attempt. A destination that cannot be reached answers as status 0. */
export async function deliver(message: QstashMessage, retried: number, signingKey: string, stopping: AbortSignal): Promise<DeliveryResult> {
  const hasBody = !["GET", "HEAD"].includes(message.method);
  try {
    const response = await fetch(message.destination, {
      method: message.method,
      headers: {
        ...message.headers,
        "user-agent": "Upstash-QStash",
        "upstash-message-id": message.id,
        "upstash-retried": String(retried),
        "upstash-signature": await sign(message.destination, hasBody ? message.body : "", signingKey),
      },
      ...(hasBody && { body: message.body }),
      redirect: "manual",
      signal: AbortSignal.any([stopping, AbortSignal.timeout(message.timeoutMs)]),
    });
    return { status: response.status, body: await response.text(), headers: Object.fromEntries(response.headers) };
  } catch (error) {
    return { status: 0, body: error instanceof Error ? error.message : String(error), headers: {} };
  }
}

export function isDelivered({ status }: DeliveryResult): boolean {
  return status >= 200 && status < 300;
}

export function mayRetry({ status, headers }: DeliveryResult): boolean {
  return !(status === nonRetryableStatus && headers["upstash-nonretryable-error"] === "true");
}

/** What QStash sends to a failure callback when it gives a message up. */
export function failureReport(message: QstashMessage, { status, body, headers }: DeliveryResult, retried: number): string {
  return JSON.stringify({
    status,
    header: headers,
    body: Buffer.from(body).toString("base64"),
    retried,
    maxRetries: message.retriesMax,
    sourceMessageId: message.id,
    url: message.destination,
    method: message.method,
    sourceHeader: message.headers,
    sourceBody: Buffer.from(message.body).toString("base64"),
  });
}

/** Signed again for every attempt, because the signature is valid for five minutes only. */
function sign(url: string, body: string, key: string): Promise<string> {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const bodyHash = createHash("sha256").update(body).digest("base64url");
  return new SignJWT({ body: bodyHash })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuer("Upstash")
    .setSubject(url)
    .setIssuedAt(nowSeconds)
    .setNotBefore(nowSeconds)
    .setExpirationTime(nowSeconds + signatureSeconds)
    .setJti(`jwt_${randomUUID()}`)
    .sign(new TextEncoder().encode(key));
}
