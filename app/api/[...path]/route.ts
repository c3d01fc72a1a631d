import { anyone } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";

/** Addresses below /api that do not exist: the same answer as for what is not yours, in the shape a program can read. */
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
