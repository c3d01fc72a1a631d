import { createHash } from "node:crypto";

/** Two identical events within this time are one: a double click, a reload, a resend. */
const bucketMs = 5_000;

interface KeyParts {
  siteId: string;
  eventName: string;
  url: string;
  visitor: string;
}

/**
 * The identity of an event, computed once, here, from server time. Each part is preceded by its length, so that no two
 * inputs run together: ("ab", "c") and ("a", "bc") differ.
 */
export function idempotencyKey({ siteId, eventName, url, visitor }: KeyParts, receivedAtMs: number): string {
  const hash = createHash("sha256");
  for (const part of [siteId, eventName, url, visitor, String(Math.floor(receivedAtMs / bucketMs))]) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest("hex");
}
