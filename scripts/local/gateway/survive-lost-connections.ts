/** Errors that only mean: Postgres went away. The second kind is the driver writing to a socket that closed a moment before. */
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return /^(CONNECTION_|CONNECT_|ECONN|EPIPE|57P0)/.test(code) || /node_modules\/postgres\/src\/connection\.js/.test(error.stack ?? "");
}

/**
 * When Postgres goes down, the gateway and its driver leave uncaught errors, and Node ends a process for
 * that. Here it is an outage like any other: requests fail until Postgres is back.
 */
export function surviveLostConnections(): void {
  process.on("uncaughtException", (error) => {
    if (isLostConnection(error)) return;
    console.error(error);
    process.exit(1);
  });
}
