import { createHash } from "node:crypto";
import { reachAuth, sessionClient } from "#lib/db/session-client.ts";
import { env } from "#lib/env.ts";
import { hashedAddress } from "#lib/http/caller-address.ts";
import { enforceLimit, type RateLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";

/**
 * Links by mail: for one address to one account, for one address to all accounts, and to one account from everywhere, which protects an inbox.
 * Open without Redis, counted in the process: nobody is locked out by an outage.
 */
const allowances = [
  { name: "pair", requests: 10, windowSeconds: 60, of: (address: string, account: string) => `${address} ${account}` },
  { name: "address", requests: 60, windowSeconds: 60, of: (address: string) => address },
  { name: "account", requests: 100, windowSeconds: 600, of: (_address: string, account: string) => account },
];

async function countReset(account: string, given: Headers): Promise<void> {
  const request = new Request(env().APP_URL);
  for (const { name, requests, windowSeconds, of } of allowances) {
    // Hashed: Redis holds no address of a person, and no key is longer than another.
    const key = createHash("sha256")
      .update(of(hashedAddress(given), account))
      .digest("base64url");
    const limit: RateLimit = { name: `password-reset-${name}`, requests, windowSeconds, key: () => key, whenRedisIsDown: "fail-open" };
    await enforceLimit(limit, { request, actor: undefined });
  }
}

/** Without cookies: the answer is on its way when this is asked. */
async function askForLink(email: string): Promise<void> {
  const { error } = await sessionClient({ getAll: () => [], setAll: () => {} }).auth.resetPasswordForEmail(email);
  if (error) log.warn("link not mailed", { error });
}

/**
 * Has a link mailed, if the address has an account. Auth writes and sends a mail only then, which takes longer: so it is asked `later`, when
 * the caller has the answer. Before the answer everybody's request does the same: count, and see whether Auth is there at all.
 */
export async function mailResetLink(email: string, given: Headers, later: (work: () => Promise<void>) => void): Promise<void> {
  await countReset(email, given);
  await reachAuth().catch((cause: unknown) => {
    throw new AppError("AUTH_UNAVAILABLE", { cause });
  });
  later(() => askForLink(email));
}
