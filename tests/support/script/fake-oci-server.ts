import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listenLocal, readBody, sendJson } from "#scripts/local/process/local-server.ts";
import type { ClickKind, DeliveryState, ScriptServer } from "./script-bench.ts";

const pageSize = 500;
const siteId = "0123456789abcdef0123456789abcdef";
const apiKey = "om_live_key-of-the-fake-server";

interface Job {
  row: Record<string, string | number>;
  state: DeliveryState;
  claim: string;
}

interface Report {
  queueIds: string[];
  claims?: Record<string, string>;
}

/** The contract of the script's API and nothing else: verify, export, ack, ack-failed over a queue in memory. */
export async function startFakeOciServer(): Promise<ScriptServer> {
  const jobs = new Map<string, Job>();
  const sessions = new Set<string>();
  const waiting = () => [...jobs.values()].filter((job) => job.state.status === "QUEUED");

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://fake");
    const text = (await readBody(request)).toString("utf8");
    const body = text ? JSON.parse(text) : {};
    if (request.method === "POST" && url.pathname === "/api/oci/v2/verify") return verify(request, response, body);
    if (!sessions.has(request.headers.authorization ?? "")) return sendProblem(response, 401, "INVALID_SESSION_TOKEN");
    if ((body.siteId ?? url.searchParams.get("siteId")) !== siteId) return sendProblem(response, 403, "FORBIDDEN");
    if (url.pathname === "/api/oci/google-ads-export") return exportRows(response, url.searchParams.get("markAsExported") === "true");
    if (url.pathname === "/api/oci/ack") return settle(response, body, { status: "COMPLETED" });
    if (url.pathname === "/api/oci/ack-failed") {
      return settle(response, body, { status: "FAILED", code: body.errorCode, category: body.errorCategory });
    }
    sendProblem(response, 404, "NOT_FOUND");
  });

  function verify(request: IncomingMessage, response: ServerResponse, body: { siteId?: string }): void {
    const isKnown = request.headers["x-api-key"] === apiKey && body.siteId === siteId;
    const token = randomUUID();
    if (isKnown) sessions.add(`Bearer ${token}`);
    if (isKnown) sendJson(response, 200, { session_token: token, expires_at: "2026-11-16T12:05:00Z" });
    else sendProblem(response, 401, "INVALID_CREDENTIALS");
  }

  function exportRows(response: ServerResponse, isClaiming: boolean): void {
    const all = waiting();
    const page = all.slice(0, pageSize);
    const claim = isClaiming ? randomUUID() : "";
    const rows = page.map((job) => ({ ...job.row, claim }));
    if (isClaiming) {
      for (const job of page) Object.assign(job, { state: { status: "PROCESSING" }, claim });
      if (all.length > pageSize) response.setHeader("x-opsmantik-more", "true");
    }
    sendJson(response, 200, isClaiming ? rows : { siteId, items: rows, counts: { queued: all.length, skipped: 0 }, warnings: [] });
  }

  function settle(response: ServerResponse, { queueIds: ids, claims = {} }: Report, state: DeliveryState): void {
    const isStale = (id: string) => state.status === "FAILED" && claims[id] !== undefined && claims[id] !== jobs.get(id)?.claim;
    const refused = ids.filter(isStale);
    const settled = ids.flatMap((id) => (isStale(id) ? [] : (jobs.get(id) ?? []))).filter((job) => isLegal(job.state, state));
    for (const job of settled) job.state = state;
    const updated = ids.filter((id) => jobs.get(id)?.state.status === state.status).length; // what holds now, whoever did it
    const reasons = Object.fromEntries(refused.map((id) => [id, "STALE_CLAIM"]));
    sendJson(response, 200, { ok: true, updated, ...(refused.length > 0 && { warnings: { refused, reasons } }) });
  }

  return {
    url: await listenLocal(server, "fake OCI server"),
    siteId,
    apiKey,
    pageSize,
    async enqueue(count, click: ClickKind = "gclid") {
      const ids = Array.from({ length: count }, () => `seal_${randomUUID()}`);
      for (const [index, id] of ids.entries()) jobs.set(id, { row: rowOf(id, click, index), state: { status: "QUEUED" }, claim: "" });
      return ids;
    },
    async statesOf(ids) {
      return ids.map((id) => jobs.get(id)?.state ?? { status: "QUEUED" });
    },
    async recover() {
      for (const job of jobs.values()) if (job.state.status === "PROCESSING") job.state = { status: "QUEUED" };
    },
    stop: () => closeServer(server),
  };
}

/** A true success wins whenever the row was ever claimed; a failure only while it still is. */
function isLegal(from: DeliveryState, to: DeliveryState): boolean {
  return to.status === "COMPLETED" ? from.status !== "COMPLETED" : from.status === "PROCESSING";
}

function rowOf(id: string, click: ClickKind, index: number): Job["row"] {
  return {
    id,
    orderId: id,
    gclid: "",
    wbraid: "",
    gbraid: "",
    [click]: click === "gclid" ? `gclid-${id}` : `0AAAA-${id}`,
    conversionName: "OpsMantik Sale",
    conversionTime: "2026-11-16 14:03:22+0300",
    conversionValue: 1500.5 + index,
    conversionCurrency: "TRY",
  };
}

function sendProblem(response: ServerResponse, status: number, code: string): void {
  sendJson(response, status, { error: code, code, message: `The fake server says ${code}.` });
}
