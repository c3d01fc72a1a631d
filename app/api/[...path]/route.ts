import { anyone } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";

/** Unknown addresses below /api: the same 404 as for what is not yours, as problem+json. */
export const GET = handler({
  guard: anyone,
  run: () => {
    throw new AppError("NOT_FOUND");
  },
});
export const POST = GET;
export const PUT = GET;
export const PATCH = GET;
export const DELETE = GET;
