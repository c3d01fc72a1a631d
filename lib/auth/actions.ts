"use server";
import { randomBytes } from "node:crypto";
import { cookies, headers } from "next/headers";
import { redirect } from "next/navigation";
import { after } from "next/server";
import { z } from "zod";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import { authFailure } from "./auth-failure.ts";
import { isCommonPassword } from "./common-passwords.ts";
import type { FormState } from "./form-state.ts";
import { deviceCookieName, deviceCookieOptions } from "./known-device.ts";
import { cameByLink, forgetLink, rememberLink } from "./link-session.ts";
import { mailResetLink } from "./password-reset.ts";
import { returnPath } from "./return-path.ts";
import { currentUser, pageClient } from "./session.ts";
import { type Credentials, signInWithinLimits } from "./sign-in.ts";

const email = z.string().trim().toLowerCase().min(1, "REQUIRED").max(254, "TOO_LONG").pipe(z.email("INVALID_EMAIL"));
const credentials = z.object({ email, password: z.string().min(1, "REQUIRED").max(256, "TOO_LONG") });
/** The kinds of link in supabase/templates. */
const confirmation = z.object({ token_hash: z.string().min(1).max(200), type: z.enum(["recovery", "magiclink", "signup"]) });
/** Auth hashes with bcrypt, which reads 72 bytes: beyond them two passwords would be the same. */
const newPassword = z.object({
  password: z
    .string()
    .min(10, "PASSWORD_TOO_SHORT")
    .refine((text) => Buffer.byteLength(text) <= 72, "TOO_LONG"),
  present: z.string().max(256, "TOO_LONG").default(""),
});

function formError(error: unknown, values: Record<string, string>): FormState {
  if (error instanceof AppError) {
    const waitSeconds = Number(error.facts.extra?.retryAfterSeconds ?? 0);
    return { status: "error", code: error.code, values, ...(waitSeconds > 0 && { waitSeconds }) };
  }
  log.error("account form failed", { error });
  return { status: "error", code: "INTERNAL", values };
}

/** Parses a form, or says which field is wrong. */
function parseForm<T>(schema: z.ZodType<T>, form: FormData): { value: T } | { failed: FormState } {
  const given = Object.fromEntries([...form].filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  const parsed = schema.safeParse(given);
  if (parsed.success) return { value: parsed.data };
  const fields = Object.fromEntries(parsed.error.issues.map((issue) => [String(issue.path[0]), issue.message]));
  return { failed: { status: "error", code: "VALIDATION_FAILED", fields, values: { email: given.email ?? "" } } };
}

/** Signs in from this device, within its limits, and remembers the device. */
async function signInHere(db: Awaited<ReturnType<typeof pageClient>>, given: Credentials): Promise<void> {
  const store = await cookies();
  const caller = { headers: await headers(), deviceToken: store.get(deviceCookieName())?.value };
  store.set(deviceCookieName(), await signInWithinLimits(db, given, caller), deviceCookieOptions());
}

export async function signIn(_previous: FormState, form: FormData): Promise<FormState> {
  const parsed = parseForm(credentials, form);
  if ("failed" in parsed) return parsed.failed;
  try {
    await signInHere(await pageClient(), parsed.value);
  } catch (error) {
    return formError(error, { email: parsed.value.email });
  }
  redirect(returnPath(form.get("next")));
}

/** Asks for the password of whoever is signed in, before a change that a stolen session must not make. The session before it ends. */
export async function signInAgain(password: string): Promise<FormState> {
  const parsed = credentials.shape.password.safeParse(password);
  if (!parsed.success) return { status: "error", code: "REQUIRED" };
  try {
    const db = await pageClient();
    const { data } = await db.auth.getSession(); // only to end it: the gateway checks the token itself
    const user = await currentUser();
    if (!user) return { status: "error", code: "UNAUTHENTICATED" };
    await signInHere(db, { email: user.email, password: parsed.data });
    if (data.session) await db.auth.admin.signOut(data.session.access_token, "local");
  } catch (error) {
    return formError(error, {});
  }
  return { status: "ok" };
}

export async function signOut(): Promise<void> {
  await (await pageClient()).auth.signOut({ scope: "local" });
  redirect("/sign-in");
}

/** Ends every other session of this account. Access tokens stay valid until they expire, at most an hour (docs/accounts.md). */
export async function signOutElsewhere(): Promise<void> {
  const { error } = await (await pageClient()).auth.signOut({ scope: "others" });
  if (error) throw authFailure(error);
  redirect("/dashboard/account");
}

/** Answers the same, and as fast, whether the address has an account or not. */
export async function requestPasswordReset(_previous: FormState, form: FormData): Promise<FormState> {
  const parsed = parseForm(z.object({ email }), form);
  if ("failed" in parsed) return parsed.failed;
  try {
    await mailResetLink(parsed.value.email, await headers(), after);
  } catch (error) {
    return formError(error, parsed.value);
  }
  return { status: "ok", values: parsed.value };
}

/** Whoever did not come by a link proves the present password: a session left open must not be enough to take an account over. */
export async function setNewPassword(_previous: FormState, form: FormData): Promise<FormState> {
  const parsed = parseForm(newPassword, form);
  if ("failed" in parsed) return parsed.failed;
  const { password, present } = parsed.value;
  try {
    const db = await pageClient();
    const user = await currentUser();
    if (!user) return { status: "error", code: "LINK_EXPIRED" };
    if (isCommonPassword(password, user.email)) throw new AppError("VALIDATION_FAILED", { detail: "The password is easy to guess." });
    const byLink = await cameByLink();
    if (!byLink) {
      if (present === "") return { status: "error", code: "VALIDATION_FAILED", fields: { present: "REQUIRED" } };
      try {
        await signInHere(db, { email: user.email, password: present });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "INVALID_CREDENTIALS") throw error;
        return { status: "error", code: "VALIDATION_FAILED", fields: { present: "NOT_YOUR_PASSWORD" } };
      }
    }
    // Hosted Supabase checks the present password too where "Require current password" is on.
    const { error } = await db.auth.updateUser({ password, ...(!byLink && { current_password: present }) });
    if (error) throw authFailure(error);
    await db.auth.signOut({ scope: "others" }); // sessions opened with the old password end
    await forgetLink();
  } catch (error) {
    return formError(error, {});
  }
  redirect(returnPath(form.get("next")));
}

/**
 * Spends the one-time token of an e-mail link. A person presses a button for it: programs that open every link of a mail
 * to check it would otherwise use the token up.
 */
export async function confirmLink(form: FormData): Promise<void> {
  const link = confirmation.safeParse({ token_hash: form.get("token_hash"), type: form.get("type") });
  const db = await pageClient();
  const { data, error } = link.success ? await db.auth.verifyOtp(link.data) : { data: null, error: link.error };
  if (error) {
    log.info("link not accepted", { error });
    redirect("/auth/confirm?spent=1");
  }
  // Only now is the address proven to be theirs. A password that somebody set before, in their name, must not stay.
  const first = isJustConfirmed(data?.user?.email_confirmed_at);
  if (first) await db.auth.updateUser({ password: randomBytes(32).toString("base64url") });
  await rememberLink();
  redirect(`/new-password${first ? "?first=1" : ""}`);
}

/** Whatever kind of link it was: this very link has confirmed the address. */
function isJustConfirmed(confirmedAt: string | null | undefined): boolean {
  return typeof confirmedAt === "string" && Date.now() - Date.parse(confirmedAt) < 60_000;
}
