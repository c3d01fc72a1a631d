/**
 * Google, as far as delivery meets it: OAuth, Data Manager and the Ads API, with one state behind them. It refuses what Google refuses, in
 * Google's shapes, counts one conversion per order id, and gives verdicts on a clock that tests can move. docs/google-simulator.md.
 */
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { checkFields } from "#lib/providers/check-fields.ts";
import { closeServer, listenLocal, readBody, sendJson } from "../process/local-server.ts";
import { answerAdmin } from "./admin.ts";
import { processDue } from "./data-manager/verdicts.ts";
import { Refusal } from "./failures.ts";
import { faultAnswer, takeFault } from "./faults.ts";
import { findHandler, readCall } from "./routes.ts";
import { openSim, type Sim, type SimOptions } from "./sim.ts";
import type { Answer, Call, Fault } from "./sim-shapes.ts";

export interface GoogleOptions extends SimOptions {
  port?: number;
}

export interface Google {
  url: string;
  stop(): Promise<void>;
}

export async function startGoogle(options: GoogleOptions = {}): Promise<Google> {
  const sim = openSim(options);
  const stopping = new AbortController();
  const server = createServer(async (request, response) => {
    try {
      const call = readCall(sim, request, (await readBody(request)).toString("utf8"));
      await (call.url.pathname.startsWith("/__sim") ? serveAdmin(sim, call, response) : serve(sim, call, response, stopping.signal));
    } catch (error) {
      if (!stopping.signal.aborted) sendJson(response, 500, { simulator: error instanceof Error ? error.stack : String(error) });
    }
  });
  const url = await listenLocal(server, "Google", options.port);
  return {
    url,
    async stop() {
      stopping.abort();
      await closeServer(server);
      sim.store.close();
    },
  };
}

function serveAdmin(sim: Sim, call: Call, response: ServerResponse): void {
  processDue(sim);
  const { status, body, logged } = answerAdmin(sim, call);
  if (logged) record(sim, { ...call, method: logged.method }, { status, body, rows: logged.rows }, { ...logged, isAnswered: true });
  else sim.store.commit();
  sendJson(response, status, body);
}

/** Everything up to the commit happens in one step, so no call sees half of another. Only then is the caller answered, or not. */
async function serve(sim: Sim, call: Call, response: ServerResponse, signal: AbortSignal): Promise<void> {
  processDue(sim);
  const fault = takeFault(sim, call);
  if (fault?.kind === "timeout") {
    record(sim, call, { status: 0, body: null }, { fault, isAnswered: false });
    return hangUp(response, fault, signal);
  }
  const scripted = fault && faultAnswer(fault, call);
  const answer = scripted ?? checkOwn(handle(sim, { ...call, forced: fault?.errors ?? [] }));
  record(sim, call, answer, { fault, isAnswered: fault?.kind !== "timeout_after_accept" });
  const waitMs = Math.max(sim.settings().callMs, fault?.kind === "slow" ? (fault.delayMs ?? 1_000) : 0);
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  if (fault?.kind === "timeout_after_accept") return hangUp(response, fault, signal);
  send(response, call, answer, fault?.kind === "malformed");
}

function handle(sim: Sim, call: Call): Answer {
  try {
    return findHandler(call)(sim, call);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}

/** The simulator must not answer with a field that Google does not have. */
function checkOwn(answer: Answer): Answer {
  const problems = answer.message ? checkFields(answer.message, JSON.parse(JSON.stringify(answer.body))) : [];
  if (problems.length > 0) throw new Error(`The simulator's answer is none of Google's: ${problems.join("; ")}`);
  return answer;
}

interface Told {
  fault?: Fault | null;
  isAnswered: boolean;
  accounts?: string[];
}

function record(
  { store, now }: Sim,
  call: Call,
  { status, rows = [], isValidateOnly }: Answer,
  { fault, isAnswered, accounts }: Told,
): void {
  const { service, method, requestId } = call;
  store.commit({
    at: new Date(now()).toISOString(),
    ...{ service, method, accounts: accounts ?? call.accounts, requestId, status, isAnswered, rows },
    ...(fault && { fault: fault.kind }),
    ...(isValidateOnly && { isValidateOnly }),
  });
}

/** The connection ends without an answer, at once or after a while. */
async function hangUp(response: ServerResponse, { delayMs = 0 }: Fault, signal: AbortSignal): Promise<void> {
  if (delayMs > 0) await sleep(delayMs, undefined, { signal });
  response.destroy();
}

function send(response: ServerResponse, { service, requestId }: Call, { status, body, headers = {} }: Answer, isCut: boolean): void {
  const isText = typeof body === "string" || body === null;
  const text = isText ? (body ?? "<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>") : JSON.stringify(body);
  response.writeHead(status, {
    "content-type": isText ? "text/html; charset=utf-8" : "application/json; charset=UTF-8",
    ...(service === "ads_api" && { "request-id": requestId }),
    ...headers,
  });
  response.end(isCut ? text.slice(0, text.length / 2) : text);
}
