import { channelOf, isLeadAction } from "#lib/channels.ts";
import type { CapturedEvent } from "./captured-event.ts";

/** Its ad networks and apps count too: googleadservices.com, com.google.android.googlequicksearchbox. */
function isFromGoogle(referrer: string | null): boolean {
  return referrer !== null && /google/i.test(referrer);
}

function scrollDepth({ action, value }: CapturedEvent): number {
  return action === "scroll_depth" && value !== null ? Math.max(0, Math.min(100, Math.round(value))) : 0;
}

/** What a captured event says about its session and its call, in the shape that store_events writes. */
export function storedRow(id: string, event: CapturedEvent) {
  const channel = event.category === "conversion" && isLeadAction(event.action) ? channelOf[event.action] : null;
  return {
    ...event,
    id,
    fromGoogle: isFromGoogle(event.referrer),
    scrollDepth: scrollDepth(event),
    channel,
    intentStamp: channel ? (event.intentStamp ?? id) : null,
  };
}
