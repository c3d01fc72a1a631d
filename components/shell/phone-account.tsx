import { CircleUserRound, LogOut } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { Avatar } from "#components/ui/avatar.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signOut } from "#lib/auth/actions.ts";
import type { Theme } from "#lib/i18n/theme.ts";
import { LanguageChoice, ThemeChoice } from "./preference-choice.tsx";

/** The lower half of More: the reader, their preferences, the way out. */
export function PhoneAccount({ name, email, theme }: { name: string; email: string; theme: Theme }) {
  const t = useTranslations("nav");
  const preferences = useTranslations("preferences");
  return (
    <>
      <div className="row row-3">
        <Avatar name={name} round />
        <span className="grow">
          <span className="med clip block">{name}</span>
          <span className="sm t3 clip block">{email}</span>
        </span>
      </div>
      <div className="nav-list sheet-list">
        <Link href="/dashboard/account">
          <CircleUserRound className="i i-18" />
          <span className="clip">{t("account")}</span>
        </Link>
      </div>
      <div className="stack">
        <div className="row flex-wrap justify-between">
          <span className="sm t2">{preferences("language")}</span>
          <LanguageChoice />
        </div>
        <div className="row flex-wrap justify-between">
          <span className="sm t2">{preferences("theme")}</span>
          <ThemeChoice theme={theme} />
        </div>
      </div>
      <form action={signOut}>
        <SubmitButton size="big">
          <LogOut className="i" />
          {t("signOut")}
        </SubmitButton>
      </form>
    </>
  );
}
