"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { useTranslations } from "next-intl";
import { type ReactNode, useState } from "react";
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

/** On the rail too. */
const onRail = "rail:absolute rail:top-0.5 rail:right-0 rail:h-4 rail:min-w-4 rail:px-1 rail:text-[10px] rail:leading-4";

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
      <NavLink key={key} href={href} replace={replace} look={look} isCurrent={isInView(pathname, href, path)} title={t(key)}>
        <Icon className={navIcon[look]} />
        <span className={navText[look]}>{t(key)}</span>
        {key === "today" && <NavCount item={key} siteId={site.siteId} look={look} tone="act" words="waiting" />}
        {key === "ociControl" && <NavCount item={key} siteId={site.siteId} look={look} tone="warn" words="warnings" />}
      </NavLink>
    );
  });
}

interface NavLinkProps {
  href: string;
  replace: boolean;
  look: NavLook;
  isCurrent: boolean;
  /** Read by a pointer on the rail, where the word is not shown. */
  title: string;
  children: ReactNode;
}

/** In sight, the page's skeleton is fetched; a pointer or the focus on it is half a decision, and the page itself is. */
function NavLink({ look, isCurrent, title, ...link }: NavLinkProps) {
  const [isNear, setNear] = useState(false);
  const near = () => setNear(true);
  return (
    <Link
      {...link}
      prefetch={isNear ? true : "auto"}
      onPointerEnter={near}
      onFocus={near}
      className={navLink({ look })}
      title={title}
      aria-current={isCurrent ? "page" : undefined}
    />
  );
}

/** A page below another belongs to it; below Today everything would. Setup belongs to Connections, a receipt to the activity it proves. */
const isInView = (pathname: string, href: string, path: string) =>
  pathname === href ||
  (path !== "" && pathname.startsWith(`${href}/`)) ||
  (path === "/connections" && pathname.endsWith("/setup")) ||
  (path === "/activity" && pathname.startsWith("/dashboard/proofs/"));

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
    <Count
      tone={tone}
      className={cn(look === "tab" ? [onIcon, solid[tone]] : ["ml-auto", look === "side" && onRail])}
      title={t(words, { count })}
    >
      <span aria-hidden="true">{count > shownMax ? `${shownMax}+` : count}</span>
      <span className="sr-only">{t(words, { count })}</span>
    </Count>
  );
}
