import { createHash } from "node:crypto";

/** Two identical events within this time are one: a double click, a reload, a resend. */
const bucketMs = 5_000;

interface KeyParts {
  siteId: string;
  category: string;
  action: string;
  label: string;
  url: string;
  /** Empty when the event names nobody. */
  visitor: string;
}

/**
 * The identity of an event, computed once, here, from server time. Each part is preceded by its length, so that no two
 * inputs run together: ("ab", "c") and ("a", "bc") differ.
 */
export function idempotencyKey({ siteId, category, action, label, url, visitor }: KeyParts, receivedAtMs: number): string {
  const hash = createHash("sha256");
  for (const part of [siteId, category, action, label, url, visitor, String(Math.floor(receivedAtMs / bucketMs))]) {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  }
  return hash.digest("hex");
}
