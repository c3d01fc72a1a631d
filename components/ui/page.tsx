import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** What stands below the page's header, one card under the other. `narrow` is the width of a form. */
export function Page({ narrow = false, className, ...props }: ComponentProps<"div"> & { narrow?: boolean }) {
  return <div className={cn("grid content-start gap-4", narrow && "max-w-160", className)} {...props} />;
}
