import type { ComponentProps } from "react";
import { cn } from "./cn.ts";

/** The column of a page anyone may read. */
export const publicPage = "mx-auto grid max-w-160 gap-6 px-4 py-8 max-desk:pt-5";

/** What stands below the page's header, one card under the other. `narrow` is the width of a form. */
export function Page({ narrow = false, className, ...props }: ComponentProps<"div"> & { narrow?: boolean }) {
  return <div className={cn("grid content-start gap-4", narrow && "max-w-160", className)} {...props} />;
}
