import { z } from "zod";

/** How many events a site takes a minute and a day. SQL checks the same bounds; these name the field first. */

const byHand = (min: number, max: number) => z.int("OUT_OF_RANGE").min(min, "OUT_OF_RANGE").max(max, "OUT_OF_RANGE").nullable();

/** Null follows what the site usually sends. */
export const ceilingsInput = z.strictObject({ minuteMax: byHand(60, 1_000_000), dayMax: byHand(1000, 100_000_000) });

export const siteCeilings = z.object({
  minuteMax: z.number(),
  dayMax: z.number(),
  minuteByHand: z.number().nullable(),
  dayByHand: z.number().nullable(),
  usualMinute: z.number(),
  usualDay: z.number(),
  /** Events that a ceiling turned away, by UTC day, newest first. A tracker sends them again for a day, so they may have come later. */
  turnedAway: z.array(z.object({ day: z.string(), events: z.number() })),
});
export type SiteCeilings = z.output<typeof siteCeilings>;
