import { randomBytes } from "node:crypto";
import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { SessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { beginAttempt, countersOf, forgiveAttempt } from "./attempt-limit.ts";
import { authFailure } from "./auth-failure.ts";
import { knownDevice, rememberDevice } from "./known-device.ts";

export interface Credentials {
  email: string;
  password: string;
}

interface Caller {
  headers: Headers;
  /** What the device's cookie holds. */
  deviceToken: string | undefined;
}

const asked = z.object({ email: z.string().nullable(), isKnown: z.boolean() });

/** An address without an account takes as long as one with: Auth then compares a random password with another account's. */
async function comparedCredentials(given: Credentials): Promise<Credentials> {
  const { email, isKnown } = await callRpc("account_to_ask", { p_email: given.email }, asked);
  return isKnown || email === null ? given : { email, password: randomBytes(24).toString("base64url") };
}

/** Signs in, within the limits of a known device or of the address. Returns what the device's cookie holds from now on. */
export async function signInWithinLimits(db: SessionClient, given: Credentials, { headers, deviceToken }: Caller): Promise<string> {
  const counters = countersOf(headers, given.email, await knownDevice(deviceToken, given.email));
  await beginAttempt(counters);
  try {
    const { error } = await db.auth.signInWithPassword(await comparedCredentials(given));
    if (error) throw authFailure(error);
  } catch (error) {
    const isWrong = error instanceof AppError && error.code === "INVALID_CREDENTIALS";
    if (!isWrong) await forgiveAttempt(counters, { signedIn: false });
    throw error;
  }
  await forgiveAttempt(counters, { signedIn: true });
  return rememberDevice(deviceToken, given.email);
}
