import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { accountInput, deleteMyAccount, renameMe } from "#lib/tenancy/my-account.ts";

/** PATCH /api/account changes the caller's name, as their teams read it. */
export const PATCH = handler({ guard: signedIn, body: accountInput, run: ({ actor, body }) => renameMe(actor.db, body) });

/** DELETE /api/account ends the caller's account, once no open site depends on it. */
export const DELETE = handler({ guard: signedIn, run: ({ actor }) => deleteMyAccount(actor.db) });
