import type { DeskLead, DeskRules } from "#lib/leads/desk-shapes.ts";

/** When Google would be told if the lead were sealed now: after the undo window, and never while the click is too young. */
export function sendTime(lead: DeskLead, { sendDelayMinutes, clickMinAgeHours }: DeskRules, now: Date): { at: Date; isForClick: boolean } {
  const afterDelay = now.getTime() + sendDelayMinutes * 60_000;
  const afterClick = lead.clickedAt ? Date.parse(lead.clickedAt) + clickMinAgeHours * 3_600_000 : 0;
  return { at: new Date(Math.max(afterDelay, afterClick)), isForClick: afterClick > afterDelay };
}
