import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { consentModes, type SiteId, syncMethods } from "#lib/site.ts";

/** How far a site is from its first delivered conversion. SQL ticks a step when it has seen what shows that it is done. */

const setupSteps = ["snippet", "clicks", "consent", "calls", "values", "actions", "delivery", "test", "delivered"] as const;
export type SetupStepName = (typeof setupSteps)[number];

const callResults = ["signed", "no_time", "old_time", "no_signature", "no_secret", "wrong_signature"] as const;

const siteSetup = z.object({
  way: z.enum(syncMethods),
  consentMode: z.enum(consentModes),
  steps: z.array(
    z.object({
      step: z.enum(setupSteps),
      /** Null while it is open. */
      at: z.string().nullable(),
      facts: z.object({
        /** The host of the page on which the first visit began. */
        page: z.string().optional(),
        kind: z.string().optional(),
        name: z.string().optional(),
        order: z.string().optional(),
        isOff: z.boolean().optional(),
        isSkipped: z.boolean().optional(),
      }),
    }),
  ),
  refusedHost: z.object({ host: z.string(), at: z.string(), isSubdomain: z.boolean() }).nullable(),
  callReports: z.array(z.object({ result: z.enum(callResults), times: z.number(), at: z.string() })),
  hasSecret: z.boolean(),
  hasKey: z.boolean(),
  lastEventAt: z.string().nullable(),
  lastTest: z.object({ orderId: z.string(), at: z.string(), problem: z.string().nullable(), field: z.string().nullable() }).nullable(),
});
export type SiteSetup = z.output<typeof siteSetup>;
export type SetupStep = SiteSetup["steps"][number];

export const readSiteSetup = (db: SessionClient, siteId: SiteId) => callAsUser(db, "site_setup", { p_public_id: siteId }, siteSetup);

/** How many events of the last day a site would lose if it asked first and its pages kept the old snippet. */
export const readConsentCost = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "consent_cost", { p_public_id: siteId }, z.object({ events: z.number() }));

export const skipCallsInput = z.strictObject({ skipped: z.boolean("REQUIRED") });
export const skipCalls = (db: SessionClient, siteId: SiteId, skipped: boolean) =>
  callAsUser(db, "skip_calls", { p_public_id: siteId, p_skipped: skipped }, z.object({ ok: z.literal(true) }));
