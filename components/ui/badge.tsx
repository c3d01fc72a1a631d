import { Ban, CheckCheck, CircleCheck, CircleX, Clock, Hand, Loader, type LucideIcon, RotateCw, TimerOff } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { cn } from "./cn.ts";

/** Stuck and Confirmed are the only filled badges: act now, and proven. */
const looks = {
  QUEUED: { icon: Clock, className: "bg-queued-bg text-queued" },
  RETRY: { icon: RotateCw, className: "bg-retry-bg text-retry" },
  PROCESSING: { icon: Loader, className: "bg-processing-bg text-processing" },
  STUCK: { icon: TimerOff, className: "bg-stuck-solid text-stuck-on" },
  COMPLETED: { icon: CircleCheck, className: "bg-completed-bg text-completed" },
  CONFIRMED: { icon: CheckCheck, className: "bg-confirmed-solid text-confirmed-on" },
  FAILED: { icon: CircleX, className: "bg-failed-bg text-failed" },
  NOT_SENT: { icon: Ban, className: "bg-unsent-bg text-unsent" },
  REJECTED: { icon: CircleX, className: "bg-failed-bg text-failed" },
  BLOCKED: { icon: Hand, className: "bg-blocked-bg text-blocked" },
} as const satisfies Record<string, { icon: LucideIcon; className: string }>;

export type State = keyof typeof looks;

/** A state as icon, word and colour. `children` replaces the word where a page has a more exact one. */
export function Badge({ state, children }: { state: State; children?: ReactNode }) {
  const t = useTranslations("states");
  const { icon: Icon, className } = looks[state];
  return (
    <span
      className={cn(
        "inline-flex h-5.5 items-center gap-1.25 rounded-sm pr-1.75 pl-1.25 text-xs leading-none font-medium whitespace-nowrap",
        className,
      )}
    >
      <Icon className="size-3.5 stroke-2" />
      {children ?? t(state)}
    </span>
  );
}

/** A fact that is not a state: neutral, outlined. */
export function Tag({ icon: Icon, className, children }: { icon?: LucideIcon; className?: string; children: ReactNode }) {
  return (
    <span
      className={cn(
        "inline-flex h-5.5 items-center gap-1.25 rounded-sm px-1.75 text-xs leading-none whitespace-nowrap text-support inset-ring inset-ring-line-1",
        className,
      )}
    >
      {Icon && <Icon className="size-3.5" />}
      {children}
    </span>
  );
}
