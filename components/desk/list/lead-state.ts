import {
  Ban,
  CheckCheck,
  CircleCheck,
  CircleX,
  Clock,
  FileText,
  Loader,
  type LucideIcon,
  MessageCircle,
  Phone,
  RotateCw,
} from "lucide-react";
import type { DeskLead, DeskRules, DeskSale } from "#lib/leads/desk-shapes.ts";

export const channelIcons: Record<DeskLead["channel"], LucideIcon> = { phone: Phone, whatsapp: MessageCircle, form: FileText };

export const isOpen = ({ status }: Pick<DeskLead, "status">) => status === "intent" || status === "qualified" || status === "meeting";

/** A sale that the server has stored. One that is only expected has no id or no version. */
export const isSaved = ({ id, version }: DeskSale): boolean => id !== "" && version > 0;

/** A slow read from before a change must not bring the old state back. */
export const isOlderLead = (lead: DeskLead, shown: DeskLead) => lead.version < shown.version;

const looks = {
  QUEUED: { icon: Clock, className: "text-queued" },
  RETRY: { icon: RotateCw, className: "text-retry" },
  PROCESSING: { icon: Loader, className: "text-processing" },
  COMPLETED: { icon: CircleCheck, className: "text-completed" },
  CONFIRMED: { icon: CheckCheck, className: "text-completed" },
  FAILED: { icon: CircleX, className: "text-failed" },
  NOT_SENT: { icon: Ban, className: "text-unsent" },
} as const;

/** How far a sealed lead has come, as icon and colour; the row's words say it too. */
export function deliveryLook({ delivery }: DeskLead): (typeof looks)[keyof typeof looks] | null {
  if (!delivery) return null;
  if (delivery.verdict === "CONFIRMED" || delivery.verdict === "DUPLICATE") return looks.CONFIRMED;
  if (delivery.isNotSent) return looks.NOT_SENT;
  return delivery.verdict === "REJECTED" ? looks.FAILED : looks[delivery.status];
}

/** When a lead would be sent to Google if it were sealed now: after the undo window, and never while the click is too young. */
export function sendTime(lead: DeskLead, { sendDelayMinutes, clickMinAgeHours }: DeskRules, now: Date): { at: Date; isForClick: boolean } {
  const afterDelay = now.getTime() + sendDelayMinutes * 60_000;
  const afterClick = lead.clickedAt ? Date.parse(lead.clickedAt) + clickMinAgeHours * 3_600_000 : 0;
  return { at: new Date(Math.max(afterDelay, afterClick)), isForClick: afterClick > afterDelay };
}
