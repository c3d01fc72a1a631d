/** Who may send to Data Manager, and where to. */

import { type Caller, mayReach, readCaller } from "../access.ts";
import { dataManagerScope } from "../accounts.ts";
import {
  badRequest,
  errorAnswer,
  errorInfo,
  type FieldViolation,
  Refusal,
  requestInfo,
  scopeMissing,
  unauthenticated,
} from "../failures.ts";
import type { Sim } from "../sim.ts";
import type { Account, Call } from "../sim-shapes.ts";
import type { DestinationBody, EventBody } from "./ingest-body.ts";

type Grants = Extract<Caller, { grants: unknown }>["grants"];

const domain = "datamanager.googleapis.com";

export function dataManagerCaller(sim: Sim, call: Call): Grants {
  const caller = readCaller(sim, call.headers.authorization);
  if ("problem" in caller) throw new Refusal(unauthenticated(caller.problem, domain));
  const grants = caller.grants.filter(({ scopes }) => scopes.includes(dataManagerScope));
  if (grants.length === 0) throw new Refusal(scopeMissing(domain));
  return grants;
}

/** The whole request is refused, and each violation says where. */
export function refuseRequest(violations: FieldViolation[], requestId: string): Refusal {
  const info = errorInfo({ reason: "INVALID_ARGUMENT", domain, metadata: { requestId } });
  return new Refusal(errorAnswer(400, [info, requestInfo(requestId), badRequest(violations)], "There was a problem with the request."));
}

export function permissionDenied(requestId: string): Refusal {
  const message = "The user does not have permission or the resource is not found.";
  return new Refusal(
    errorAnswer(403, [errorInfo({ reason: "PERMISSION_DENIED", domain, metadata: { requestId } }), requestInfo(requestId)], message),
  );
}

/** An account that the caller cannot reach looks like one that does not exist. */
export function reachAccount(
  { store }: Sim,
  grants: Grants,
  { operatingAccount, loginAccount }: DestinationBody,
  requestId: string,
): Account | null {
  const accountId = operatingAccount?.accountId ?? "";
  if (!/^\d{10}$/.test(accountId) || operatingAccount?.accountType !== "GOOGLE_ADS") return null;
  const account = store.get("accounts", accountId);
  if (!account?.isEnabled || !mayReach(grants, account, loginAccount?.accountId)) throw permissionDenied(requestId);
  return account;
}

export function checkDestination(
  account: Account | null | undefined,
  { productDestinationId = "" }: DestinationBody,
  index: number,
): FieldViolation[] {
  const at = `destinations.destinations[${index}]`;
  const refuse = (field: string, reason: string, description: string) => [{ field: `${at}.${field}`, reason, description }];
  if (!account) return refuse("operating_account", "INVALID_DESTINATION", "This Destination is not valid.");
  if (account.conversionCustomerId && account.conversionCustomerId !== account.customerId) {
    return refuse("operating_account", "INVALID_DESTINATION", "Conversions of this account live in another one.");
  }
  const action = account.conversionActions.find(({ id }) => id === productDestinationId);
  if (action?.status !== "ENABLED") {
    return refuse("product_destination_id", "INVALID_CONVERSION_ACTION_ID", "Conversion action ID is not valid.");
  }
  if (action.type !== "UPLOAD_CLICKS") {
    return refuse("product_destination_id", "INVALID_CONVERSION_ACTION_TYPE", "Conversion action type is not valid.");
  }
  return [];
}

/** Without a reference an event goes to every destination. */
export function destinationsOf({ destinationReferences = [] }: EventBody, destinations: DestinationBody[]): number[] {
  const all = destinations.map((_, index) => index);
  return destinationReferences.length === 0 ? all : all.filter((at) => destinationReferences.includes(destinations[at]?.reference ?? ""));
}
