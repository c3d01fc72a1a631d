/** The verdicts on accepted events, and GET /v1/requestStatus:retrieve, which returns them. */
import { mayReach } from "../access.ts";
import { bookConversion, changeConversion, findConversion, tally, type Upload } from "../book.ts";
import { type ClickProblem, findClickProblem } from "../click-ids.ts";
import type { Sim } from "../sim.ts";
import type { Account, Answer, Call, Conversion, IngestedEvent, IngestRequest } from "../sim-shapes.ts";
import { dataManagerCaller, permissionDenied, refuseRequest } from "./access.ts";

const prefix = "PROCESSING_ERROR_REASON_";
const clickReasons: Record<ClickProblem, (field: string) => string> = {
  unparseable: (field) => `INVALID_${field.toUpperCase()}`,
  "too recent": () => "TOO_RECENT_CLICK",
  expired: () => "EVENT_TOO_OLD",
  "not found": () => "CLICK_NOT_FOUND",
  precedes: () => "CONVERSION_PRECEDES_CLICK",
  "other account": () => "INVALID_OPERATING_ACCOUNT_FOR_CLICK",
  "internal once": () => "INTERNAL_ERROR",
};

/** Processes what is due, in the order it was accepted. Called before anything looks at the conversions. */
export function processDue(sim: Sim): void {
  for (const [requestId, dueAt] of sim.store.each("waiting")) {
    if (dueAt > sim.now()) continue;
    sim.store.remove("waiting", requestId);
    const request = sim.store.get("requests", requestId);
    if (request) sim.store.put("requests", requestId, { ...request, errors: processEvents(sim, request) });
  }
}

function processEvents(sim: Sim, { requestId, events }: IngestRequest): IngestRequest["errors"] {
  const errors: NonNullable<IngestRequest["errors"]> = [];
  for (const event of events) {
    const reason = processEvent(sim, event, requestId);
    tally(sim, { customerId: event.customerId, client: "ADS_DATA_CONNECTOR", actionId: event.actionId }, reason);
    if (!reason) continue;
    const known = errors.find((error) => error.destination === event.destination && error.reason === reason);
    if (known) known.indexes.push(event.index);
    else errors.push({ destination: event.destination, reason, indexes: [event.index] });
  }
  return errors;
}

function processEvent(sim: Sim, event: IngestedEvent, requestId: string): string | null {
  if (event.forcedReason) return event.forcedReason;
  const account = sim.store.get("accounts", event.customerId);
  const refusal = (account && userDataReason(account, event)) ?? clickReason(sim, account, event);
  if (refusal) return `${prefix}${refusal}`;
  const { customerId, actionId, orderId, value, currency, identifiers, time: conversionTime } = event;
  const upload: Upload = { customerId, actionId, orderId, value, currency, conversionTime, identifiers, via: "data_manager", requestId };
  const known = findConversion(sim, upload);
  if (known) return restate(sim, known, upload) ? null : `${prefix}DUPLICATE_TRANSACTION_ID`;
  bookConversion(sim, upload);
  return null;
}

function userDataReason(account: Account, { identifiers, adUserData }: IngestedEvent): string | null {
  if (!identifiers.phone && !identifiers.email) return null;
  if (!account.termsAccepted) return "DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED";
  if (adUserData === "CONSENT_DENIED") return "DENIED_CONSENT";
  return account.requiresConsent && adUserData !== "CONSENT_GRANTED" ? "NO_CONSENT" : null;
}

function clickReason(sim: Sim, account: Account | undefined, { identifiers, actionId, time }: IngestedEvent): string | null {
  const action = account?.conversionActions.find(({ id }) => id === actionId);
  if ((identifiers.gbraid || identifiers.wbraid) && action?.countingType === "ONE_PER_CLICK") {
    return "ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID";
  }
  const found = findClickProblem(sim, identifiers, time);
  return found && clickReasons[found.problem](found.field);
}

/**
 * Data Manager has no retraction. The same transaction id again overwrites value and currency, adds user data that was missing, and ignores
 * the rest; with nothing new it is a duplicate. What was retracted over the Ads API stays so.
 */
function restate(sim: Sim, known: Conversion, { value, currency, identifiers }: Upload): boolean {
  const { phone, email } = { ...identifiers, ...known.identifiers };
  const isNews =
    known.value !== value || known.currency !== currency || phone !== known.identifiers.phone || email !== known.identifiers.email;
  const isTaken = isNews && !known.isRetracted;
  const added = { ...known.identifiers, ...(phone && { phone }), ...(email && { email }) };
  changeConversion(sim, known, { sends: known.sends + 1, ...(isTaken && { value, currency, identifiers: added }) });
  return isTaken;
}

export function retrieveStatus(sim: Sim, call: Call): Answer {
  const grants = dataManagerCaller(sim, call);
  const request = sim.store.get("requests", call.url.searchParams.get("requestId") ?? "");
  if (!request) {
    const description = "The request ID is not valid.";
    throw refuseRequest([{ field: "request_id", reason: "INVALID_REQUEST_ID", description }], call.requestId);
  }
  for (const { customerId } of request.destinations) {
    const account = sim.store.get("accounts", customerId);
    // The call names no login account: Google takes the one of the request.
    if (!account || ![undefined, ...account.managers].some((login) => mayReach(grants, account, login)))
      throw permissionDenied(call.requestId);
  }
  const requestStatusPerDestination = request.destinations.map((_, index) => statusOf(sim, request, index));
  // A scripted reason may be one that no definition knows yet.
  const isScripted = request.events.some(({ forcedReason }) => forcedReason);
  const message = isScripted ? {} : { message: "datamanager.RetrieveRequestStatusResponse" };
  return { status: 200, body: { requestStatusPerDestination }, ...message };
}

function statusOf({ store }: Sim, { destinations, events, errors }: IngestRequest, index: number): object {
  const { json, customerId = "" } = destinations[index] ?? {};
  const total = events.filter(({ destination }) => destination === index).length;
  const common = { destination: json, eventsIngestionStatus: { recordCount: String(total) } };
  if (!errors) return { ...common, requestStatus: "PROCESSING" };
  const own = errors.filter(({ destination }) => destination === index);
  const failed = own.reduce((sum, { indexes }) => sum + indexes.length, 0);
  if (failed === 0) return { ...common, requestStatus: "SUCCESS" };
  const form = store.get("accounts", customerId)?.recordIndices ?? "none";
  const errorCounts = own.map(({ reason, indexes }) => ({
    recordCount: String(indexes.length),
    reason,
    ...(form !== "none" && { recordIndices: form === "text" ? indexes.map(String) : indexes }),
  }));
  return { ...common, requestStatus: failed === total ? "FAILED" : "PARTIAL_SUCCESS", errorInfo: { errorCounts } };
}
