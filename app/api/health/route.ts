import { anyone } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/health says that this process serves requests. It asks no other service, so it cannot fail because of one. */
export const GET = handler({ guard: anyone, run: () => ({ status: "ok" }) });
