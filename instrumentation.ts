/** Runs once when a server starts, before it takes requests. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { env } = await import("#lib/env.ts");
  try {
    env();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
  const { notePeerAddresses } = await import("#lib/http/note-peer.ts");
  notePeerAddresses();
}

/** Errors that reach Next (pages, server components): one log line that joins the digest a user sees to its request. */
export async function onRequestError(
  error: unknown,
  request: { path: string; method: string; headers: Record<string, string | string[] | undefined> },
): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { log } = await import("#lib/platform/log.ts");
  const digest = error instanceof Error && "digest" in error ? error.digest : undefined;
  const requestId = request.headers["x-request-id"];
  log.error("page failed", { requestId, digest, method: request.method, path: request.path.split("?")[0], error });
}
