import { anyone } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/health says that this process serves requests. It asks nobody else, so it never fails for another's sake. */
export const GET = handler({ guard: anyone, run: () => ({ status: "ok" }) });
