import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { AuthPage } from "#components/auth/auth-page.tsx";
import { ForgotPasswordForm } from "#components/auth/forgot-password-form.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("auth");
  return { title: t("forgotTitle") };
}

export default async function ForgotPasswordPage() {
  const t = await getTranslations("auth");
  return (
    <AuthPage title={t("forgotTitle")} lead={t("forgotLead")}>
      <ForgotPasswordForm />
    </AuthPage>
  );
}
