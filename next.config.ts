import type { NextConfig } from "next";
import createNextIntlPlugin from "next-intl/plugin";

const withNextIntl = createNextIntlPlugin("./lib/i18n/request.ts");

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

const config: NextConfig = {
  poweredByHeader: false,
  reactStrictMode: true,
  // Read when a page is shown, so the build cannot see it by itself.
  outputFileTracingIncludes: { "/dashboard/site/*/connections/**": ["./scripts/google-ads-oci/GoogleAdsScript.js"] },
  headers: async () => [
    { source: "/:path*", headers: securityHeaders },
    { source: "/:file(om\\.v\\d+\\.js)", headers: trackerHeaders },
  ],
};

export default withNextIntl(config);
