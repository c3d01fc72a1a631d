import { inject } from "vitest";

/** What all test files of one worker share. */
export interface SharedStack {
  /** The superuser's URL for the database `postgres` of the server. */
  adminUrl: string;
  appPassword: string;
  /** Thrown away with the run. */
  logDir: string;
  upstashUrl: string;
  upstashToken: string;
}

declare module "vitest" {
  interface ProvidedContext {
    stacks: SharedStack[];
  }
}

/**
 * The stack of this worker. Each has its own, because a Postgres is not divided by its databases in everything: an open
 * transaction in any of them holds back, for instance, what the sealer of proofs may seal.
 */
export function sharedStack(): SharedStack {
  const stack = inject("stacks")[Number(process.env.VITEST_POOL_ID) - 1];
  if (!stack) throw new Error(`There is no stack for worker ${process.env.VITEST_POOL_ID}.`);
  return stack;
}
