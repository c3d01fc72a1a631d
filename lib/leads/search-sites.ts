import { z } from "zod";
import { leadChannels } from "#lib/channels.ts";
import { callStates } from "#lib/contracts/states.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { siteIdShape } from "#lib/site.ts";

/** The quick search over the sites of a person: leads by number or name, sales by reference or order id. */

export const searchQuery = z.object({
  q: z.string().trim().min(2, "REQUIRED").max(80, "TOO_LONG"),
  /** The site in view: what it has comes first. */
  site: siteIdShape.optional(),
});

const found = z.object({
  leads: z.array(
    z.object({
      siteId: siteIdShape,
      id: z.string(),
      phone: z.string().nullable(),
      name: z.string().nullable(),
      channel: z.enum(leadChannels),
      status: z.enum(callStates),
      calledAt: z.string(),
    }),
  ),
  sales: z.array(
    z.object({
      siteId: siteIdShape,
      id: z.string(),
      orderId: z.string(),
      externalRef: z.string().nullable(),
      amountCents: z.number(),
      currency: z.string(),
      occurredAt: z.string(),
      callId: z.string().nullable(),
      rowId: z.string().nullable(),
    }),
  ),
});
export type Found = z.output<typeof found>;

export const searchSites = (db: SessionClient, { q, site }: z.output<typeof searchQuery>) =>
  callAsUser(db, "search_sites", { p_text: q, ...(site && { p_first: site }) }, found);
