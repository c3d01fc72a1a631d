import { z } from "zod";
import { boundedText } from "#lib/platform/bounded-text.ts";
import { conversionKeys } from "./conversion-names.ts";

/** What a site's leads are worth and what is sent to Google. SQL checks the same bounds; these name the field first. */

const whole = (min: number, max: number) => z.int("REQUIRED").min(min, "OUT_OF_RANGE").max(max, "OUT_OF_RANGE");
const weight = z.number("REQUIRED").min(0, "OUT_OF_RANGE").max(10, "OUT_OF_RANGE");
const name = boundedText(100);

export const deliveryInput = z.strictObject({
  defaultAovCents: whole(1, 100_000_000_000).optional(),
  intentWeights: z
    .strictObject({ intent: weight, qualified: weight, meeting: weight, sealed: weight.refine((share) => share > 0, "OUT_OF_RANGE") })
    .optional(),
  signalsEnabled: z.boolean("REQUIRED").optional(),
  signalsDailyMax: whole(1, 100_000).optional(),
  pageViewsEnabled: z.boolean("REQUIRED").optional(),
  conversionNames: z
    .strictObject({ seal: name, MEETING_BOOKED: name, SEAL_PENDING: name, INTENT_CAPTURED: name, page_view: name })
    .refine((names) => new Set(Object.values(names)).size === conversionKeys.length, "SAME_NAME")
    .optional(),
  sendDelayMinutes: whole(0, 1440).optional(),
  clickMinAgeHours: whole(0, 48).optional(),
  needsYouAfterHours: whole(1, 2160).optional(),
  /** Amounts for one tap on the desk, until the site has sealed some. */
  amountPresets: z
    .array(whole(1, 100_000_000_000))
    .max(4, "TOO_MANY")
    .refine((amounts) => new Set(amounts).size === amounts.length, "SAME_AMOUNT")
    .optional(),
});

export const siteDelivery = deliveryInput.required().extend({
  /** awaitingPerson is counted up to 1,000. */
  signalsNow: z.object({ awaitingPerson: z.number(), handedOutToday: z.number() }),
});
export type SiteDelivery = z.output<typeof siteDelivery>;
