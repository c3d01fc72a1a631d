import { type IncomingMessage, Server } from "node:http";
import { peerHeader } from "./caller-address.ts";

const noted = Symbol.for("opsmantik: peers are noted");

/**
 * Routes and pages see headers only, and Next keeps an x-forwarded-for that the caller sent. So each request gets the socket's address in
 * a header of ours, over whatever came under that name. Called once when the server starts.
 */
export function notePeerAddresses(): void {
  if (noted in Server.prototype) return;
  const { emit } = Server.prototype;
  Object.assign(Server.prototype, {
    [noted]: true,
    emit(this: Server, event: string, ...given: [IncomingMessage, ...unknown[]]): boolean {
      if (event === "request") given[0].headers[peerHeader] = given[0].socket.remoteAddress ?? "";
      return Reflect.apply(emit, this, [event, ...given]);
    },
  });
}
