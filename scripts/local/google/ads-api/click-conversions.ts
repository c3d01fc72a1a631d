/** POST customers/{id}:uploadClickConversions, closed to projects that had not used it before June 2026. */
import { bookConversion, changeConversion, findConversion, isSameClickAndTime, type Upload } from "../book.ts";
import { parseJson } from "../parse-json.ts";
import type { Sim } from "../sim.ts";
import type { Account, Answer, Call, Identifiers } from "../sim-shapes.ts";
import { readAdsDate } from "./ads-date.ts";
import type { RowProblem } from "./ads-failure.ts";
import { type ClickConversion, checkClickConversion, coded } from "./check-click-conversion.ts";
import { findAction, twinsIn, uploadRows } from "./upload-rows.ts";

export function uploadClickConversions(sim: Sim, call: Call, account: Account): Answer {
  const body = parseJson<{ conversions?: ClickConversion[]; partialFailure?: boolean; validateOnly?: boolean; jobId?: number }>(
    "googleads.services.UploadClickConversionsRequest",
    call.text,
  );
  const { conversions = [], ...options } = body;
  const twins = twinsIn(conversions, twinKey);
  return uploadRows(
    sim,
    call,
    account,
    { rows: conversions, ...options },
    {
      list: "conversions",
      service: "conversionUploadError",
      tooMany: "TOO_MANY_CONVERSIONS_IN_REQUEST",
      response: "googleads.services.UploadClickConversionsResponse",
      access: "uploads",
      check: (row) => [...checkClickConversion(sim, account, row), ...(twins.has(twinKey(row)) ? [twinOf(row)] : [])],
      take: (row) => take(sim, uploadOf(account, row, call.requestId)),
      result: ({ gclid, gbraid, wbraid, conversionAction, conversionDateTime }) => ({
        gclid,
        gbraid,
        wbraid,
        conversionAction,
        conversionDateTime,
      }),
      describe: ({ orderId = null, conversionAction = null, conversionValue = null, currencyCode = null }) => ({
        ...{ orderId, action: conversionAction, kind: "CONVERSION" as const },
        ...{ value: conversionValue, currency: currencyCode },
      }),
      actionId: ({ conversionAction = "" }) => conversionAction.split("/").pop() ?? "",
    },
  );
}

/** The same conversion twice in one request: both are refused. */
const twinKey = ({ orderId, gclid, gbraid, wbraid, conversionAction, conversionDateTime }: ClickConversion) =>
  JSON.stringify([conversionAction, ...(orderId ? [orderId] : [gclid, gbraid, wbraid, conversionDateTime])]);
const twinOf = ({ orderId }: ClickConversion) =>
  orderId
    ? coded("DUPLICATE_ORDER_ID", "Multiple conversions with the same order ID were not processed.", "order_id")
    : coded("DUPLICATE_CLICK_CONVERSION_IN_REQUEST", "Multiple events have the same click and conversion_date_time.");

function uploadOf(account: Account, row: ClickConversion, requestId: string): Upload {
  const { gclid, gbraid, wbraid, userIdentifiers = [] } = row;
  const phone = userIdentifiers.find(({ hashedPhoneNumber }) => hashedPhoneNumber)?.hashedPhoneNumber;
  const email = userIdentifiers.find(({ hashedEmail }) => hashedEmail)?.hashedEmail;
  const identifiers: Identifiers = {
    ...(gclid && { gclid }),
    ...(gbraid && { gbraid }),
    ...(wbraid && { wbraid }),
    ...(phone && { phone }),
    ...(email && { email }),
  };
  return {
    customerId: account.customerId,
    actionId: findAction(account, row.conversionAction ?? "")?.id ?? "",
    orderId: row.orderId ?? null,
    value: row.conversionValue ?? 0,
    currency: row.currencyCode ?? account.currency,
    conversionTime: readAdsDate(row.conversionDateTime ?? "") ?? 0,
    identifiers,
    via: "ads_api",
    requestId,
  };
}

function take(sim: Sim, upload: Upload): RowProblem | null {
  const known = findConversion(sim, upload);
  if (!known) {
    bookConversion(sim, upload);
    return null;
  }
  changeConversion(sim, known, { sends: known.sends + 1 });
  return isSameClickAndTime(upload, known)
    ? coded("CLICK_CONVERSION_ALREADY_EXISTS", "The imported event has the same click and conversion_date_time as an existing conversion.")
    : coded("ORDER_ID_ALREADY_IN_USE", "The imported event includes an order ID that was previously recorded.", "order_id");
}
