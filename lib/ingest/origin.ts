/** Whether a page may send events for a site: https on one of its domains or their www, http only on localhost. */
export function isAllowedOrigin(origin: string | null, domains: readonly string[]): origin is string {
  if (!origin) return false;
  // Nearly every request; parsing an address takes longer than all the rest of this.
  if (domains.some((domain) => origin === `https://${domain}` || origin === `https://www.${domain}`)) return true;
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname, origin: canonical } = new URL(origin);
  if (origin !== canonical) return false; // a browser sends scheme, host and port, and nothing else
  const listed = domains.includes(hostname) || (hostname.startsWith("www.") && domains.includes(hostname.slice(4)));
  return listed && (protocol === "https:" || (protocol === "http:" && hostname === "localhost"));
}
