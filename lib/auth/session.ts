import "server-only";
import { cookies, headers } from "next/headers";
import { notFound, redirect } from "next/navigation";
import { cache } from "react";
import { type SessionClient, sessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { readSessionUser, type SessionUser } from "./session-user.ts";

/** The session door for pages and server actions. Pages cannot set cookies: proxy.ts has refreshed the session before. */
export const pageClient = cache(async (): Promise<SessionClient> => {
  const store = await cookies();
  return sessionClient({
    getAll: () => store.getAll(),
    setAll: (list) => {
      try {
        for (const { name, value, options } of list) store.set(name, value, options);
      } catch {
        // a page is being rendered: its cookies are read-only
      }
    },
  });
});

/** Gives an error the digest that Next hands to the error boundary: our code and the request's id. */
async function tagged<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Next's own signals (redirect, not found) carry a digest already and are left alone.
    if (error instanceof Error && !("digest" in error && error.digest)) {
      const code = error instanceof AppError ? error.code : "INTERNAL";
      Object.assign(error, { digest: `${code} ${(await headers()).get("x-request-id") ?? ""}` });
    }
    throw error;
  }
}

export const currentUser = cache(async (): Promise<SessionUser | null> => tagged(readSessionUser(await pageClient())));

/** The signed-in user; anyone else goes to the sign-in page and comes back afterwards. */
export async function requireUser(): Promise<SessionUser> {
  const user = await currentUser();
  if (user) return user;
  const path = (await headers()).get("x-path") ?? "/dashboard";
  redirect(`/sign-in?next=${encodeURIComponent(path)}`);
}

/** Unknown, not yours, and an address that somebody made up look the same on a page. */
function hideRefusal(error: unknown): never {
  if (error instanceof AppError && ["NOT_FOUND", "FORBIDDEN", "VALIDATION_FAILED"].includes(error.code)) notFound();
  throw error;
}

/** A read for a page, as the signed-in user: the same call that a route makes. */
export async function readPage<Args extends unknown[], Result>(
  read: (db: SessionClient, ...args: Args) => Promise<Result>,
  ...args: Args
): Promise<Result> {
  await requireUser();
  return tagged(read(await pageClient(), ...args).catch(hideRefusal));
}
