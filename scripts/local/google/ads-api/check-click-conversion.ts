/** What is wrong with one row of uploadClickConversions, before the state is asked. One row can have several errors. */
import { currencyDecimals } from "#lib/valuation/currencies.ts";
import { type ClickProblem, findClickProblem } from "../click-ids.ts";
import type { Sim } from "../sim.ts";
import type { Account } from "../sim-shapes.ts";
import { readAdsDate } from "./ads-date.ts";
import type { RowProblem } from "./ads-failure.ts";
import { badDate, findAction, futureDate, mustBeUnset, required, unknownCurrency } from "./upload-rows.ts";

export interface ClickConversion {
  gclid?: string;
  gbraid?: string;
  wbraid?: string;
  conversionAction?: string;
  conversionDateTime?: string;
  conversionValue?: number;
  currencyCode?: string;
  orderId?: string;
  userIdentifiers?: { hashedPhoneNumber?: string; hashedEmail?: string }[];
  consent?: { adUserData?: string; adPersonalization?: string };
  userIpAddress?: string;
  sessionAttributesEncoded?: string;
  sessionAttributesKeyValuePairs?: object;
}

const userIdentifiersMax = 5;
const clockSkewMs = 60_000;
const newActionMs = 6 * 3_600_000;
export const coded = (name: string, message: string, field?: string): RowProblem => ({
  code: { conversionUploadError: name },
  message,
  field,
});

export function checkClickConversion(sim: Sim, account: Account, row: ClickConversion): RowProblem[] {
  return [
    ...checkAction(sim, account, row),
    ...checkTime(sim, row),
    ...checkMoney(row),
    ...checkClick(sim, account, row),
    ...checkUserData(account, row),
    ...checkOrderId(row),
  ];
}

function checkAction({ now }: Sim, account: Account, { conversionAction }: ClickConversion): RowProblem[] {
  const field = "conversion_action";
  if (!conversionAction) return [required(field)];
  const action = findAction(account, conversionAction);
  if (!action)
    return [coded("NO_CONVERSION_ACTION_FOUND", "The conversion action specified in the upload request cannot be found.", field)];
  if (action.type !== "UPLOAD_CLICKS")
    return [coded("INVALID_CONVERSION_ACTION_TYPE", "The conversion action isn't set up for uploads.", field)];
  const isNew = action.createdAt !== undefined && now() - Date.parse(action.createdAt) < newActionMs;
  return isNew ? [coded("TOO_RECENT_CONVERSION_ACTION", "Can't import events to a conversion action that was just created.", field)] : [];
}

function checkTime({ now }: Sim, { conversionDateTime }: ClickConversion): RowProblem[] {
  const field = "conversion_date_time";
  if (!conversionDateTime) return [required(field)];
  const time = readAdsDate(conversionDateTime);
  if (time === null) return [badDate(field, conversionDateTime)];
  return time > now() + clockSkewMs ? [futureDate(field, conversionDateTime)] : [];
}

function checkMoney({ conversionValue = 0, currencyCode }: ClickConversion): RowProblem[] {
  if (conversionValue < 0) return [{ code: { rangeError: "TOO_LOW" }, message: "The value is too low.", field: "conversion_value" }];
  return currencyCode !== undefined && currencyDecimals(currencyCode) === null ? [unknownCurrency("currency_code", currencyCode)] : [];
}

const clickCodes: Record<ClickProblem, [(field: string) => string, string]> = {
  unparseable: [(field) => `UNPARSEABLE_${field.toUpperCase()}`, "The imported click id could not be decoded."],
  "too recent": [() => "TOO_RECENT_EVENT", "The click occurred less than 6 hours ago. Retry after 6 hours have passed."],
  expired: [() => "EXPIRED_EVENT", "The click occurred before this conversion's click-through window."],
  "not found": [() => "EVENT_NOT_FOUND", "The imported event could not be attributed to a click."],
  precedes: [() => "CONVERSION_PRECEDES_EVENT", "The imported event precedes the click."],
  "other account": [() => "INVALID_CUSTOMER_FOR_CLICK", "The click is associated with a different Google Ads account."],
  "internal once": [() => "INTERNAL_ERROR", "An internal error occurred."],
};

function checkClick(sim: Sim, account: Account, row: ClickConversion): RowProblem[] {
  const { gclid, gbraid, wbraid, conversionAction = "", conversionDateTime = "", userIdentifiers = [] } = row;
  if (!gclid && !gbraid && !wbraid) return userIdentifiers.length > 0 ? [] : [required("gclid")];
  if (gbraid && wbraid) return [coded("GBRAID_WBRAID_BOTH_SET", "Can't use both gbraid and wbraid parameters.")];
  if (gclid && wbraid) return [mustBeUnset("wbraid")];
  const isOnePerClick = findAction(account, conversionAction)?.countingType === "ONE_PER_CLICK";
  if ((gbraid || wbraid) && isOnePerClick) {
    return [coded("ONE_PER_CLICK_CONVERSION_ACTION_NOT_PERMITTED_WITH_BRAID", "One-per-click counting can't be used with a braid.")];
  }
  const found = findClickProblem(sim, row, readAdsDate(conversionDateTime) ?? sim.now());
  if (!found) return [];
  const [code, message] = clickCodes[found.problem];
  const name = code(found.field);
  return [
    name === "INTERNAL_ERROR"
      ? { code: { internalError: name }, message }
      : { ...coded(name, message, found.field), trigger: row[found.field] },
  ];
}

function checkUserData(account: Account, { userIdentifiers = [], consent, ...row }: ClickConversion): RowProblem[] {
  const problems: RowProblem[] = [];
  if (row.userIpAddress || row.sessionAttributesEncoded || row.sessionAttributesKeyValuePairs) {
    problems.push({ code: { notAllowlistedError: "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE" }, message: "Use the Data Manager API." });
  }
  if (consent?.adPersonalization) problems.push(mustBeUnset("consent.ad_personalization"));
  if (userIdentifiers.length === 0) return problems;
  if (!account.termsAccepted)
    problems.push(coded("CUSTOMER_NOT_ACCEPTED_CUSTOMER_DATA_TERMS", "Accept the customer data terms and try again."));
  if (!account.enhancedConversionsForLeads) {
    problems.push(coded("CUSTOMER_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS", "Turn on enhanced conversions for leads and try again."));
  }
  if (userIdentifiers.length > userIdentifiersMax) {
    problems.push({ code: { collectionSizeError: "TOO_MANY" }, message: "Too many.", field: "user_identifiers" });
  }
  for (const { hashedPhoneNumber, hashedEmail } of userIdentifiers) {
    const hash = hashedPhoneNumber ?? hashedEmail;
    if (hash === undefined)
      problems.push(coded("UNSUPPORTED_USER_IDENTIFIER", "Use only hashed email or phone number.", "user_identifiers"));
    else if (!/^[0-9a-f]{64}$/.test(hash))
      problems.push(coded("INVALID_USER_IDENTIFIER", "Hash user data with SHA-256.", "user_identifiers"));
  }
  return problems;
}

function checkOrderId({ orderId = "" }: ClickConversion): RowProblem[] {
  const isPersonal = orderId.includes("@") || /^\+?\d[\d ()-]{8,}$/.test(orderId);
  return isPersonal ? [coded("ORDER_ID_CONTAINS_PII", "Can't import events with order IDs containing PII.", "order_id")] : [];
}
