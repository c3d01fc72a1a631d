import { Check, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "./cn.ts";

interface StepRowProps {
  icon: LucideIcon;
  /** What is done, or in use, is ticked. */
  done: boolean;
  title: ReactNode;
  note: ReactNode;
  /** A button; on a phone it takes the whole width. */
  action?: ReactNode;
}

/** One step of a checklist, as an item of a list. */
export function StepRow({ icon, done, title, note, action }: StepRowProps) {
  const Icon = done ? Check : icon;
  return (
    <li className="flex items-center gap-3 border-b border-line-1 px-4 py-3 last:border-b-0 max-desk:flex-wrap max-desk:items-start max-desk:[&>:is(a,button)]:w-full">
      <span
        className={cn(
          "grid size-8 shrink-0 place-items-center rounded-[8px] bg-surface-2 text-support",
          done && "bg-completed-bg text-completed",
        )}
      >
        <Icon />
      </span>
      <div className="min-w-0 flex-1">
        {title}
        <p className="text-sm text-pretty text-meta">{note}</p>
      </div>
      {action}
    </li>
  );
}
