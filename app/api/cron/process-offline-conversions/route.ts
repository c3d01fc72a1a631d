import { z } from "zod";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

export const maxDuration = 300;
/** The run ends by itself before the platform ends it. */
const deadlineMs = 280_000;

const query = z.object({ limit: z.coerce.number().int().min(1).max(5000).default(500) });

/** GET /api/cron/process-offline-conversions (every 10 minutes) delivers what is due on sites that send by API. */
export const GET = handler({ guard: cron, query, run: ({ query: { limit } }) => processOfflineConversions({ limit, deadlineMs }) });
export const POST = GET;
