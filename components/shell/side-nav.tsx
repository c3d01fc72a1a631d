"use client";

import { LayoutGrid } from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { Brand } from "#components/ui/brand.tsx";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { navItemsFor } from "./nav-items.ts";
import { NavLinks } from "./nav-links.tsx";
import { navLink, navText } from "./nav-look.ts";
import { QuickSearch } from "./quick-search.tsx";
import { SiteSwitcher } from "./site-switcher.tsx";
import { useWatchWarnings } from "./use-watch-warnings.ts";

/** The desk's navigation: which site, its pages, and at the foot the reader. */
export function SideNav({ sites, mayCreate, children }: { sites: ShellSite[]; mayCreate: boolean; children: ReactNode }) {
  const t = useTranslations("nav");
  const pathname = usePathname();
  const site = useCurrentSite(sites);
  useWatchWarnings(site?.siteId, pathname.endsWith("/oci-control"));
  const items = site ? navItemsFor(site.role) : [];
  const siteItems = items.filter((item) => item.group === "site");
  return (
    <nav
      className="sticky top-0 flex h-dvh flex-col overflow-y-auto border-r border-line-1 bg-surface-0 p-3 [scrollbar-width:thin] max-desk:hidden print:hidden"
      aria-label={t("main")}
    >
      <Brand href="/dashboard" className="px-2 rail:overflow-hidden rail:whitespace-nowrap rail:text-transparent" />
      <SiteSwitcher sites={sites} mayCreate={mayCreate} />
      <QuickSearch sites={sites} mayCreate={mayCreate} look="side" />
      <div className="grid gap-px">
        {site ? (
          <NavLinks site={site} items={items.filter((item) => item.group === "work")} />
        ) : (
          <Link className={navLink({ look: "side" })} href="/dashboard" aria-current={pathname === "/dashboard" ? "page" : undefined}>
            <LayoutGrid />
            <span className={navText.side}>{t("sites")}</span>
          </Link>
        )}
      </div>
      {site && siteItems.length > 0 && (
        <>
          <div className="px-2 pt-5 pb-1.5 text-xs font-medium text-meta rail:mx-2 rail:my-3 rail:h-px rail:overflow-hidden rail:bg-line-1 rail:p-0">
            {t("site")}
          </div>
          <div className="grid gap-px">
            <NavLinks site={site} items={siteItems} />
          </div>
        </>
      )}
      {children}
    </nav>
  );
}
