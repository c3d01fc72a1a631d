import { cva, type VariantProps } from "class-variance-authority";
import Link from "next/link";
import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

const button = cva("btn", {
  variants: {
    /** One primary per view or panel. `destroy` is the filled red of a confirmation, `danger` only names the risk. */
    tone: { plain: "", primary: "primary", ghost: "ghost", danger: "danger", destroy: "destroy" },
    size: { md: "", sm: "sm", big: "big" },
    /** A square button that holds an icon only; it needs an aria-label. */
    icon: { true: "icon" },
  },
});

export type ButtonLook = VariantProps<typeof button>;

export function Button({ tone, size, icon, className, type = "button", ...props }: ComponentProps<"button"> & ButtonLook) {
  return <button type={type} className={cn(button({ tone, size, icon }), className)} {...props} />;
}

export function ButtonLink({ tone, size, icon, className, ...props }: ComponentProps<typeof Link> & ButtonLook) {
  return <Link className={cn(button({ tone, size, icon }), className)} {...props} />;
}
