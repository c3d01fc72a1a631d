import { z } from "zod";
import { bareCode } from "#lib/providers/google/classify-google-ads-error.ts";
import { quotaWait } from "#lib/providers/google/row-result.ts";
import type { ConversionActionList, ProviderBlock, ProviderConnection } from "#lib/providers/port.ts";
import { ProviderRateLimitError } from "#lib/providers/provider-error.ts";
import { callAds } from "./call-ads.ts";

const page = z.object({ results: z.array(z.unknown()).catch([]) }).partial();

/** Rows of a GAQL query, or why Google does not show them. One page holds 10,000 rows. */
async function searchAds<Row>(query: string, row: z.ZodType<Row>, connection: ProviderConnection, signal?: AbortSignal) {
  const answer = await callAds("/googleAds:search", { query }, connection, signal);
  if (answer.status === 429) throw new ProviderRateLimitError("Google answered 429 to a search", quotaWait(answer.errors).quota);
  if (answer.status !== 200) {
    const [first] = answer.errors;
    return { rows: [], refused: { code: bareCode(first?.code ?? "UNKNOWN"), message: first?.message ?? "" } satisfies ProviderBlock };
  }
  return { rows: z.array(row).parse(page.parse(answer.body).results ?? []) };
}

const actionRow = z.object({
  conversionAction: z.object({
    resourceName: z.string(),
    name: z.string().catch(""),
    status: z.string().catch("ENABLED"),
    type: z.string().nullish(),
    countingType: z.string().nullish(),
  }),
});

/** The account's conversion actions that take uploads, by name. */
export async function listConversionActions(connection: ProviderConnection, signal?: AbortSignal): Promise<ConversionActionList> {
  const query =
    "SELECT conversion_action.resource_name, conversion_action.name, conversion_action.status, conversion_action.type, " +
    "conversion_action.counting_type FROM conversion_action WHERE conversion_action.type IN ('UPLOAD_CLICKS', 'WEBPAGE') " +
    "AND conversion_action.status != 'REMOVED'";
  const { rows, refused } = await searchAds(query, actionRow, connection, signal);
  const actions = rows.map(({ conversionAction: { resourceName, name, status, type, countingType } }) => ({
    action: resourceName,
    name,
    type: type ?? null,
    countingType: countingType ?? null,
    isEnabled: status === "ENABLED",
  }));
  return { actions: actions.toSorted((a, b) => a.name.localeCompare(b.name)), ...(refused && { refused }) };
}

const customerRow = z.object({
  customer: z.object({
    descriptiveName: z.string().nullish(),
    currencyCode: z.string().nullish(),
    timeZone: z.string().nullish(),
    conversionTrackingSetting: z.object({ googleAdsConversionCustomer: z.string().nullish() }).nullish(),
  }),
});

/** The account as Google names it, with the customer that owns its conversions: Data Manager takes only that one. */
export async function readAccount(connection: ProviderConnection, signal?: AbortSignal) {
  const query =
    "SELECT customer.descriptive_name, customer.currency_code, customer.time_zone, " +
    "customer.conversion_tracking_setting.google_ads_conversion_customer FROM customer";
  const { rows, refused } = await searchAds(query, customerRow, connection, signal);
  const customer = rows[0]?.customer;
  const owner = customer?.conversionTrackingSetting?.googleAdsConversionCustomer;
  return {
    refused,
    account: customer && {
      name: customer.descriptiveName ?? null,
      currency: customer.currencyCode ?? null,
      timezone: customer.timeZone ?? null,
      conversionCustomerId: owner ? owner.slice(owner.lastIndexOf("/") + 1) : null,
    },
  };
}
