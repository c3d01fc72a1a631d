import type { BillingOverview } from "#lib/billing/billing-shapes.ts";

/** How many units of the month only leads may use; none where a month never fills. */
export const keptForLeads = ({ capEvents, openEvents }: BillingOverview["plan"]) => (capEvents ?? 0) - (openEvents ?? 0);
