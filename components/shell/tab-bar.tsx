"use client";

import { LayoutGrid, Menu as MenuIcon } from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Sheet } from "#components/ui/sheet.tsx";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { navItemsFor } from "./nav-items.ts";
import { NavLinks } from "./nav-links.tsx";

/** The phone's bottom bar. What has no place on it waits under More, together with the account (children). */
export function TabBar({ sites, children }: { sites: ShellSite[]; children: ReactNode }) {
  const t = useTranslations("nav");
  const pathname = usePathname();
  const site = useCurrentSite(sites);
  const [open, setOpen] = useState(false);
  useBackCloses(open, () => setOpen(false));
  // Going somewhere closes the sheet, by whatever link it was.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path is the event, not an input
  useEffect(() => setOpen(false), [pathname]);

  const items = site ? navItemsFor(site.role) : [];
  const underMore = items.filter((item) => !item.onPhoneBar);
  const more = (
    <button type="button">
      <MenuIcon className="i" />
      <span>{t("more")}</span>
    </button>
  );
  return (
    <nav className="tabbar" aria-label={t("main")}>
      {site ? (
        <NavLinks site={site} items={items.filter((item) => item.onPhoneBar)} pip />
      ) : (
        <Link href="/dashboard" aria-current={pathname === "/dashboard" ? "page" : undefined}>
          <LayoutGrid className="i" />
          <span>{t("sites")}</span>
        </Link>
      )}
      <Sheet open={open} onOpenChange={setOpen} title={t("more")} trigger={more}>
        {site && underMore.length > 0 && (
          <div className="nav-list sheet-list">
            <NavLinks site={site} items={underMore} iconClass="i i-18" replace />
          </div>
        )}
        {children}
      </Sheet>
    </nav>
  );
}
