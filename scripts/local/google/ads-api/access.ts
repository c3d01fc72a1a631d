/** Who may call the Ads API for which account, and with which version. */

import { mayReach, readCaller } from "../access.ts";
import { adsScope } from "../accounts.ts";
import { Refusal, scopeMissing } from "../failures.ts";
import type { Sim } from "../sim.ts";
import type { Account, Call } from "../sim-shapes.ts";
import { adsFailure, refuseCall } from "./ads-failure.ts";

const newestVersion = 26;
/** From that day on. Where Google named only a month, its end. The newest works here for ever, or our tests would end with it. */
const sunsets: Record<number, string> = {
  20: "2026-06-10",
  21: "2026-08-05",
  22: "2026-10-07",
  23: "2027-02-28",
  24: "2027-05-31",
  25: "2027-08-31",
};
const tokenProblems = {
  missing: ["OAUTH_TOKEN_HEADER_INVALID", "No OAuth token was found in the header."],
  invalid: ["OAUTH_TOKEN_INVALID", "The OAuth token in the header is not valid."],
  expired: ["OAUTH_TOKEN_EXPIRED", "The OAuth token in the header has expired."],
  revoked: ["OAUTH_TOKEN_REVOKED", "The OAuth token in the header has been revoked."],
} as const;

export function requireVersion({ now }: Sim, call: Call): void {
  const version = Number(call.version.slice(1));
  if (version > newestVersion) throw new Refusal({ status: 404, body: null });
  const isEnded = version !== newestVersion && now() >= Date.parse(sunsets[version] ?? "2026-01-01");
  if (isEnded) {
    const message = ` Version ${call.version} is deprecated. Requests to this version will be blocked.`;
    throw refuseCall(call, 400, { requestError: "UNSUPPORTED_VERSION" }, message);
  }
}

export function reachCustomer(sim: Sim, call: Call): Account {
  const caller = readCaller(sim, call.headers.authorization);
  if ("problem" in caller) {
    const [code, message] = tokenProblems[caller.problem];
    throw new Refusal(adsFailure(call, 401, [{ errorCode: { authenticationError: code }, message }]));
  }
  const grants = caller.grants.filter(({ scopes }) => scopes.includes(adsScope));
  if (grants.length === 0) throw new Refusal(scopeMissing("googleads.googleapis.com"));
  const [customerId = ""] = call.accounts;
  const login = call.headers["login-customer-id"];
  for (const id of [customerId, ...(login === undefined ? [] : [String(login)])]) {
    if (!/^\d{10}$/.test(id)) throw refuseCall(call, 400, { requestError: "INVALID_CUSTOMER_ID" }, `Invalid customer ID '${id}'.`);
  }
  const account = sim.store.get("accounts", customerId);
  if (!account || !mayReach(grants, account, login === undefined ? undefined : String(login))) {
    const message =
      "User doesn't have permission to access customer. Note: If you're accessing a client customer, the manager's customer id must be set in the 'login-customer-id' header.";
    throw refuseCall(call, 403, { authorizationError: "USER_PERMISSION_DENIED" }, message);
  }
  if (!account.isEnabled) {
    const message = "The customer account can't be accessed because it is not yet enabled or has been deactivated.";
    throw refuseCall(call, 403, { authorizationError: "CUSTOMER_NOT_ENABLED" }, message);
  }
  return account;
}

/** A project that Google has not approved is refused as a whole. */
export function requireApproval(account: Account, method: "uploads" | "adjustments", call: Call): void {
  if (account[method] !== "denied") return;
  const message = "The Google Cloud project is not approved to access production accounts.";
  throw refuseCall(call, 403, { authorizationError: "CLOUD_PROJECT_NOT_APPROVED_FOR_PRODUCTION" }, message);
}
