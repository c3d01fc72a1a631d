import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { purgeExpiredInvitations } from "#lib/tenancy/invitation-cleanup.ts";

/** GET /api/cron/invitation-cleanup (daily, 03:17 UTC) forgets addresses whose invitation ran out a month ago. */
export const GET = handler({ guard: cron, run: purgeExpiredInvitations });
export const POST = GET;
