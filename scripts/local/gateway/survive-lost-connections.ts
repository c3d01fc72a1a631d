/**
 * The gateway leaves rejected promises behind when Postgres goes away, and Node ends a process for that. Here it is an
 * outage like any other: requests fail until Postgres is back.
 */
export function surviveLostConnections(): void {
  process.on("unhandledRejection", (error) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!/^(CONNECTION_|CONNECT_|ECONN|57P0)/.test(code)) throw error;
  });
}
