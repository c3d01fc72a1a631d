/** POST customers/{id}:uploadConversionAdjustments changes the value of a conversion that Google has, or takes it back. */
import { currencyDecimals } from "#lib/valuation/currencies.ts";
import { changeConversion } from "../book.ts";
import { parseJson } from "../parse-json.ts";
import type { Sim } from "../sim.ts";
import type { Account, Answer, Call, Conversion, SentRow } from "../sim-shapes.ts";
import { readAdsDate } from "./ads-date.ts";
import type { RowProblem } from "./ads-failure.ts";
import { badDate, findAction, futureDate, mustBeUnset, required, twinsIn, unknownCurrency, uploadRows } from "./upload-rows.ts";

interface Adjustment {
  conversionAction?: string;
  adjustmentType?: string;
  adjustmentDateTime?: string;
  orderId?: string;
  gclidDateTimePair?: { gclid?: string; conversionDateTime?: string };
  restatementValue?: { adjustedValue?: number; currencyCode?: string };
  userIdentifiers?: object[];
}

const adjustableMs = 54 * 86_400_000;
const clockSkewMs = 60_000;
const coded = (name: string, message: string, field?: string): RowProblem => ({
  code: { conversionAdjustmentUploadError: name },
  message,
  field,
});

export function uploadAdjustments(sim: Sim, call: Call, account: Account): Answer {
  const body = parseJson<{ conversionAdjustments?: Adjustment[]; partialFailure?: boolean; validateOnly?: boolean; jobId?: number }>(
    "googleads.services.UploadConversionAdjustmentsRequest",
    call.text,
  );
  const { conversionAdjustments: rows = [], ...options } = body;
  const twins = twinsIn(rows, twinKey);
  return uploadRows(
    sim,
    call,
    account,
    { rows, ...options },
    {
      list: "conversion_adjustments",
      service: "conversionAdjustmentUploadError",
      tooMany: "TOO_MANY_ADJUSTMENTS_IN_REQUEST",
      response: "googleads.services.UploadConversionAdjustmentsResponse",
      access: "adjustments",
      check: (row) => [...checkRow(sim, account, row), ...(twins.has(twinKey(row)) ? [twin] : [])],
      take: (row) => take(sim, account, row),
      result: ({ gclidDateTimePair, orderId, conversionAction, adjustmentDateTime, adjustmentType }) => ({
        ...{ gclidDateTimePair, orderId, conversionAction, adjustmentDateTime, adjustmentType },
      }),
      describe: ({ orderId = null, conversionAction = null, adjustmentType, restatementValue }) => ({
        ...{ orderId, action: conversionAction, kind: kindOf(adjustmentType) },
        ...{ value: restatementValue?.adjustedValue ?? null, currency: restatementValue?.currencyCode ?? null },
      }),
      actionId: ({ conversionAction = "" }) => conversionAction.split("/").pop() ?? "",
    },
  );
}

const kindOf = (type: string | undefined): SentRow["kind"] => (type === "RETRACTION" ? "RETRACTION" : "RESTATEMENT");

function checkRow(sim: Sim, account: Account, row: Adjustment): RowProblem[] {
  const problems: RowProblem[] = [];
  const action = findAction(account, row.conversionAction ?? "");
  if (!row.conversionAction) problems.push(required("conversion_action"));
  else if (!action) problems.push(coded("NO_CONVERSION_ACTION_FOUND", "The conversion action cannot be found.", "conversion_action"));
  else if (action.type !== "UPLOAD_CLICKS" || row.adjustmentType === "ENHANCEMENT") {
    problems.push(coded("INVALID_CONVERSION_ACTION_TYPE", "The type of the conversion action isn't supported.", "conversion_action"));
  }
  if (!row.adjustmentType || ["UNSPECIFIED", "UNKNOWN"].includes(row.adjustmentType)) problems.push(required("adjustment_type"));
  if (!row.orderId && !row.gclidDateTimePair) problems.push(required("order_id"));
  if (row.orderId && row.gclidDateTimePair) {
    problems.push(coded("GCLID_DATE_TIME_PAIR_AND_ORDER_ID_BOTH_SET", "Cannot set both gclid_date_time_pair and order_id."));
  }
  return [...problems, ...checkMoment(sim, row), ...checkMoney(row, action?.alwaysUseDefaultValue ?? false)];
}

