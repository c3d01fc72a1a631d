import { CheckCheck, CircleCheck, CircleX, Clock, FileText, Loader, type LucideIcon, MessageCircle, Phone, RotateCw } from "lucide-react";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";

export const channelIcons: Record<DeskLead["channel"], LucideIcon> = { phone: Phone, whatsapp: MessageCircle, form: FileText };

export const isOpen = ({ status }: Pick<DeskLead, "status">) => status === "intent" || status === "qualified" || status === "meeting";

const looks = {
  QUEUED: { icon: Clock, className: "fg-queued" },
  RETRY: { icon: RotateCw, className: "fg-retry" },
  PROCESSING: { icon: Loader, className: "fg-processing" },
  COMPLETED: { icon: CircleCheck, className: "fg-completed" },
  CONFIRMED: { icon: CheckCheck, className: "fg-completed" },
  FAILED: { icon: CircleX, className: "fg-failed" },
} as const;

/** How far a sealed lead has come, as icon and colour; the row's words say it too. */
export function deliveryLook({ delivery }: DeskLead): (typeof looks)[keyof typeof looks] | null {
  if (!delivery) return null;
  if (delivery.verdict === "CONFIRMED" || delivery.verdict === "DUPLICATE") return looks.CONFIRMED;
  return delivery.verdict === "REJECTED" ? looks.FAILED : looks[delivery.status];
}
