import type { SiteId } from "#lib/site.ts";

/** How a call is signed and sent, ready to run once the secret is filled in. tests/integration/ingest/call-examples.test.ts runs them. */

interface Example {
  appUrl: string;
  siteId: SiteId;
}

export const callLanguages = ["curl", "php", "node"] as const;
type CallLanguage = (typeof callLanguages)[number];

const makers: Record<CallLanguage, (url: string, siteId: string) => string> = {
  curl: (url, siteId) => `SECRET='paste your call secret here'
BODY='{"event_id":"call-1","phone_number":"+905321112233"}'
TS=$(date +%s)
SIGNATURE=$(printf '%s.%s' "$TS" "$BODY" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/^.* //')
curl -sS '${url}' \\
  -H 'content-type: application/json' \\
  -H 'x-ops-site-id: ${siteId}' \\
  -H "x-ops-ts: $TS" \\
  -H "x-ops-signature: $SIGNATURE" \\
  --data-raw "$BODY"`,
  php: (url, siteId) => `<?php
$secret = 'paste your call secret here';
$body = json_encode(['event_id' => 'call-1', 'phone_number' => '+905321112233']);
$ts = (string) time();
$request = curl_init('${url}');
curl_setopt_array($request, [
  CURLOPT_POST => true,
  CURLOPT_POSTFIELDS => $body,
  CURLOPT_RETURNTRANSFER => true,
  CURLOPT_HTTPHEADER => [
    'content-type: application/json',
    'x-ops-site-id: ${siteId}',
    'x-ops-ts: ' . $ts,
    'x-ops-signature: ' . hash_hmac('sha256', $ts . '.' . $body, $secret),
  ],
]);
echo curl_exec($request);`,
  node: (url, siteId) => `import { createHmac } from "node:crypto";

const secret = "paste your call secret here";
const body = JSON.stringify({ event_id: "call-1", phone_number: "+905321112233" });
const ts = String(Math.floor(Date.now() / 1000));
const response = await fetch("${url}", {
  method: "POST",
  headers: {
    "content-type": "application/json",
    "x-ops-site-id": "${siteId}",
    "x-ops-ts": ts,
    "x-ops-signature": createHmac("sha256", secret).update(\`\${ts}.\${body}\`).digest("hex"),
  },
  body,
});
console.log(response.status, await response.text());`,
};

export const callExample = (language: CallLanguage, { appUrl, siteId }: Example): string =>
  makers[language](new URL("/api/call-event", appUrl).href, siteId);
