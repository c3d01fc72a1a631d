import { passAround } from "./failpoints.ts";

/** Stands in for lib/delivery/semaphore.ts in a worker of the storm. */
const originalUrl = `${new URL("../../../lib/delivery/semaphore.ts", import.meta.url).href}?original`;
const original: typeof import("#lib/delivery/semaphore.ts") = await import(originalUrl);

export const acquireSlot: typeof original.acquireSlot = async (siteUuid, providerKey) => {
  const slot = await passAround("acquireSlot", () => original.acquireSlot(siteUuid, providerKey));
  return slot && { ...slot, release: () => passAround("releaseSlot", slot.release) };
};

export const whileHolding = original.whileHolding;
