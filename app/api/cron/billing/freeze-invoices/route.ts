import { freezeInvoices } from "#lib/billing/month-end.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/cron/billing/freeze-invoices (daily, 02:25 UTC) makes the invoices of closed months, 48 hours after their end. */
export const GET = handler({ guard: cron, run: () => freezeInvoices() });
export const POST = GET;
