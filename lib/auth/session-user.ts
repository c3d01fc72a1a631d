import type { SessionClient } from "#lib/db/session-client.ts";
import { AppError } from "#lib/platform/app-error.ts";

export interface SessionUser {
  id: string;
  email: string;
  name: string;
}

/** The user behind a session, verified by its token; null when nobody is signed in. Throws when Auth does not answer. */
export async function readSessionUser(db: SessionClient): Promise<SessionUser | null> {
  // A damaged cookie makes the client throw; it signs nobody in.
  const { data, error } = await db.auth.getClaims().catch(() => ({ data: null, error: null }));
  if (error && (error.name === "AuthRetryableFetchError" || (error.status ?? 0) >= 500)) {
    throw new AppError("AUTH_UNAVAILABLE", { cause: error });
  }
  const claims = data?.claims;
  if (!claims || typeof claims.sub !== "string") return null;
  const email = claims.email ?? "";
  // Hosted tokens carry the metadata; otherwise we ask Auth. A user that it does not know is not signed in.
  const asked = claims.user_metadata ? null : await db.auth.getUser();
  if (asked?.error && (asked.error.name === "AuthRetryableFetchError" || (asked.error.status ?? 0) >= 500))
    throw new AppError("AUTH_UNAVAILABLE", { cause: asked.error });
  if (asked && !asked.data.user) return null;
  const metadata = claims.user_metadata ?? asked?.data.user?.user_metadata;
  const fullName: unknown = metadata?.full_name;
  return {
    id: claims.sub,
    email,
    name: typeof fullName === "string" && fullName.trim() !== "" ? fullName.trim() : (email.split("@")[0] ?? ""),
  };
}
