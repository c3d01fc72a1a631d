import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

interface RequestContext {
  requestId: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** An id that sorts by time and that a person can read out: `req_` + 26 characters. */
export function newRequestId(): string {
  // The end of a UUID, because Node keeps random bytes ready for those and asks the system for others each time.
  return `req_${Date.now().toString(36).padStart(9, "0")}${randomUUID().replaceAll("-", "").slice(-17)}`;
}

export function withRequestId<T>(requestId: string, run: () => T): T {
  return storage.run({ requestId }, run);
}

/** The id of the request being served, when there is one. */
export function currentRequestId(): string | undefined {
  return storage.getStore()?.requestId;
}
