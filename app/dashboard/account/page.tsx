import { LogOut } from "lucide-react";
import type { Metadata } from "next";
import { cookies } from "next/headers";
import { getTranslations } from "next-intl/server";
import type { ReactNode } from "react";
import { LanguageChoice, ThemeChoice } from "#components/shell/preference-choice.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signOut } from "#lib/auth/actions.ts";
import { requireUser } from "#lib/auth/session.ts";
import { parseTheme, themeCookie } from "#lib/i18n/theme.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("account");
  return { title: t("title") };
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ListRow className="justify-between">
      <span className="text-support">{label}</span>
      {children}
    </ListRow>
  );
}

export default async function AccountPage() {
  const [t, preferences, user, jar] = await Promise.all([
    getTranslations("account"),
    getTranslations("preferences"),
    requireUser(),
    cookies(),
  ]);
  return (
    <>
      <PageHeader title={t("title")} />
      <Page narrow>
        <Card title={t("you")}>
          <Fact label={t("name")}>
            <span className="font-medium wrap-anywhere">{user.name}</span>
          </Fact>
          <Fact label={t("email")}>
            <span className="font-medium wrap-anywhere">{user.email}</span>
          </Fact>
          <Fact label={t("password")}>
            <ButtonLink href="/new-password?next=/dashboard/account" size="sm">
              {t("changePassword")}
            </ButtonLink>
          </Fact>
        </Card>
        <Card title={t("preferences")} note={t("preferencesNote")}>
          <Fact label={preferences("language")}>
            <LanguageChoice />
          </Fact>
          <Fact label={preferences("theme")}>
            <ThemeChoice theme={parseTheme(jar.get(themeCookie)?.value)} />
          </Fact>
        </Card>
        <form action={signOut}>
          <SubmitButton>
            <LogOut />
            {t("signOut")}
          </SubmitButton>
        </form>
      </Page>
    </>
  );
}
