import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

/** The line every page begins with. */
export function PageBar({ className, ...props }: ComponentProps<"header">) {
  return (
    <header
      className={cn(
        "flex min-h-16 items-center gap-3 max-desk:min-h-0 max-desk:flex-wrap max-desk:gap-y-1 max-desk:pt-1 max-desk:pb-3 print:px-6",
        className,
      )}
      {...props}
    />
  );
}

/** The page's title, a quiet fact beside it, and its actions at the right. */
export function PageHeader({ title, note, children }: { title: ReactNode; note?: ReactNode; children?: ReactNode }) {
  return (
    <PageBar>
      <h1 className="desk:whitespace-nowrap">{title}</h1>
      {note && <span className="text-sm text-meta">{note}</span>}
      {children && <span className="ml-auto flex items-center gap-2 max-desk:flex-wrap">{children}</span>}
    </PageBar>
  );
}
