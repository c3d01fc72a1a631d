import {
  CalendarCheck,
  CheckCheck,
  CircleX,
  Eye,
  FileText,
  type LucideIcon,
  MousePointerClick,
  Pencil,
  Pointer,
  RotateCcw,
  ScrollText,
  Send,
  ShieldCheck,
  ShieldOff,
  Stamp,
  Trash2,
  Undo2,
  UserCheck,
} from "lucide-react";
import type { JourneyStep } from "#lib/leads/journey.ts";
import { channelIcons } from "../list/lead-state.ts";

interface StepLook {
  icon?: LucideIcon;
  className?: "act" | "ok" | "bad" | "todo";
}

const moves: Record<Extract<JourneyStep, { kind: "move" }>["to"], StepLook> = {
  intent: { icon: RotateCcw },
  qualified: { icon: UserCheck },
  meeting: { icon: CalendarCheck },
  sealed: { icon: Stamp, className: "ok" },
  corrected: { icon: Pencil },
  junk: { icon: Trash2 },
  cancelled: { icon: CircleX },
};

/** A step's picture. Ad clicks are accented, what a person reached is green, what is to come is empty. */
export function stepLook(step: Exclude<JourneyStep, { kind: "gap" }>): StepLook {
  switch (step.kind) {
    case "click":
      return { icon: MousePointerClick, className: "act" };
    case "visit":
      return { icon: Eye };
    case "page":
      return { icon: step.depth >= 90 ? ScrollText : FileText };
    case "hover":
      return { icon: Pointer };
    case "lead":
      return { icon: channelIcons[step.channel], ...(step.isThis && { className: "ok" }) };
    case "consent":
      return step.choice === "given" ? { icon: ShieldCheck } : { icon: ShieldOff, className: "bad" };
    case "move":
      return step.isUndo ? { icon: Undo2 } : moves[step.to];
    case "sent":
      return { icon: Send, className: "ok" };
    case "verdict":
      return step.verdict === "REJECTED" || step.verdict === "UNKNOWN"
        ? { icon: CircleX, className: "bad" }
        : { icon: CheckCheck, className: "ok" };
    case "todo":
      return { className: "todo" };
  }
}
