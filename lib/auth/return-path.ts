const ownOrigin = "http://own.invalid";

/**
 * Where to go after signing in: a path of this app, or the dashboard. The result is parsed once more, because collapsing
 * `/.//evil.com` leaves `//evil.com`, which a browser takes for another site.
 */
export function returnPath(next: unknown): string {
  if (typeof next !== "string" || !next.startsWith("/") || !URL.canParse(next, ownOrigin)) return "/dashboard";
  const { origin, pathname, search } = new URL(next, ownOrigin);
  const isOurs = origin === ownOrigin && !pathname.startsWith("//");
  return isOurs ? pathname + search : "/dashboard";
}
