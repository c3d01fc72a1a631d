import { pollVerdicts } from "#lib/delivery/poll-verdicts.ts";
import { cron } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

export const maxDuration = 300;
const deadlineMs = 280_000;

/** GET /api/cron/providers/poll-verdicts (every 10 minutes) asks Google for the verdicts on accepted requests. */
export const GET = handler({ guard: cron, run: () => pollVerdicts({ deadlineMs }) });
export const POST = GET;
