import { z } from "zod";

/**
 * What is captured of an event: everything the worker needs, and nothing it may not have. The gate writes it, the worker reads
 * it, perhaps from a newer version of this code: fields are only ever added.
 */
export const capturedEvent = z.object({
  visitor: z.string().min(1).max(64),
  category: z.string().max(60),
  action: z.string().max(60),
  label: z.string().nullable(),
  value: z.number().nullable(),
  url: z.string(),
  referrer: z.string().nullable(),
  device: z.string().nullable(),
  country: z.string().nullable(),
  city: z.string().nullable(),
  utm: z.record(z.string(), z.string()),
  gclid: z.string().nullable(),
  wbraid: z.string().nullable(),
  gbraid: z.string().nullable(),
  /** How long before we received it the event happened. */
  ageMs: z.number().default(0),
  /** What the visitor had agreed to when it happened; null where nobody asked. */
  scopes: z.array(z.string()).nullable().default(null),
  trackerVersion: z.number().int().nullable().default(null),
  reporter: z.enum(["tracker", "system"]).default("tracker"),
  /** null: this path cannot know; the visitor's own choice holds, or else marketingDefault. */
  marketingConsent: z.boolean().nullable(),
  marketingDefault: z.boolean(),
  intentStamp: z.string().nullable(),
  /** Who called, where a telephone system knows it. */
  phone: z.string().nullable(),
});
export type CapturedEvent = z.output<typeof capturedEvent>;
