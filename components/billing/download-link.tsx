import type { ReactNode } from "react";
import { ButtonAnchor } from "#components/ui/button.tsx";
import type { SiteId } from "#lib/site.ts";

interface DownloadLinkProps {
  href: string;
  fileName: string;
  /** Needed where the link shows only an icon. */
  label?: string;
  look?: "icon" | "small";
  children: ReactNode;
}

/** Downloads a file. A plain link: Next's would fetch the file as soon as it scrolls into view. */
export function DownloadLink({ href, fileName, label, look = "small", children }: DownloadLinkProps) {
  return (
    <ButtonAnchor
      size="sm"
      {...(look === "icon" && { tone: "ghost", icon: true })}
      href={href}
      download={fileName}
      aria-label={label}
      title={label}
    >
      {children}
    </ButtonAnchor>
  );
}

/** The page that checks receipts, invoices and events without us (scripts/build-verifier.ts). */
export const verifier = { path: "/verify.html", fileName: "opsmantik-verifier.html" };

export const invoiceUrl = (siteId: SiteId, yearMonth: string, format?: "csv") =>
  `/api/sites/${siteId}/billing/invoices/${yearMonth}${format ? `?format=${format}` : ""}`;

export const originsCsvUrl = (siteId: SiteId, day: string) => `/api/sites/${siteId}/billing/origins?day=${day}&format=csv`;

export const eventsCsvUrl = (siteId: SiteId, yearMonth: string) =>
  `/api/sites/${siteId}/billing/counted-events?month=${yearMonth}&format=csv`;
