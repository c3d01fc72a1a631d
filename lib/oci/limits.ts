import { env } from "#lib/env.ts";
import { MAX_ATTEMPTS } from "./queue-types.ts";

/** How often a row is handed out before it fails for good; OCI_MAX_ATTEMPTS overrides it. SQL takes it as an argument. */
export function maxAttempts(): number {
  return env().OCI_MAX_ATTEMPTS ?? MAX_ATTEMPTS;
}

/** How long after sending Data Manager is first asked for its verdict. */
export const firstPollSeconds = (): number => env().VERDICT_FIRST_POLL_SECONDS;
