"use client";

import { Check, ChevronsUpDown, LayoutGrid, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { Avatar } from "#components/ui/avatar.tsx";
import { Menu, MenuLink, MenuSeparator } from "#components/ui/menu.tsx";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { sitePath } from "./nav-items.ts";

/** Names the site in view and leads to the others. */
export function SiteSwitcher({ sites, mayCreate }: { sites: ShellSite[]; mayCreate: boolean }) {
  const t = useTranslations("nav");
  const site = useCurrentSite(sites);
  const triggerContent = (
    <>
      {site ? <Avatar name={site.name} /> : <LayoutGrid className="i t3 mx-1.5" />}
      <span className="grow">
        <span className="med sm two-lines">{site?.name ?? t("chooseSite")}</span>
        {site?.domain && <span className="xs t3 clip block">{site.domain}</span>}
      </span>
      <ChevronsUpDown className="i i-14 t3" />
    </>
  );
  return (
    <Menu
      trigger={<button type="button" className="switch" aria-label={site ? t("switchSite", { site: site.name }) : t("chooseSite")} />}
      triggerContent={triggerContent}
    >
      {sites.map((each) => (
        <MenuLink key={each.publicId} href={sitePath(each.publicId)} current={each.publicId === site?.publicId}>
          <Avatar name={each.name} />
          <span className="grow">
            <span className="clip block">{each.name}</span>
            {each.domain && <span className="xs t3 clip block">{each.domain}</span>}
          </span>
          {each.publicId === site?.publicId && <Check className="i" />}
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
