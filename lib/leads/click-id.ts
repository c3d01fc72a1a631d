/** Google takes a click for 90 days. */
export const clickLifeMs = 90 * 86_400_000;
/** Clients' clocks are a little off. */
const clockSkewMs = 5 * 60_000;

export interface ClickIds {
  gclid: string | null;
  wbraid: string | null;
  gbraid: string | null;
}

/**
 * The click that an event carries, with when it was first seen. One that is older than its life is no click any more:
 * it must not be attributed to a new visit. A time in the future, or none, counts as now.
 */
export function clickOf(
  event: ClickIds & { clickFirstSeenMs: number | null },
  receivedAt: Date,
): (ClickIds & { clickedAt: string | null }) | null {
  if (!event.gclid && !event.wbraid && !event.gbraid) return null;
  const received = receivedAt.getTime();
  const seen = event.clickFirstSeenMs !== null && event.clickFirstSeenMs <= received + clockSkewMs ? event.clickFirstSeenMs : received;
  if (received - seen > clickLifeMs) return null;
  const { gclid, wbraid, gbraid } = event;
  return { gclid, wbraid, gbraid, clickedAt: new Date(Math.min(seen, received)).toISOString() };
}