function checkMoment({ now }: Sim, { adjustmentDateTime }: Adjustment): RowProblem[] {
  const field = "adjustment_date_time";
  if (!adjustmentDateTime) return [required(field)];
  const time = readAdsDate(adjustmentDateTime);
  if (time === null) return [badDate(field, adjustmentDateTime)];
  return time > now() + clockSkewMs ? [futureDate(field, adjustmentDateTime)] : [];
}

function checkMoney({ adjustmentType, restatementValue }: Adjustment, usesDefault: boolean): RowProblem[] {
  if (adjustmentType === "RETRACTION") return restatementValue ? [mustBeUnset("restatement_value")] : [];
  if (usesDefault) {
    const code = "CANNOT_RESTATE_CONVERSION_ACTION_THAT_ALWAYS_USES_DEFAULT_CONVERSION_VALUE";
    return [coded(code, "Can't make an adjustment to a conversion that is set up to use the default value.")];
  }
  const { adjustedValue, currencyCode } = restatementValue ?? {};
  if (adjustedValue === undefined) return [required("restatement_value.adjusted_value")];
  const isKnown = currencyCode === undefined || currencyDecimals(currencyCode) !== null;
  return isKnown ? [] : [unknownCurrency("restatement_value.currency_code", currencyCode)];
}

const twinKey = ({ conversionAction, orderId, gclidDateTimePair, adjustmentType, adjustmentDateTime }: Adjustment) =>
  JSON.stringify([conversionAction, orderId, gclidDateTimePair, adjustmentType, adjustmentDateTime]);
const twin = coded("DUPLICATE_ADJUSTMENT_IN_REQUEST", "The adjustment has a duplicate with the same adjustment_date_time.");

/** A conversion that was sent with an order id is found by it alone. One that only a wbraid leads to cannot be adjusted at all. */
function findBase({ store }: Sim, account: Account, row: Adjustment): Conversion | undefined {
  const actionId = findAction(account, row.conversionAction ?? "")?.id;
  const { gclid, conversionDateTime = "" } = row.gclidDateTimePair ?? {};
  const key = row.orderId ?? `${gclid}@${readAdsDate(conversionDateTime)}`;
  const found = store.get("conversions", `${account.customerId}/${actionId}/${key}`);
  const { gclid: ownGclid, gbraid, wbraid } = found?.identifiers ?? {};
  return wbraid && !ownGclid && !gbraid ? undefined : found;
}

function take(sim: Sim, account: Account, row: Adjustment): RowProblem | null {
  const base = findBase(sim, account, row);
  if (!base) return coded("CONVERSION_NOT_FOUND", "The conversion for this conversion action and identifier can't be found.");
  if (base.isRetracted) return coded("CONVERSION_ALREADY_RETRACTED", "The conversion was already retracted.");
  if (sim.now() - base.conversionTime > adjustableMs) {
    return coded("CONVERSION_EXPIRED", "Adjustment can't be made to a conversion that occurred more than 54 days ago.");
  }
  const at = readAdsDate(row.adjustmentDateTime ?? "") ?? 0;
  if (at < base.conversionTime) return coded("ADJUSTMENT_PRECEDES_CONVERSION", "The adjustment occurred before the conversion.");
  if (row.adjustmentType === "RETRACTION") {
    changeConversion(sim, base, { isRetracted: true });
    return null;
  }
  if (base.restatedAt === at) return coded("RESTATEMENT_ALREADY_EXISTS", "There is a restatement with the same adjustment_date_time.");
  if (base.restatedAt !== null && base.restatedAt > at) {
    return coded("MORE_RECENT_RESTATEMENT_FOUND", "A more recent adjustment has already been reported.");
  }
  const { adjustedValue: value = base.value, currencyCode: currency = base.currency } = row.restatementValue ?? {};
  changeConversion(sim, base, { value, currency, restatedAt: at });
  return null;
}
