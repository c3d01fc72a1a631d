import { CheckCheck, CircleCheck, CircleX, Clock, Hand, Loader, type LucideIcon, RotateCw, TimerOff } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";

/** Stuck and Confirmed are the only filled badges: act now, and proven. */
const looks = {
  QUEUED: { icon: Clock, className: "s-queued" },
  RETRY: { icon: RotateCw, className: "s-retry" },
  PROCESSING: { icon: Loader, className: "s-processing" },
  STUCK: { icon: TimerOff, className: "s-stuck" },
  COMPLETED: { icon: CircleCheck, className: "s-completed" },
  CONFIRMED: { icon: CheckCheck, className: "s-confirmed" },
  FAILED: { icon: CircleX, className: "s-failed" },
  REJECTED: { icon: CircleX, className: "s-failed" },
  BLOCKED: { icon: Hand, className: "s-blocked" },
} as const satisfies Record<string, { icon: LucideIcon; className: string }>;

export type State = keyof typeof looks;

/** A state as icon, word and colour. `children` replaces the word where a page has a more exact one. */
export function Badge({ state, children }: { state: State; children?: ReactNode }) {
  const t = useTranslations("states");
  const { icon: Icon, className } = looks[state];
  return (
    <span className={`badge ${className}`}>
      <Icon className="i" />
      {children ?? t(state)}
    </span>
  );
}

/** A fact that is not a state: neutral, outlined. */
export function Tag({ icon: Icon, children }: { icon?: LucideIcon; children: ReactNode }) {
  return (
    <span className="tag">
      {Icon && <Icon className="i" />}
      {children}
    </span>
  );
}
