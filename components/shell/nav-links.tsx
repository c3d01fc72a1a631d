"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import type { ShellSite } from "./current-site.ts";
import { useNavCount } from "./nav-counts.tsx";
import { type NavItem, sitePath } from "./nav-items.ts";

interface NavLinksProps {
  site: ShellSite;
  items: NavItem[];
  iconClass?: string;
  /** On the phone's bar a count sits on the icon. */
  pip?: boolean;
}

/** One link per page; the page in view is marked for eye and screen reader. */
export function NavLinks({ site, items, iconClass = "i", pip = false }: NavLinksProps) {
  const t = useTranslations("nav");
  const pathname = usePathname();
  const [warnings] = useNavCount("ociControl", site.publicId);
  return items.map(({ key, path, icon: Icon }) => {
    const href = sitePath(site.publicId, path);
    return (
      <Link key={key} href={href} aria-current={pathname === href ? "page" : undefined}>
        <Icon className={iconClass} />
        <span className="clip">{t(key)}</span>
        {key === "today" && <WaitingCount item={key} siteId={site.publicId} />}
        {key === "ociControl" && warnings > 0 && (
          <span className={pip ? "pip" : "count warn"} title={t("warnings", { count: warnings })}>
            {warnings > 99 ? t("many") : warnings}
          </span>
        )}
      </Link>
    );
  });
}

/** How many wait there; none is no news. */
function WaitingCount({ item, siteId }: { item: NavItem["key"]; siteId: string }) {
  const t = useTranslations("nav");
  const [count] = useNavCount(item, siteId);
  if (count === 0) return null;
  return (
    <span className="count act">
      <span aria-hidden="true">{count > 99 ? "99+" : count}</span>
      <span className="sr">{t("waiting", { count })}</span>
    </span>
  );
}
