"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import type { ShellSite } from "./current-site.ts";
import { useNavCount } from "./nav-counts.tsx";
import { type NavItem, sitePath } from "./nav-items.ts";

/** More does not fit on an icon, and says no more. */
const shownMax = 99;

interface NavLinksProps {
  site: ShellSite;
  items: NavItem[];
  iconClass?: string;
  /** On the phone's bar a count sits on the icon. */
  pip?: boolean;
  /** In a sheet that has an entry of its own in the history: the page takes its place. */
  replace?: boolean;
}

/** One link per page; the page in view is marked for eye and screen reader. */
export function NavLinks({ site, items, iconClass = "i", pip = false, replace = false }: NavLinksProps) {
  const t = useTranslations("nav");
  const pathname = usePathname();
  return items.map(({ key, path, icon: Icon }) => {
    const href = sitePath(site.publicId, path);
    return (
      <Link key={key} href={href} replace={replace} aria-current={isInView(pathname, href, path) ? "page" : undefined}>
        <Icon className={iconClass} />
        <span className="clip">{t(key)}</span>
        {key === "today" && <Count item={key} siteId={site.publicId} className="count act" words="waiting" />}
        {key === "ociControl" && <Count item={key} siteId={site.publicId} className={pip ? "pip" : "count warn"} words="warnings" />}
      </Link>
    );
  });
}

/** A page below another belongs to it; below Today everything would. */
const isInView = (pathname: string, href: string, path: string) => pathname === href || (path !== "" && pathname.startsWith(`${href}/`));

interface CountProps {
  item: NavItem["key"];
  siteId: string;
  className: string;
  words: "waiting" | "warnings";
}

/** How many there ask for a person, in words for whoever hovers or listens; none is no news. */
function Count({ item, siteId, className, words }: CountProps) {
  const t = useTranslations("nav");
  const [count] = useNavCount(item, siteId);
  if (count === 0) return null;
  return (
    <span className={className} title={t(words, { count })}>
      <span aria-hidden="true">{count > shownMax ? `${shownMax}+` : count}</span>
      <span className="sr">{t(words, { count })}</span>
    </span>
  );
}
