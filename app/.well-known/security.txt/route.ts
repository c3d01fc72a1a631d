import { env } from "#lib/env.ts";
import { handler } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";

const validDays = 180;

/** GET /.well-known/security.txt says whom to tell about a weakness (RFC 9116); 404 where the deployment names nobody. */
export const GET = handler({
  guard: () => null,
  run: () => {
    const { SECURITY_CONTACT, APP_URL } = env();
    if (!SECURITY_CONTACT) throw new AppError("NOT_FOUND");
    const expires = new Date(Date.now() + validDays * 86_400_000).toISOString();
    const canonical = new URL("/.well-known/security.txt", APP_URL).href;
    const lines = [`Contact: ${SECURITY_CONTACT}`, `Expires: ${expires}`, "Preferred-Languages: tr, en", `Canonical: ${canonical}`];
    return new Response(`${lines.join("\n")}\n`, { headers: { "content-type": "text/plain; charset=utf-8" } });
  },
});
