import { adsApiTime } from "#lib/providers/conversion-time.ts";
import { clickIds, identifierHashes } from "#lib/providers/google/build-rows.ts";
import type { ConversionJob } from "#lib/providers/port.ts";

/** One conversion for uploadClickConversions. Throws RangeError on an impossible time. */
export function conversionRow(job: ConversionJob) {
  const { phoneHash, emailHash } = identifierHashes(job);
  const source = { userIdentifierSource: "FIRST_PARTY" } as const;
  const userIdentifiers = [
    ...(phoneHash ? [{ ...source, hashedPhoneNumber: phoneHash }] : []),
    ...(emailHash ? [{ ...source, hashedEmail: emailHash }] : []),
  ];
  return {
    conversionAction: job.conversionAction,
    conversionDateTime: adsApiTime(new Date(job.conversionTime), job.timezone),
    conversionValue: job.valueCents / 100,
    currencyCode: job.currency,
    orderId: job.orderId,
    ...clickIds(job),
    ...(userIdentifiers.length > 0 && { userIdentifiers }),
    ...(job.consent === "GRANTED" && { consent: { adUserData: "GRANTED" } }),
  };
}

/** One correction for uploadConversionAdjustments, found by its order id. Each has to be later than the one before and than the conversion. */
export function adjustmentRow(job: ConversionJob, now = new Date()) {
  const conversionTime = new Date(job.conversionTime).getTime();
  const at = new Date(Math.max(now.getTime(), conversionTime + 1000));
  return {
    conversionAction: job.conversionAction,
    adjustmentType: job.kind === "RETRACT" ? "RETRACTION" : "RESTATEMENT",
    orderId: job.orderId,
    adjustmentDateTime: adsApiTime(at, job.timezone),
    ...(job.kind === "RESTATE" && { restatementValue: { adjustedValue: job.valueCents / 100, currencyCode: job.currency } }),
  };
}
