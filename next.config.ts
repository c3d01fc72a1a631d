import type { NextConfig } from "next";
import createNextIntlPlugin from "next-intl/plugin";
import { deploymentId } from "./lib/env.ts";
import { deriveClientMessages } from "./lib/i18n/client-messages.ts";

/** Messages are compiled by the build, so no browser loads the parser. */
const withNextIntl = createNextIntlPlugin({
  requestConfig: "./lib/i18n/request.ts",
  experimental: { messages: { path: "./lib/i18n/messages", format: "json", locales: "infer", precompile: true } },
});

/** The same for every response. The content security policy has a nonce per request, so proxy.ts sets it. */
const securityHeaders = [
  { key: "x-content-type-options", value: "nosniff" },
  { key: "x-frame-options", value: "DENY" },
  { key: "referrer-policy", value: "strict-origin-when-cross-origin" },
  { key: "permissions-policy", value: "camera=(), microphone=(), geolocation=(), payment=()" },
  { key: "cross-origin-opener-policy", value: "same-origin" },
  ...(process.env.NODE_ENV === "production" ? [{ key: "strict-transport-security", value: "max-age=63072000; includeSubDomains" }] : []),
];

/** A version of the tracker never changes, and any site may load it. */
const trackerHeaders = [
  { key: "cache-control", value: "public, max-age=31536000, immutable" },
  { key: "access-control-allow-origin", value: "*" },
  { key: "cross-origin-resource-policy", value: "cross-origin" },
];

/** Beside the page's own, which allows its one script and its one style and no connection at all. */
const verifierPolicy = "connect-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const deployment = deploymentId();

const config: NextConfig = {
  poweredByHeader: false,
  // With Skew Protection, Vercel answers a page from before a deployment with that deployment's own files.
  ...(deployment && { deploymentId: deployment }),
  // A page that was fetched because a pointer came near is shown as it was for at most this long; live pages then catch up by themselves.
  experimental: { staleTimes: { static: 30 } },
  reactStrictMode: true,
  // The dev server starts before the source is what it will be, so there every page carries all messages.
  ...(process.env.NODE_ENV === "production" && { env: { CLIENT_MESSAGES: JSON.stringify(deriveClientMessages(process.cwd())) } }),
  // Read when a page is shown, so the build cannot see it by itself.
  outputFileTracingIncludes: {
    "/dashboard/site/*/connections/**": ["./scripts/google-ads-oci/GoogleAdsScript.js"],
    "/dashboard/site/*/setup": ["./scripts/google-ads-oci/GoogleAdsScript.js"],
  },
  headers: async () => [
    { source: "/:path*", headers: securityHeaders },
    { source: "/verify.html", headers: [{ key: "content-security-policy", value: verifierPolicy }] },
    { source: "/:file(om\\.v\\d+\\.js)", headers: trackerHeaders },
  ],
};

export default withNextIntl(config);
