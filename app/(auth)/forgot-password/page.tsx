import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { AuthPage } from "#components/auth/auth-page.tsx";
import { ForgotPasswordForm } from "#components/auth/forgot-password-form.tsx";
import { withMessages } from "#lib/i18n/with-messages.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("auth");
  return { title: t("forgotTitle") };
}

async function ForgotPasswordPage() {
  const t = await getTranslations("auth");
  return (
    <AuthPage title={t("forgotTitle")} lead={t("forgotLead")}>
      <ForgotPasswordForm />
    </AuthPage>
  );
}

export default withMessages("(auth)/forgot-password/page", ForgotPasswordPage);
