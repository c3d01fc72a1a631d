import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { AuthPage } from "#components/auth/auth-page.tsx";
import { NewPasswordForm } from "#components/auth/new-password-form.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { cameByLink } from "#lib/auth/link-session.ts";
import { returnPath } from "#lib/auth/return-path.ts";
import { currentUser } from "#lib/auth/session.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("auth");
  return { title: t("newPasswordTitle") };
}

/** Reached by a link from an e-mail or from the account page; both have signed the person in. */
async function NewPasswordPage({ searchParams }: { searchParams: Promise<{ next?: string | string[]; first?: string }> }) {
  const [t, errors, user, { next, first }] = await Promise.all([
    getTranslations("auth"),
    getTranslations("errors"),
    currentUser(),
    searchParams,
  ]);
  const byLink = user !== null && (await cameByLink());
  // Nobody knows the password that a first link has set: without the link there is nothing to enter here.
  if (!user || (first !== undefined && !byLink)) {
    return (
      <AuthPage title={t("newPasswordTitle")} lead={t("newPasswordNoLink")}>
        <Alert tone="failed">{errors("LINK_EXPIRED")}</Alert>
        <ButtonLink href="/forgot-password" tone="primary" size="tall">
          {t("askForLink")}
        </ButtonLink>
      </AuthPage>
    );
  }
  return (
    <AuthPage title={t("newPasswordTitle")} lead={t("newPasswordLead", { email: user.email })}>
      <NewPasswordForm email={user.email} next={returnPath(next)} first={first !== undefined} byLink={byLink} />
    </AuthPage>
  );
}

export default withMessages("(auth)/new-password/page", NewPasswordPage);
