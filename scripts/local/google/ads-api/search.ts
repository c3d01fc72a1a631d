/** POST customers/{id}/googleAds:search for the resources that delivery reads: conversion actions, the account, and upload diagnostics. */
import fields from "#lib/providers/google-fields.json" with { type: "json" };
import { parseJson } from "../parse-json.ts";
import type { Sim } from "../sim.ts";
import type { Account, Answer, Call } from "../sim-shapes.ts";
import { refuseCall } from "./ads-failure.ts";
import { camelCase, holds, parseQuery, pick, type Row } from "./gaql.ts";
import { actionSummaries, clientSummaries } from "./upload-summaries.ts";

type Messages = Record<string, Record<string, string>>;

const resources: Record<string, { message: string; rows(sim: Sim, account: Account): Row[] }> = {
  conversion_action: { message: "googleads.resources.ConversionAction", rows: (_, account) => conversionActions(account) },
  customer: { message: "googleads.resources.Customer", rows: (_, account) => [customer(account)] },
  offline_conversion_upload_client_summary: {
    message: "googleads.resources.OfflineConversionUploadClientSummary",
    rows: clientSummaries,
  },
  offline_conversion_upload_conversion_action_summary: {
    message: "googleads.resources.OfflineConversionUploadConversionActionSummary",
    rows: actionSummaries,
  },
};

export function search(sim: Sim, call: Call, account: Account): Answer {
  const body = parseJson<{ query?: string; pageSize?: number }>("googleads.services.SearchGoogleAdsRequest", call.text);
  if (body.pageSize !== undefined)
    throw refuseCall(call, 400, { requestError: "PAGE_SIZE_NOT_SUPPORTED" }, "Setting the page size is not supported.");
  const { resource, selected, conditions, limit } = parseQuery(call, body.query ?? "");
  const source = resources[resource];
  if (!source) throw refuseCall(call, 400, { queryError: "BAD_RESOURCE_TYPE_IN_FROM_CLAUSE" }, `The simulator has no ${resource}.`);
  for (const path of [...selected, ...conditions.map(({ path: at }) => at)]) {
    if (!isField(source.message, path.slice(resource.length + 1))) {
      throw refuseCall(call, 400, { queryError: "UNRECOGNIZED_FIELD" }, `Unrecognized field in the query: '${path}'.`);
    }
  }
  const json = camelCase(resource);
  const found = source.rows(sim, account).filter((row) => conditions.every((condition) => holds(row, condition, resource)));
  const results = found
    .slice(0, limit)
    .map((row) => ({ [json]: pick(row, ["resource_name", ...selected.map((path) => path.slice(resource.length + 1))]) }));
  const fieldMask = selected.map(camelCase).join(",");
  // REST leaves an empty list out.
  return {
    status: 200,
    body: { ...(results.length > 0 && { results }), fieldMask },
    message: "googleads.services.SearchGoogleAdsResponse",
  };
}

function isField(message: string, path: string): boolean {
  const [first = "", ...rest] = path.split(".").map(camelCase);
  const type = (fields.messages as Messages)[message]?.[first];
  return type !== undefined && (rest.length === 0 || isField(type, rest.join(".")));
}

function conversionActions({ customerId, conversionActions: actions, currency }: Account): Row[] {
  return actions.map(({ id, name, type, status, countingType, alwaysUseDefaultValue }) => ({
    resourceName: `customers/${customerId}/conversionActions/${id}`,
    ...{ id, name, type, status, countingType },
    category: "CONVERTED_LEAD",
    ownerCustomer: `customers/${customerId}`,
    primaryForGoal: true,
    clickThroughLookbackWindowDays: "90",
    valueSettings: { defaultValue: 1, defaultCurrencyCode: currency, alwaysUseDefaultValue },
  }));
}

function customer(account: Account): Row {
  const { customerId, name, currency, timeZone, termsAccepted, enhancedConversionsForLeads, conversionCustomerId = customerId } = account;
  return {
    resourceName: `customers/${customerId}`,
    id: customerId,
    descriptiveName: name,
    currencyCode: currency,
    timeZone,
    status: "ENABLED",
    manager: false,
    testAccount: false,
    conversionTrackingSetting: {
      acceptedCustomerDataTerms: termsAccepted,
      conversionTrackingStatus:
        conversionCustomerId === customerId ? "CONVERSION_TRACKING_MANAGED_BY_SELF" : "CONVERSION_TRACKING_MANAGED_BY_ANOTHER_MANAGER",
      enhancedConversionsForLeadsEnabled: enhancedConversionsForLeads,
      googleAdsConversionCustomer: `customers/${conversionCustomerId}`,
    },
  };
}
