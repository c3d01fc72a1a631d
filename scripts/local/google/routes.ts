import type { IncomingMessage } from "node:http";
import { reachCustomer, requireApproval, requireVersion } from "./ads-api/access.ts";
import { uploadAdjustments } from "./ads-api/adjustments.ts";
import { uploadClickConversions } from "./ads-api/click-conversions.ts";
import { search } from "./ads-api/search.ts";
import { consentPage } from "./consent-page.ts";
import { ingestEvents } from "./data-manager/ingest.ts";
import { retrieveStatus } from "./data-manager/verdicts.ts";
import { Refusal } from "./failures.ts";
import { exchangeToken } from "./oauth.ts";
import { newRequestId, type Sim } from "./sim.ts";
import type { Answer, Call } from "./sim-shapes.ts";

type Handler = (sim: Sim, call: Call) => Answer;

const adsPath = /^\/googleads\/(v\d+)\/customers\/([^/:]+)(?::|\/googleAds:)(\w+)$/;

const handlers: Record<string, { httpMethods: string[]; handle: Handler }> = {
  "oauth token": { httpMethods: ["POST"], handle: exchangeToken },
  "oauth auth": { httpMethods: ["GET", "POST"], handle: consentPage },
  "data_manager ingest": { httpMethods: ["POST"], handle: ingestEvents },
  "data_manager retrieve": { httpMethods: ["GET"], handle: retrieveStatus },
  "ads_api uploadClickConversions": {
    httpMethods: ["POST"],
    handle: (sim, call) => {
      requireVersion(sim, call);
      const account = reachCustomer(sim, call);
      requireApproval(account, "uploads", call);
      return uploadClickConversions(sim, call, account);
    },
  },
  "ads_api uploadConversionAdjustments": {
    httpMethods: ["POST"],
    handle: (sim, call) => {
      requireVersion(sim, call);
      const account = reachCustomer(sim, call);
      requireApproval(account, "adjustments", call);
      return uploadAdjustments(sim, call, account);
    },
  },
  "ads_api search": {
    httpMethods: ["POST"],
    handle: (sim, call) => {
      requireVersion(sim, call);
      return search(sim, call, reachCustomer(sim, call));
    },
  },
};

export function findHandler({ service, method, httpMethod }: Call): Handler {
  const found = handlers[`${service} ${method}`];
  if (!found?.httpMethods.includes(httpMethod)) throw new Refusal({ status: 404, body: null });
  return found.handle;
}

/** What a request asks for, before anybody has looked at its rights. */
export function readCall(sim: Sim, request: IncomingMessage, text: string): Call {
  const url = new URL(request.url ?? "", "http://google");
  const common = {
    httpMethod: request.method ?? "",
    headers: request.headers,
    url,
    text,
    requestId: newRequestId(),
    version: "",
    forced: [],
  };
  const [, version = "", customerId = "", adsMethod = ""] = adsPath.exec(url.pathname) ?? [];
  if (version) return { ...common, service: "ads_api", method: adsMethod, accounts: [customerId], version };
  if (url.pathname === "/datamanager/v1/events:ingest") {
    return { ...common, service: "data_manager", method: "ingest", accounts: destinationAccounts(text) };
  }
  if (url.pathname === "/datamanager/v1/requestStatus:retrieve") {
    const known = sim.store.get("requests", url.searchParams.get("requestId") ?? "");
    return { ...common, service: "data_manager", method: "retrieve", accounts: known?.destinations.map((to) => to.customerId) ?? [] };
  }
  if (url.pathname.startsWith("/__sim")) return { ...common, service: "script", method: "upload", accounts: [] };
  return { ...common, service: "oauth", method: url.pathname.replace("/oauth2/", ""), accounts: grantedAccounts(sim, text) };
}

function destinationAccounts(text: string): string[] {
  try {
    const { destinations = [] }: { destinations?: { operatingAccount?: { accountId?: string } }[] } = JSON.parse(text);
    return destinations.map(({ operatingAccount }) => String(operatingAccount?.accountId));
  } catch {
    return [];
  }
}

function grantedAccounts({ store }: Sim, text: string): string[] {
  const token = new URLSearchParams(text).get("refresh_token");
  const owners = store.values("accounts").filter(({ refreshTokens }) => refreshTokens.some((grant) => grant.token === token));
  return owners.map(({ customerId }) => customerId);
}
