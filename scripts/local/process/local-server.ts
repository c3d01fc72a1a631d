import type { IncomingMessage, Server, ServerResponse } from "node:http";

/** Listens on loopback only. A taken port is an error that can be caught, with a message that names it. */
export function listenLocal(server: Server, name: string, port = 0): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new Error(`${name}: port ${port} is already in use.`) : error);
    });
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(`http://127.0.0.1:${typeof address === "object" && address ? address.port : port}`);
    });
  });
}

/** Does not wait for idle keep-alive connections, which would hold a stop for seconds. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

const bodyMaxBytes = 4 * 1024 * 1024;

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > bodyMaxBytes) throw new Error("The body is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
