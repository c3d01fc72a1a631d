import { GET as unknownAddress } from "#app/api/[...path]/route.ts";

/** Addresses below /v1 that do not exist answer as those below /api. */
export const GET = unknownAddress;
export const POST = unknownAddress;
export const PUT = unknownAddress;
export const PATCH = unknownAddress;
export const DELETE = unknownAddress;
