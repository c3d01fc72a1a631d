/** What Data Manager refuses at once: one such event and none of the request is taken. */
import { currencyDecimals } from "#lib/valuation/currencies.ts";
import type { FieldViolation } from "../failures.ts";
import type { EventBody, IngestBody } from "./ingest-body.ts";

interface Rules {
  now: number;
  encoding: IngestBody["encoding"];
  references: string[];
  isValidateOnly: boolean;
  allowsUserData: boolean;
}

const identifiersMax = 10;
const clockSkewMs = 60_000;

export function checkEvent(event: EventBody, index: number, rules: Rules): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const refuse: Refuse = (field, reason, description) => {
    violations.push({ field: `events.events[${index}]${field && `.${field}`}`, reason, description });
  };
  checkReferences(event, rules, refuse);
  checkTime(event, rules, refuse);
  if (!event.eventSource || event.eventSource === "EVENT_SOURCE_UNSPECIFIED") refuse("event_source", ...missing);
  checkValue(event, refuse);
  checkIdentifiers(event, rules, refuse);
  checkTransactionId(event, rules, refuse);
  return violations;
}

type Refuse = (field: string, reason: string, description: string) => void;
const missing = ["REQUIRED_FIELD_MISSING", "Required field is missing."] as const;

function checkReferences({ destinationReferences = [] }: EventBody, { references }: Rules, refuse: Refuse): void {
  for (const [at, reference] of destinationReferences.entries()) {
    if (!references.includes(reference)) refuse(`destination_references[${at}]`, "INVALID_DESTINATION", "This Destination is not valid.");
  }
}

function checkTime({ eventTimestamp }: EventBody, { now }: Rules, refuse: Refuse): void {
  if (!eventTimestamp) refuse("event_timestamp", ...missing);
  else if (Date.parse(eventTimestamp) > now + clockSkewMs) refuse("event_timestamp", "EVENT_TIME_INVALID", "The event lies in the future.");
}

function checkValue({ conversionValue = 0, currency }: EventBody, refuse: Refuse): void {
  if (conversionValue < 0) refuse("conversion_value", "INVALID_NUMBER_FORMAT", "Invalid number format.");
  if (currency !== undefined && currencyDecimals(currency) === null)
    refuse("currency", "INVALID_CURRENCY_CODE", "Currency code is not valid.");
}

function checkIdentifiers({ adIdentifiers = {}, userData }: EventBody, rules: Rules, refuse: Refuse): void {
  const { gclid, gbraid, wbraid } = adIdentifiers;
  const identifiers = userData?.userIdentifiers ?? [];
  const hasNone = !gclid && !gbraid && !wbraid && identifiers.length === 0;
  if (hasNone) refuse("", "NO_IDENTIFIERS_PROVIDED", "At least one identifier is required.");
  if (wbraid && (gbraid || gclid)) refuse("ad_identifiers", "INVALID_EVENT", "wbraid cannot be set with another click id.");
  if (identifiers.length === 0) return;
  const at = "user_data.user_identifiers";
  if (!rules.allowsUserData) {
    refuse("user_data", "DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS", "Enhanced conversions for leads are off.");
  }
  if (identifiers.length > identifiersMax) refuse(at, "TOO_MANY_USER_IDENTIFIERS", "At most 10 user identifiers are allowed.");
  for (const [place, { phoneNumber, emailAddress }] of identifiers.entries()) {
    const [name, hash] = phoneNumber === undefined ? ["email_address", emailAddress] : ["phone_number", phoneNumber];
    const reason = hash === undefined ? null : hashProblem(hash, rules.encoding);
    if (reason) refuse(`${at}[${place}].${name}`, reason, "The hashed value is malformed.");
  }
}

function hashProblem(hash: string, encoding: IngestBody["encoding"]): string | null {
  if (encoding === "BASE64") {
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(hash)) return "INVALID_BASE64_ENCODING";
    return Buffer.from(hash, "base64").length === 32 ? null : "INVALID_SHA256_FORMAT";
  }
  if (!/^([0-9a-f]{2})+$/i.test(hash)) return "INVALID_HEX_ENCODING";
  return hash.length === 64 ? null : "INVALID_SHA256_FORMAT";
}

/** Seen live: ids that are bare numbers, or a character or two, pass a dry run and are refused when it counts. */
function checkTransactionId({ transactionId }: EventBody, { isValidateOnly }: Rules, refuse: Refuse): void {
  if (transactionId === undefined || isValidateOnly) return;
  if (/^\d*$/.test(transactionId) || transactionId.length < 3 || /^(null|none|undefined)$/i.test(transactionId)) {
    refuse("transaction_id", "INVALID_FORMAT", "Format is invalid.");
  }
}
