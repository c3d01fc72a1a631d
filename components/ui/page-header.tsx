import { ArrowLeft } from "lucide-react";
import Link from "next/link";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

/** The line every page begins with. */
export function PageBar({ className, ...props }: ComponentProps<"header">) {
  return (
    <header
      className={cn(
        "flex min-h-16 flex-wrap items-center gap-x-3 gap-y-1 py-2 max-desk:min-h-0 max-desk:pt-1 max-desk:pb-3 print:px-6",
        className,
      )}
      {...props}
    />
  );
}

interface PageHeaderProps {
  title: ReactNode;
  note?: ReactNode;
  /** The page that this one is a part of. */
  back?: { href: string; label: string };
  children?: ReactNode;
}

/** The page's title, a quiet fact beside it, and its actions at the right. A page below another leads back to it. */
export function PageHeader({ title, note, back, children }: PageHeaderProps) {
  return (
    <PageBar>
      {back && (
        <Link
          href={back.href}
          className="tap -ml-1.5 gap-1.5 rounded-md px-1.5 text-sm font-medium text-support hover:bg-surface-2 hover:text-content max-desk:w-full print:hidden"
        >
          <ArrowLeft className="text-meta" />
          {back.label}
        </Link>
      )}
      <h1 className="desk:whitespace-nowrap">{title}</h1>
      {note && <span className="text-sm text-meta">{note}</span>}
      {children && <span className="ml-auto flex flex-wrap items-center justify-end gap-2 max-desk:items-end">{children}</span>}
    </PageBar>
  );
}
