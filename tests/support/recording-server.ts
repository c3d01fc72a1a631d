import { createServer, type IncomingHttpHeaders } from "node:http";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface RecordingServer {
  url: string;
  requests: RecordedRequest[];
  stop(): Promise<void>;
}

/** A web server that remembers what it was asked and answers with the status that `answer` chooses. */
export async function startRecordingServer(
  answer: (request: RecordedRequest, count: number) => number | Promise<number> = () => 200,
): Promise<RecordingServer> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (request, response) => {
    const recorded = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: (await readBody(request)).toString("utf8"),
    };
    requests.push(recorded);
    response.writeHead(await answer(recorded, requests.length)).end();
  });
  const url = await listenLocal(server, "recording server");
  return { url, requests, stop: () => closeServer(server) };
}
