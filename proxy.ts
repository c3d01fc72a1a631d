import { type NextRequest, NextResponse } from "next/server";
import { refreshOnly, sessionClient } from "#lib/db/session-client.ts";
import { env } from "#lib/env.ts";
import { isCrossSiteChange } from "#lib/http/own-origin.ts";
import { newRequestId } from "#lib/platform/log.ts";

/** Pages only: machine routes pay nothing for it, and handler() guards the others. Public files are named one by one. */
export const config = {
  matcher: [
    {
      source:
        "/((?!api/|v1/|\\.well-known/|_next/|om\\.v\\d+\\.js$|verify\\.html$|icon\\.svg$|icon-\\w+\\.png$|apple-icon\\.png$|opengraph-image\\.png$|manifest\\.webmanifest$|favicon\\.ico$).*)",
    },
  ],
};

function contentSecurityPolicy(nonce: string): string {
  const { NODE_ENV } = env();
  const development = NODE_ENV === "development";
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${development ? " 'unsafe-eval'" : ""}`,
    `style-src 'self' ${development ? "'unsafe-inline'" : `'nonce-${nonce}'`}`,
    "style-src-attr 'unsafe-inline'", // React renders style="" for sizes known only at run time
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** For every page: forms of our own pages only (Next compares hosts alone, and lets `Origin: null` pass), a request id, a nonce with its policy, and a session refreshed before the page reads it. */
export default async function proxy(request: NextRequest): Promise<NextResponse> {
  if (isCrossSiteChange(request)) return new NextResponse(null, { status: 403 });
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
  const policy = contentSecurityPolicy(nonce);
  const requestId = newRequestId();
  const headers = new Headers(request.headers);
  headers.set("x-nonce", nonce);
  headers.set("content-security-policy", policy);
  headers.set("x-request-id", requestId);
  headers.set("x-path", request.nextUrl.pathname + request.nextUrl.search);

  let response = NextResponse.next({ request: { headers } });
  const db = sessionClient({
    getAll: () => request.cookies.getAll(),
    setAll: refreshOnly((list) => {
      for (const { name, value } of list) request.cookies.set(name, value);
      headers.set("cookie", request.cookies.toString());
      response = NextResponse.next({ request: { headers } }); // with the same headers, or a refresh would lose the nonce
      for (const { name, value, options } of list) response.cookies.set(name, value, options);
    }),
  });
  await db.auth.getSession().catch(() => undefined); // refreshes when due; the page itself decides what a failure means

  response.headers.set("content-security-policy", policy);
  response.headers.set("x-request-id", requestId);
  return response;
}
