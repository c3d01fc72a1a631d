"use client";

import { CircleUserRound, LogOut } from "lucide-react";
import { useTranslations } from "next-intl";
import { startTransition } from "react";
import { Avatar } from "#components/ui/avatar.tsx";
import { Menu, MenuAction, MenuLink } from "#components/ui/menu.tsx";
import { signOut } from "#lib/auth/actions.ts";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { LanguageToggle } from "./language-toggle.tsx";
import { ThemeToggle } from "./theme-toggle.tsx";

/** The foot of the navigation: who is signed in, with which role, and how they like their pages. */
export function UserBlock({ name, email, sites }: { name: string; email: string; sites: ShellSite[] }) {
  const t = useTranslations("nav");
  const roles = useTranslations("roles");
  const site = useCurrentSite(sites);
  const triggerContent = (
    <>
      <Avatar name={name} round />
      <span className="min-w-0 flex-1 rail:sr-only">
        <span className="text-sm font-medium block truncate">{name}</span>
        <span className="text-xs text-meta block truncate">{site ? roles(site.role) : email}</span>
      </span>
    </>
  );
  return (
    <div className="mt-auto flex items-center gap-0.5 pt-4 rail:flex-col">
      <Menu
        side="top"
        trigger={
          <button
            type="button"
            className="flex min-w-0 flex-1 items-center gap-2 rounded-md p-1 rail:flex-none hover:bg-surface-2"
            aria-label={t("yourAccount", { name })}
          />
        }
        triggerContent={triggerContent}
      >
        <MenuLink href="/dashboard/account" icon={CircleUserRound}>
          {t("account")}
        </MenuLink>
        <MenuAction icon={LogOut} onSelect={() => startTransition(signOut)}>
          {t("signOut")}
        </MenuAction>
      </Menu>
      <ThemeToggle />
      <LanguageToggle />
    </div>
  );
}
