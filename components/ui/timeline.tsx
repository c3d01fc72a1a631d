import { cva, type VariantProps } from "class-variance-authority";
import type { LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

const mark = cva("grid size-5.5 place-items-center rounded-full", {
  variants: {
    tone: {
      plain: "bg-surface-2 text-support",
      ok: "bg-completed-bg text-completed",
      act: "bg-accent-soft text-accent-text",
      todo: "text-support inset-ring-[1.5px] inset-ring-line-2",
      bad: "bg-failed-bg text-failed",
      retry: "bg-retry-bg text-retry",
    },
  },
  defaultVariants: { tone: "plain" },
});

export type TimelineTone = NonNullable<VariantProps<typeof mark>["tone"]>;

const step =
  "relative grid grid-cols-[22px_minmax(0,1fr)_auto] gap-x-2.5 pb-2.75 before:absolute before:top-5.5 before:bottom-0 before:left-[10.5px] before:w-px before:bg-line-2 last:pb-0 last:before:hidden [&>time]:text-xs [&>time]:leading-5.5 [&>time]:whitespace-nowrap [&>time]:text-meta";
/** What has not happened yet, or was left out, hangs on a dashed line. */
const dashed = "before:bg-transparent before:bg-[repeating-linear-gradient(var(--color-line-2)_0_3px,transparent_3px_6px)]";

interface StepProps {
  tone?: TimelineTone | undefined;
  icon?: LucideIcon | undefined;
  /** A quiet second line. */
  note?: ReactNode;
  /** A <time> at the right. */
  time?: ReactNode;
  isNextOpen?: boolean;
  className?: string;
  children: ReactNode;
}

/** What happened, one below the other, on a line. */
export function Timeline(props: ComponentProps<"ol">) {
  return <ol className="relative grid" {...props} />;
}

export function TimelineStep({ tone, icon: Icon, note, time, isNextOpen = false, className, children }: StepProps) {
  return (
    <li className={cn(step, isNextOpen && dashed)}>
      <span className={mark({ tone })}>{Icon && <Icon className="size-3.25" />}</span>
      <span className={cn("pt-px text-sm leading-5 wrap-anywhere", className)}>
        {children}
        {note && <small className="mt-px block text-xs text-meta">{note}</small>}
      </span>
      {time}
    </li>
  );
}

/** How long nothing happened. */
export function TimelineGap({ children }: { children: ReactNode }) {
  return (
    <li className={cn(step, dashed, "before:top-0")}>
      <span className="col-[2/-1] pt-px text-xs text-meta">{children}</span>
    </li>
  );
}
