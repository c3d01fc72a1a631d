/** POST /v1/events:ingest takes all events of a request or none. The verdict on each comes later, by requestStatus. */
import type { FieldViolation } from "../failures.ts";
import { parseJson } from "../parse-json.ts";
import type { Sim } from "../sim.ts";
import type { Answer, Call, Identifiers, IngestedEvent, IngestRequest } from "../sim-shapes.ts";
import { checkDestination, dataManagerCaller, destinationsOf, reachAccount, refuseRequest } from "./access.ts";
import { checkEvent } from "./check-event.ts";
import type { EventBody, IngestBody } from "./ingest-body.ts";

const eventsMax = 2000;
const destinationsMax = 10;

export function ingestEvents(sim: Sim, call: Call): Answer {
  const grants = dataManagerCaller(sim, call);
  const body = parseJson<IngestBody>("datamanager.IngestEventsRequest", call.text);
  const { destinations = [], events = [], validateOnly = false } = body;
  const sizes = checkSizes(body);
  if (sizes.length > 0) throw refuseRequest(sizes, call.requestId);
  const accounts = destinations.map((destination) => reachAccount(sim, grants, destination, call.requestId));
  const rules = {
    now: sim.now(),
    encoding: body.encoding,
    references: destinations.map(({ reference = "" }) => reference),
    isValidateOnly: validateOnly,
    allowsUserData: accounts.every((account) => account?.enhancedConversionsForLeads),
  };
  const violations = [
    ...destinations.flatMap((destination, index) => checkDestination(accounts[index], destination, index)),
    ...events.flatMap((event, index) => checkEvent(event, index, rules)),
  ];
  if (violations.length > 0) throw refuseRequest(violations, call.requestId);
  if (!validateOnly) accept(sim, call, body);
  return {
    status: 200,
    body: { requestId: call.requestId },
    message: "datamanager.IngestEventsResponse",
    isValidateOnly: validateOnly,
    rows: events.map((event) => ({
      orderId: event.transactionId ?? null,
      action: destinationsOf(event, destinations)
        .map((at) => destinations[at]?.productDestinationId)
        .join(","),
      kind: "CONVERSION",
      value: event.conversionValue ?? null,
      currency: event.currency ?? null,
      outcome: validateOnly ? "VALID" : "ACCEPTED",
    })),
  };
}

function checkSizes({ destinations = [], events = [], encoding }: IngestBody): FieldViolation[] {
  const refuse = (field: string, reason: string, description: string) => [{ field, reason, description }];
  if (destinations.length === 0) return refuse("destinations", "REQUIRED_FIELD_MISSING", "Required field is missing.");
  if (destinations.length > destinationsMax) return refuse("destinations", "TOO_MANY_DESTINATIONS", "At most 10 destinations are allowed.");
  if (events.length === 0) return refuse("events", "REQUIRED_FIELD_MISSING", "Required field is missing.");
  if (events.length > eventsMax) return refuse("events", "TOO_MANY_EVENTS", "At most 2,000 events are allowed.");
  if (new Set(destinations.map(({ reference }) => reference)).size < destinations.length) {
    return refuse("destinations", "DUPLICATE_DESTINATION_REFERENCE", "Destination references must be unique.");
  }
  const hasUserData = events.some(({ userData }) => (userData?.userIdentifiers ?? []).length > 0);
  if (hasUserData && !encoding) return refuse("encoding", "REQUIRED_FIELD_MISSING", "Required field is missing.");
  return [];
}

function accept({ store, now, settings }: Sim, { requestId, forced }: Call, { destinations = [], events = [], consent }: IngestBody): void {
  const targets = destinations.map((json) => ({
    customerId: json.operatingAccount?.accountId ?? "",
    actionId: json.productDestinationId ?? "",
    json,
  }));
  const stored = events.flatMap((event, index) =>
    destinationsOf(event, destinations).map((destination): IngestedEvent => {
      const { customerId = "", actionId = "" } = targets[destination] ?? {};
      return {
        index,
        destination,
        customerId,
        actionId,
        orderId: event.transactionId ?? null,
        time: Date.parse(event.eventTimestamp ?? ""),
        value: event.conversionValue ?? 0,
        currency: event.currency ?? store.get("accounts", customerId)?.currency ?? "",
        identifiers: identifiersOf(event),
        adUserData: event.consent?.adUserData ?? consent?.adUserData ?? null,
        forcedReason: forced.find((row) => row.index === index)?.reason ?? null,
      };
    }),
  );
  const dueAt = now() + settings().processingSeconds * 1000;
  const request: IngestRequest = { requestId, destinations: targets, acceptedAt: now(), dueAt, events: stored, errors: null };
  store.put("requests", requestId, request);
  store.put("waiting", requestId, dueAt);
}

function identifiersOf({ adIdentifiers: { gclid, gbraid, wbraid } = {}, userData }: EventBody): Identifiers {
  const hashes = userData?.userIdentifiers ?? [];
  const phone = hashes.find(({ phoneNumber }) => phoneNumber)?.phoneNumber;
  const email = hashes.find(({ emailAddress }) => emailAddress)?.emailAddress;
  return {
    ...(gclid && { gclid }),
    ...(gbraid && { gbraid }),
    ...(wbraid && { wbraid }),
    ...(phone && { phone }),
    ...(email && { email }),
  };
}
