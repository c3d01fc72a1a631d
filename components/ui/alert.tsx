import { cva, type VariantProps } from "class-variance-authority";
import { CircleCheck, CircleX, Hand, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "./cn.ts";

const alert = cva(
  "flex items-center gap-3 rounded-lg border border-transparent py-2.5 pr-3 pl-3.5 text-sm text-support max-desk:flex-wrap max-desk:px-3.5 max-desk:py-3 max-desk:[&>:is(a,button)]:w-full",
  { variants: { tone: { failed: "bg-failed-bg", retry: "bg-retry-bg", blocked: "bg-blocked-bg", completed: "bg-completed-bg" } } },
);
const mark = cva("size-4.5 max-desk:mt-px max-desk:self-start", {
  variants: { tone: { failed: "text-failed", retry: "text-retry", blocked: "text-blocked", completed: "text-completed" } },
});
const icons = { failed: CircleX, retry: TriangleAlert, blocked: Hand, completed: CircleCheck };

type AlertProps = {
  tone: NonNullable<VariantProps<typeof alert>["tone"]>;
  /** The fact in one line. */
  title?: ReactNode;
  /** Who can fix it and what to do. */
  children?: ReactNode;
  /** One button. */
  action?: ReactNode;
  className?: string;
};

/** One line of fact, who and what, one button. Only a failure interrupts a screen reader. */
export function Alert({ tone, title, children, action, className }: AlertProps) {
  const Icon = icons[tone];
  return (
    <div className={cn(alert({ tone }), className)} role={tone === "failed" ? "alert" : "status"}>
      <Icon className={mark({ tone })} />
      <div className="min-w-0 flex-1 text-pretty max-desk:basis-[calc(100%-40px)] [&_b]:font-semibold [&_b]:text-content">
        {title && <b>{title}</b>} {children}
      </div>
      {action}
    </div>
  );
}
