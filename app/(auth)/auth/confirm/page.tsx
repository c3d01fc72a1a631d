import type { Metadata } from "next";
import Link from "next/link";
import { getTranslations } from "next-intl/server";
import { AuthPage } from "#components/auth/auth-page.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { confirmLink } from "#lib/auth/actions.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("auth");
  return { title: t("confirmTitle") };
}

interface Search {
  token_hash?: string | string[];
  type?: string | string[];
  spent?: string;
}

/** Where the links in our e-mails lead. Opening it spends nothing: mail scanners open links too. */
async function ConfirmPage({ searchParams }: { searchParams: Promise<Search> }) {
  const [t, word, { token_hash: tokenHash, type, spent }] = await Promise.all([getTranslations("auth"), getTranslations(), searchParams]);
  if (spent || typeof tokenHash !== "string") {
    return (
      <AuthPage title={t("newPasswordTitle")} lead={t("newPasswordNoLink")}>
        <Alert tone="failed">{word("errors.LINK_EXPIRED")}</Alert>
        <ButtonLink href="/forgot-password" tone="primary" size="tall">
          {t("askForLink")}
        </ButtonLink>
        <p className="text-sm text-support">{t("confirmInvite")}</p>
        <Link className="text-sm link tap justify-self-start" href="/sign-in">
          {t("backToSignIn")}
        </Link>
      </AuthPage>
    );
  }
  return (
    <AuthPage title={t("confirmTitle")} lead={t("confirmLead")}>
      <form action={confirmLink}>
        <input type="hidden" name="token_hash" value={tokenHash} />
        <input type="hidden" name="type" value={type} />
        <SubmitButton tone="primary" size="tall">
          {word("actions.continue")}
        </SubmitButton>
      </form>
    </AuthPage>
  );
}

export default withMessages("(auth)/auth/confirm/page", ConfirmPage);
