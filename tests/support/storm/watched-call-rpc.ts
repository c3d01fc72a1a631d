import { passAround } from "./failpoints.ts";

/** Stands in for lib/db/call-rpc.ts in a worker of the storm: every step of the database is a point. */
const originalUrl = `${new URL("../../../lib/db/call-rpc.ts", import.meta.url).href}?original`;
const original: typeof import("#lib/db/call-rpc.ts") = await import(originalUrl);

export const callRpc: typeof original.callRpc = (name, args, result) => passAround(name, () => original.callRpc(name, args, result));
