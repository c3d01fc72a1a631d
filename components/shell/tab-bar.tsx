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
import { navIcon, navLink, navText } from "./nav-look.ts";

/** The phone's bottom bar. What has no place on it waits under More, together with the account (children). */
export function TabBar({ sites, children }: { sites: ShellSite[]; children: ReactNode }) {
  const t = useTranslations();
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
    <button type="button" className={navLink({ look: "tab" })}>
      <MenuIcon className={navIcon.tab} />
      <span className={navText.tab}>{t("actions.more")}</span>
    </button>
  );
  return (
    <nav
      className="fixed inset-x-0 bottom-0 z-10 grid h-tabbar auto-cols-[minmax(0,1fr)] grid-flow-col border-t border-line-2 bg-surface-1 pb-[env(safe-area-inset-bottom)] desk:hidden print:hidden"
      aria-label={t("nav.main")}
    >
      {site ? (
        <NavLinks site={site} items={items.filter((item) => item.onPhoneBar)} look="tab" />
      ) : (
        <Link className={navLink({ look: "tab" })} href="/dashboard" aria-current={pathname === "/dashboard" ? "page" : undefined}>
          <LayoutGrid className={navIcon.tab} />
          <span className={navText.tab}>{t("nav.sites")}</span>
        </Link>
      )}
      <Sheet open={open} onOpenChange={setOpen} title={t("actions.more")} trigger={more}>
        {site && underMore.length > 0 && (
          <div className="-mx-2 grid gap-px">
            <NavLinks site={site} items={underMore} look="sheet" replace />
          </div>
        )}
        {children}
      </Sheet>
    </nav>
  );
}
