import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

const count = cva("h-4.5 min-w-5 rounded-full px-1.5 text-center text-xs leading-4.5 font-medium", {
  variants: {
    tone: { plain: "bg-surface-3 text-support", act: "bg-accent-soft text-accent-text", warn: "bg-blocked-bg text-blocked" },
  },
  defaultVariants: { tone: "plain" },
});

/** A number beside the label of what it counts. */
export function Count({ tone, className, ...props }: VariantProps<typeof count> & ComponentProps<"span">) {
  return <span className={cn(count({ tone }), className)} {...props} />;
}
