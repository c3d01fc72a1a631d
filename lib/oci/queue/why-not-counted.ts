import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { transports } from "#lib/oci/queue-types.ts";
import type { SiteId } from "#lib/site.ts";
import { syncMethods } from "#lib/site.ts";

/** The links from a click to Google's verdict, as why_not_counted names them. */
export const deliveryLinks = [
  "CANCELLED",
  "CLICK",
  "CONSENT",
  "CLICK_AGE",
  "ARCHIVED",
  "SEAL",
  "HELD",
  "WAITS",
  "CONNECTION",
  "BLOCKED",
  "ACTION",
  "CIRCUIT",
  "RETRIES",
  "IN_FLIGHT",
  "FAILED",
  "REJECTED",
  "VERDICT",
  "UNKNOWN",
  "NO_VERDICT",
  "DUPLICATE",
  "COUNTED",
] as const;

export const whyNotCounted = z.object({
  saleId: z.string(),
  link: z.enum(deliveryLinks),
  code: z.string().nullable(),
  /** When it happened, or when it goes on. */
  at: z.string().nullable(),
  facts: z.object({
    amountCents: z.number(),
    currency: z.string(),
    orderId: z.string(),
    isSealed: z.boolean(),
    /** Whether the reader may open what only owners may. */
    isOwner: z.boolean(),
    syncMethod: z.enum(syncMethods),
    conversionName: z.string(),
    clickMinAgeHours: z.number(),
    /** The site is archived: nothing can be changed until an owner restores it. */
    archivedAt: z.string().optional(),
    canRestore: z.boolean().optional(),
    /** The conversion's row, where there is one. */
    rowId: z.string().optional(),
    transport: z.enum(transports).optional(),
    sentAt: z.string().optional(),
    requestId: z.string().optional(),
    /** What Google has, which a correction may still have to change. */
    atGoogleCents: z.number().optional(),
    error: z.string().optional(),
    attemptCount: z.number().optional(),
    heldBy: z.object({ saleId: z.string(), rowId: z.string() }).optional(),
    retractionId: z.string().optional(),
    retractionCode: z.string().optional(),
  }),
});
export type WhyNotCounted = z.output<typeof whyNotCounted>;

/** The first broken link of a sale between its click and Google's verdict. */
export const readWhyNotCounted = (db: SessionClient, siteId: SiteId, saleId: string) =>
  callAsUser(db, "why_not_counted", { p_public_id: siteId, p_sale_id: saleId }, whyNotCounted);
