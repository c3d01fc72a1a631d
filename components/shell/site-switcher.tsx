"use client";

import { Check, ChevronsUpDown, LayoutGrid, Plus } from "lucide-react";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import { Avatar } from "#components/ui/avatar.tsx";
import { Menu, MenuLink, MenuSeparator } from "#components/ui/menu.tsx";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { navItemsFor, sitePath } from "./nav-items.ts";

/** Names the site in view and leads to the same page of the others. */
export function SiteSwitcher({ sites, mayCreate }: { sites: ShellSite[]; mayCreate: boolean }) {
  const t = useTranslations("nav");
  const site = useCurrentSite(sites);
  const pageOf = useSamePage(site);
  const triggerContent = (
    <>
      {site ? <Avatar name={site.name} /> : <LayoutGrid className="text-meta mx-1.5" />}
      <span className="min-w-0 flex-1 rail:sr-only">
        <span className="font-medium text-sm line-clamp-2 wrap-anywhere">{site?.name ?? t("chooseSite")}</span>
        {site?.domain && <span className="text-xs text-meta block truncate">{site.domain}</span>}
      </span>
      <ChevronsUpDown className="size-3.5 text-meta rail:hidden" />
    </>
  );
  return (
    <Menu
      trigger={
        <button
          type="button"
          className="mt-3 mb-4 flex w-full shrink-0 items-center gap-2.25 rounded-md bg-surface-1 px-2 py-1.75 shadow-sm inset-ring inset-ring-line-1 hover:bg-surface-2 rail:justify-center rail:px-0 max-desk:my-0 max-desk:-ml-2 max-desk:min-h-11 max-desk:w-auto max-desk:max-w-full max-desk:bg-transparent max-desk:py-1 max-desk:shadow-none max-desk:inset-ring-0"
          aria-label={site ? t("switchSite", { site: site.name }) : t("chooseSite")}
        />
      }
      triggerContent={triggerContent}
    >
      {sites.map((each) => (
        <MenuLink key={each.siteId} href={pageOf(each)} current={each.siteId === site?.siteId}>
          <Avatar name={each.name} />
          <span className="min-w-0 flex-1">
            <span className="block truncate">{each.name}</span>
            {each.domain && <span className="text-xs text-meta block truncate">{each.domain}</span>}
          </span>
          {each.siteId === site?.siteId && <Check className="text-meta" />}
        </MenuLink>
      ))}
      {sites.length > 0 && <MenuSeparator />}
      <MenuLink href="/dashboard" icon={LayoutGrid}>
        {t("allSites")}
      </MenuLink>
      {mayCreate && (
        <MenuLink href="/dashboard/sites/new" icon={Plus}>
          {t("newSite")}
        </MenuLink>
      )}
    </Menu>
  );
}

/** The page in view of another site, if the reader may see it there; its filters and rows stay behind. */
function useSamePage(site: ShellSite | null): (other: ShellSite) => string {
  const pathname = usePathname();
  return ({ siteId, role }) => {
    const below = site ? pathname.slice(sitePath(site.siteId).length) : "";
    const pages = navItemsFor(role).filter(({ path }) => path !== "" && (below === path || below.startsWith(`${path}/`)));
    return sitePath(siteId, pages.toSorted((one, other) => other.path.length - one.path.length)[0]?.path);
  };
}
