"use client";

import { LayoutGrid } from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { BrandMark, brandName } from "#components/ui/brand.tsx";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { navItemsFor } from "./nav-items.ts";
import { NavLinks } from "./nav-links.tsx";
import { SiteSwitcher } from "./site-switcher.tsx";
import { useWatchWarnings } from "./use-watch-warnings.ts";

/** The desk's navigation: which site, its pages, and at the foot the reader. */
export function SideNav({ sites, mayCreate, children }: { sites: ShellSite[]; mayCreate: boolean; children: ReactNode }) {
  const t = useTranslations("nav");
  const pathname = usePathname();
  const site = useCurrentSite(sites);
  useWatchWarnings(site?.publicId, pathname.endsWith("/oci-control"));
  const items = site ? navItemsFor(site.role) : [];
  const siteItems = items.filter((item) => item.group === "site");
  return (
    <nav className="nav" aria-label={t("main")}>
      <Link className="brand" href="/dashboard">
        <BrandMark />
        {brandName}
      </Link>
      <SiteSwitcher sites={sites} mayCreate={mayCreate} />
      <div className="nav-list">
        {site ? (
          <NavLinks site={site} items={items.filter((item) => item.group === "work")} />
        ) : (
          <Link href="/dashboard" aria-current={pathname === "/dashboard" ? "page" : undefined}>
            <LayoutGrid className="i" />
            <span className="clip">{t("sites")}</span>
          </Link>
        )}
      </div>
      {site && siteItems.length > 0 && (
        <>
          <div className="label">{t("site")}</div>
          <div className="nav-list">
            <NavLinks site={site} items={siteItems} />
          </div>
        </>
      )}
      {children}
    </nav>
  );
}
