/** Where to go after signing in: a path of ours, or the dashboard. `//evil.com` and `/\evil.com` are not paths of ours. */
export function returnPath(next: unknown): string {
  if (typeof next !== "string" || !next.startsWith("/")) return "/dashboard";
  const url = URL.canParse(next, "http://own.invalid") ? new URL(next, "http://own.invalid") : undefined;
  return url?.origin === "http://own.invalid" ? url.pathname + url.search : "/dashboard";
}
