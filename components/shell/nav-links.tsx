"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import { cn } from "#components/ui/cn.ts";
import { Count } from "#components/ui/count.tsx";
import type { SiteId } from "#lib/site.ts";
import type { ShellSite } from "./current-site.ts";
import { useNavCount } from "./nav-counts.tsx";
import { type NavItem, sitePath } from "./nav-items.ts";
import { type NavLook, navIcon, navLink, navText } from "./nav-look.ts";

/** Badges stop at 99: more digits do not fit and add nothing. */
const shownMax = 99;

/** On the phone's bar a count sits on the icon. */
const onIcon = "absolute top-1.75 left-[calc(50%+7px)] h-4.25 min-w-4.25 px-1 text-[11px] leading-4.25 ring-2 ring-surface-1";

interface NavLinksProps {
  site: ShellSite;
  items: NavItem[];
  look?: NavLook;
  /** In a sheet that has an entry of its own in the history: the page takes its place. */
  replace?: boolean;
}

/** One link per page; the page in view is marked for eye and screen reader. */
export function NavLinks({ site, items, look = "side", replace = false }: NavLinksProps) {
  const t = useTranslations("nav");
  const pathname = usePathname();
  return items.map(({ key, path, icon: Icon }) => {
    const href = sitePath(site.siteId, path);
    return (
      <Link
        key={key}
        href={href}
        replace={replace}
        className={navLink({ look })}
        aria-current={isInView(pathname, href, path) ? "page" : undefined}
      >
        <Icon className={navIcon[look]} />
        <span className={navText[look]}>{t(key)}</span>
        {key === "today" && <NavCount item={key} siteId={site.siteId} look={look} tone="act" words="waiting" />}
        {key === "ociControl" && <NavCount item={key} siteId={site.siteId} look={look} tone="warn" words="warnings" />}
      </Link>
    );
  });
}

/** A page below another belongs to it; below Today everything would. */
const isInView = (pathname: string, href: string, path: string) => pathname === href || (path !== "" && pathname.startsWith(`${href}/`));

const solid = { act: "bg-accent text-accent-on", warn: "bg-blocked-mark text-surface-1" };

interface NavCountProps {
  item: NavItem["key"];
  siteId: SiteId;
  look: NavLook;
  tone: "act" | "warn";
  words: "waiting" | "warnings";
}

/** How many things there need a person, with a text for pointers and screen readers; nothing for 0. */
function NavCount({ item, siteId, look, tone, words }: NavCountProps) {
  const t = useTranslations("nav");
  const [count] = useNavCount(item, siteId);
  if (count === 0) return null;
  return (
    <Count tone={tone} className={cn(look === "tab" ? [onIcon, solid[tone]] : "ml-auto")} title={t(words, { count })}>
      <span aria-hidden="true">{count > shownMax ? `${shownMax}+` : count}</span>
      <span className="sr-only">{t(words, { count })}</span>
    </Count>
  );
}
