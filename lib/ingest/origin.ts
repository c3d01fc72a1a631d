/** Whether a page may send events for a site: https on one of its domains or their www, http only on localhost. */
export function isAllowedOrigin(origin: string | null, domains: readonly string[]): origin is string {
  if (!origin || !URL.canParse(origin)) return false;
  const { protocol, hostname, origin: canonical } = new URL(origin);
  if (origin !== canonical) return false; // a browser sends scheme, host and port, and nothing else
  const listed = domains.includes(hostname) || (hostname.startsWith("www.") && domains.includes(hostname.slice(4)));
  return listed && (protocol === "https:" || (protocol === "http:" && hostname === "localhost"));
}
