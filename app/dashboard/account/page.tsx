import { LogOut } from "lucide-react";
import type { Metadata } from "next";
import { cookies } from "next/headers";
import { getTranslations } from "next-intl/server";
import type { ReactNode } from "react";
import { DeleteAccount } from "#components/account/delete-account.tsx";
import { MyName } from "#components/account/my-name.tsx";
import { MySites } from "#components/account/my-sites.tsx";
import { SessionList } from "#components/account/session-list.tsx";
import { LanguageChoice, ThemeChoice } from "#components/shell/preference-choice.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { signOut } from "#lib/auth/actions.ts";
import { readPage, requireUser } from "#lib/auth/session.ts";
import { parseTheme, themeCookie } from "#lib/i18n/theme.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readMyAccount } from "#lib/tenancy/my-account.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("account") };
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <ListRow className="justify-between">
      <span className="text-support">{label}</span>
      {children}
    </ListRow>
  );
}

async function AccountPage() {
  const [t, word, user, jar, { sessions, sites }] = await Promise.all([
    getTranslations("account"),
    getTranslations(),
    requireUser(),
    cookies(),
    readPage(readMyAccount),
  ]);
  return (
    <>
      <PageHeader title={word("nav.account")} />
      <Page narrow>
        <Card title={word("who.operator")}>
          <MyName name={user.name} />
          <Fact label={word("labels.email")}>
            <span className="font-medium wrap-anywhere">{user.email}</span>
          </Fact>
          <Fact label={word("labels.password")}>
            <ButtonLink href="/new-password?next=/dashboard/account" size="sm">
              {t("changePassword")}
            </ButtonLink>
          </Fact>
        </Card>
        <Card title={t("preferences")} note={t("preferencesNote")}>
          <Fact label={word("preferences.language")}>
            <LanguageChoice />
          </Fact>
          <Fact label={word("preferences.theme")}>
            <ThemeChoice theme={parseTheme(jar.get(themeCookie)?.value)} />
          </Fact>
        </Card>
        <SessionList sessions={sessions} />
        <MySites sites={sites} user={user} />
        <DeleteAccount email={user.email} inTheWay={sites.filter(({ onlyOwner }) => onlyOwner).map(({ name }) => name)} />
        <form action={signOut}>
          <SubmitButton>
            <LogOut />
            {word("nav.signOut")}
          </SubmitButton>
        </form>
      </Page>
    </>
  );
}

export default withMessages("dashboard/account/page", AccountPage);
