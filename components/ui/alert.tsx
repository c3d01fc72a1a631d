import { cva, type VariantProps } from "class-variance-authority";
import { CircleCheck, CircleX, Hand, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "./cn.ts";

const alert = cva("alert", {
  variants: { tone: { failed: "failed", retry: "retry", blocked: "blocked", completed: "completed" } },
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
      <Icon className="i i-18" />
      <div className="body">
        {title && <b>{title}</b>} {children}
      </div>
      {action}
    </div>
  );
}
