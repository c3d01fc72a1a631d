import { env } from "#lib/env.ts";

const defaultMaxAttempts = 5;

/** How often a row is handed out before it fails for good; OCI_MAX_ATTEMPTS overrides it. SQL takes it as an argument. */
export function maxAttempts(): number {
  return env().OCI_MAX_ATTEMPTS ?? defaultMaxAttempts;
}

/** How long after sending Data Manager is first asked for its verdict. */
export const firstPollSeconds = (): number => env().VERDICT_FIRST_POLL_SECONDS;
