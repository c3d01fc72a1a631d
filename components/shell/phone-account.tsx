import { CircleUserRound, LogOut } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { Avatar } from "#components/ui/avatar.tsx";
import { cn } from "#components/ui/cn.ts";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signOut } from "#lib/auth/actions.ts";
import type { Theme } from "#lib/i18n/theme.ts";
import { navIcon, navLink, navText } from "./nav-look.ts";
import { LanguageChoice, ThemeChoice } from "./preference-choice.tsx";

/** The lower half of More: the reader, their preferences, the way out. */
export function PhoneAccount({ name, email, theme }: { name: string; email: string; theme: Theme }) {
  const t = useTranslations("nav");
  const preferences = useTranslations("preferences");
  return (
    <>
      <div className="flex min-w-0 items-center gap-3">
        <Avatar name={name} round />
        <span className="min-w-0 flex-1">
          <span className="font-medium block truncate">{name}</span>
          <span className="text-sm text-meta block truncate">{email}</span>
        </span>
      </div>
      <Link className={cn(navLink({ look: "sheet" }), "-mx-2")} href="/dashboard/account">
        <CircleUserRound className={navIcon.sheet} />
        <span className={navText.sheet}>{t("account")}</span>
      </Link>
      <div className="grid gap-3">
        <div className="flex min-w-0 items-center gap-2 flex-wrap justify-between">
          <span className="text-sm text-support">{preferences("language")}</span>
          <LanguageChoice />
        </div>
        <div className="flex min-w-0 items-center gap-2 flex-wrap justify-between">
          <span className="text-sm text-support">{preferences("theme")}</span>
          <ThemeChoice theme={theme} />
        </div>
      </div>
      <form action={signOut}>
        <SubmitButton size="big">
          <LogOut />
          {t("signOut")}
        </SubmitButton>
      </form>
    </>
  );
}
