/** Run as a thread of its own: one execution of a script as Google Ads runs it, synchronous from its first line to its last. */
import { runInContext } from "node:vm";
import { type MessagePort, workerData } from "node:worker_threads";
import { type AdsEvent, type AdsExecution, adsServices } from "./ads-services.ts";
import { createEs5Context } from "./es5-context.ts";

const { source, execution, port, events, signal } = workerData as {
  source: string;
  execution: AdsExecution;
  port: MessagePort;
  events: MessagePort;
  signal: Int32Array;
};

const emit = (event: AdsEvent) => events.postMessage(event);
const { globals, clock } = adsServices(execution, { emit, port, signal });
const context = createEs5Context(globals);
const now = Date.now;
context.hostNow = () => now() + clock.aheadMs;
runInContext("Date.now = hostNow; delete this.hostNow;", context);

let error: string | null = null;
try {
  runInContext(source, context, { filename: "GoogleAdsScript.js" });
  runInContext("main()", context);
} catch (thrown) {
  error = String(thrown);
}
emit({ kind: "ended", error });
port.close();
events.close();
