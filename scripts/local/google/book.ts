import type { Sim } from "./sim.ts";
import type { Conversion, Identifiers, Transport, UploadTally } from "./sim-shapes.ts";

export interface Upload {
  customerId: string;
  actionId: string;
  orderId: string | null;
  value: number;
  currency: string;
  conversionTime: number;
  identifiers: Identifiers;
  via: Transport;
  requestId: string;
}

/** One order id is one conversion per conversion action, whichever way it comes. Without one, click and time stand for it. */
export function conversionKey({ customerId, actionId, orderId, identifiers, conversionTime }: Upload | Conversion): string {
  const click = identifiers.gclid ?? identifiers.gbraid ?? identifiers.wbraid ?? identifiers.phone ?? identifiers.email;
  return `${customerId}/${actionId}/${orderId ?? `${click}@${conversionTime}`}`;
}

export function findConversion({ store }: Sim, upload: Upload): Conversion | undefined {
  return store.get("conversions", conversionKey(upload));
}

export function bookConversion({ store }: Sim, { requestId, ...upload }: Upload): void {
  const conversion: Conversion = { ...upload, firstRequestId: requestId, isRetracted: false, restatedAt: null, sends: 1 };
  store.put("conversions", conversionKey(conversion), conversion);
}

export function changeConversion({ store }: Sim, known: Conversion, change: Partial<Conversion>): void {
  store.put("conversions", conversionKey(known), { ...known, ...change });
}

export function isSameClickAndTime(a: Upload, b: Conversion): boolean {
  const ids = (["gclid", "gbraid", "wbraid"] as const).every((name) => a.identifiers[name] === b.identifiers[name]);
  return ids && a.conversionTime === b.conversionTime;
}

/** What the diagnostics resources count; `error` is null for a row that was taken. */
export function tally(
  { store, now }: Sim,
  { customerId, client, actionId, jobId = null }: Pick<UploadTally, "customerId" | "client" | "actionId"> & { jobId?: string | null },
  error: string | null,
): void {
  const day = new Date(now()).toISOString().slice(0, 10);
  const key = [customerId, client, actionId, day, jobId ?? ""].join("/");
  const known = store.get("tallies", key);
  const counted: UploadTally = known ?? { customerId, client, actionId, day, jobId, successful: 0, failed: 0, lastAt: 0, errors: {} };
  store.put("tallies", key, {
    ...counted,
    lastAt: now(),
    ...(error === null
      ? { successful: counted.successful + 1 }
      : { failed: counted.failed + 1, errors: { ...counted.errors, [error]: (counted.errors[error] ?? 0) + 1 } }),
  });
}
