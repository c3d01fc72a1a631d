import { cva, type VariantProps } from "class-variance-authority";
import Link from "next/link";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

const outlined = "bg-surface-1 shadow-sm inset-ring inset-ring-line-2 hover:bg-surface-2 active:bg-surface-3";

const button = cva(
  [
    "inline-flex min-h-8.5 items-center justify-center gap-1.75 rounded-md px-3 py-1.25 font-medium whitespace-nowrap transition-[background-color] duration-110 max-desk:min-h-11",
    "aria-pressed:bg-accent-soft aria-pressed:text-accent-text aria-pressed:shadow-none aria-pressed:inset-ring-[1.5px] aria-pressed:inset-ring-accent",
    "off:cursor-not-allowed off:bg-surface-2 off:text-meta off:shadow-none off:inset-ring off:inset-ring-line-1 aria-busy:cursor-progress",
  ],
  {
    variants: {
      /** One primary per view or panel. `destroy` is the filled red of a confirmation, `danger` only names the risk. */
      tone: {
        plain: [outlined, "text-content"],
        primary: "bg-accent text-accent-on shadow-sm hover:bg-accent-hover active:bg-accent-press",
        ghost: "text-support hover:bg-surface-2 hover:text-content active:bg-surface-3",
        danger: [outlined, "text-failed"],
        destroy: "bg-danger text-accent-on hover:bg-danger-hover",
      },
      size: {
        md: "",
        sm: "min-h-7 gap-1.25 rounded-[6px] px-2.25 py-0.75 text-sm max-desk:px-3",
        big: "min-h-10 w-full",
        /** The one button of a page before the dashboard. */
        tall: "min-h-11 w-full max-desk:min-h-13",
      },
      /** A square button that holds an icon only; it needs an aria-label. */
      icon: { true: "w-8.5 p-0 max-desk:w-11 max-desk:p-0" },
    },
    compoundVariants: [{ icon: true, size: "sm", className: "w-7" }],
    defaultVariants: { tone: "plain" },
  },
);

export type ButtonLook = VariantProps<typeof button>;

export function Button({ tone, size, icon, className, type = "button", ...props }: ComponentProps<"button"> & ButtonLook) {
  return <button type={type} className={cn(button({ tone, size, icon }), className)} {...props} />;
}

/** A link that leaves the app or downloads a file, looking like a button. */
export function ButtonAnchor({ tone, size, icon, className, ...props }: ComponentProps<"a"> & ButtonLook) {
  return <a className={cn(button({ tone, size, icon }), className)} {...props} />;
}

export function ButtonLink({ tone, size, icon, className, ...props }: ComponentProps<typeof Link> & ButtonLook) {
  return <Link className={cn(button({ tone, size, icon }), className)} {...props} />;
}
