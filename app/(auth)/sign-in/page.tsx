import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { getTranslations } from "next-intl/server";
import { AuthPage } from "#components/auth/auth-page.tsx";
import { SignInForm } from "#components/auth/sign-in-form.tsx";
import { returnPath } from "#lib/auth/return-path.ts";
import { currentUser } from "#lib/auth/session.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("auth");
  return { title: t("signIn") };
}

async function SignInPage({ searchParams }: { searchParams: Promise<{ next?: string | string[] }> }) {
  const t = await getTranslations("auth");
  const next = returnPath((await searchParams).next);
  if (await currentUser()) redirect(next);
  return (
    <AuthPage title={t("signIn")} lead={t("signInLead")}>
      <SignInForm next={next} />
    </AuthPage>
  );
}

export default withMessages("(auth)/sign-in/page", SignInPage);
