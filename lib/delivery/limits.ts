import { env } from "#lib/env.ts";

const defaultMaxAttempts = 5;

/** How often a row is handed out before it fails for good; OCI_MAX_ATTEMPTS overrides it. SQL takes it as an argument. */
export function maxAttempts(): number {
  return env().OCI_MAX_ATTEMPTS ?? defaultMaxAttempts;
}
