/**
 * Preloaded with `node --import` before Next: cuts User-Agent to 512 characters on every http server of the process, before anybody
 * reads it. Next runs `[\w-]+-Google` over the whole header on every route; that is quadratic: 1.3 ms at 1 kB, 59 ms at 7.5 kB and up to
 * 1.2 s at 15 kB. Node's limit for all headers together stays as it is, because a session's cookies need it.
 *
 * Plain JavaScript: `npm start` also runs on a Node that does not strip types.
 */
import { Server as HttpServer } from "node:http";
import { Server as HttpsServer } from "node:https";

const userAgentMaxChars = 512;

/** Every event with which a server hands a request to somebody. */
const requestEvents = new Set(["request", "checkContinue", "checkExpectation", "upgrade", "connect"]);

/**
 * Only the first User-Agent keeps its text, as in Node's own `headers`: whoever joins several would get a long one again. The others are
 * emptied, not removed, because Node remembers how many headers there are. `headers` may have been built already; `headersDistinct` is
 * built from the raw ones when somebody asks for it.
 * @param {import("node:http").IncomingMessage} request
 */
function cutUserAgent({ rawHeaders, headers }) {
  let keptChars = userAgentMaxChars;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== "user-agent") continue;
    rawHeaders[index + 1] = (rawHeaders[index + 1] ?? "").slice(0, keptChars);
    keptChars = 0;
  }
  if (headers["user-agent"]) headers["user-agent"] = headers["user-agent"].slice(0, userAgentMaxChars);
}

for (const { prototype } of [HttpServer, HttpsServer]) {
  const { emit } = prototype;
  prototype.emit = /** @type {typeof emit} */ (
    function (event, ...rest) {
      if (requestEvents.has(event)) cutUserAgent(rest[0]);
      return Reflect.apply(emit, this, [event, ...rest]);
    }
  );
}
