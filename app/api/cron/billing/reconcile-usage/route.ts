import { reconcileUsage } from "#lib/billing/month-end.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/cron/billing/reconcile-usage (every 10 minutes) counts new events, and sets running figures, then Redis, to what the ledger says. */
export const GET = handler({ guard: cron, run: reconcileUsage });
export const POST = GET;
