import type { LeadChannel } from "#lib/channels.ts";
import { dataManagerTime } from "#lib/providers/conversion-time.ts";
import type { Credentials } from "#lib/providers/credentials.ts";
import { clickIds, identifierHashes } from "#lib/providers/google/build-rows.ts";
import type { ConversionJob } from "#lib/providers/port.ts";

/** Where the lead reached out. A sale from a till or a CRM has no channel that Google's list names. */
const eventSources: Record<LeadChannel, string> = { phone: "PHONE", whatsapp: "MESSAGE", form: "WEB" };

/** One conversion as Data Manager takes it. A correction is the same event with its new value. Throws RangeError on an impossible time. */
export function eventOf(job: ConversionJob) {
  const { phoneHash, emailHash } = identifierHashes(job);
  const userIdentifiers = [...(phoneHash ? [{ phoneNumber: phoneHash }] : []), ...(emailHash ? [{ emailAddress: emailHash }] : [])];
  const adIdentifiers = clickIds(job);
  return {
    transactionId: job.orderId,
    eventTimestamp: dataManagerTime(new Date(job.conversionTime)),
    eventSource: job.channel ? eventSources[job.channel] : "OTHER",
    conversionValue: job.valueCents / 100,
    currency: job.currency,
    ...(adIdentifiers && { adIdentifiers }),
    ...(userIdentifiers.length > 0 && { userData: { userIdentifiers } }),
    // We ask visitors about their data, not about personalised ads, so we say nothing of those.
    ...(job.consent === "GRANTED" && { consent: { adUserData: "CONSENT_GRANTED" } }),
  };
}

const account = (accountId: string) => ({ accountType: "GOOGLE_ADS", accountId });

/** `customers/1/conversionActions/2` → Data Manager wants the 2. */
export function destinationOf(conversionAction: string, credentials: Credentials) {
  return {
    operatingAccount: account(credentials.customer_id),
    ...(credentials.login_customer_id && { loginAccount: account(credentials.login_customer_id) }),
    productDestinationId: conversionAction.slice(conversionAction.lastIndexOf("/") + 1),
  };
}
