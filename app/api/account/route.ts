import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { deleteMyAccount } from "#lib/tenancy/my-account.ts";

/** DELETE /api/account ends the caller's account, once no open site depends on it. */
export const DELETE = handler({ guard: signedIn, run: ({ actor }) => deleteMyAccount(actor.db) });
