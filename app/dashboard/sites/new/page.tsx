import { Lock } from "lucide-react";
import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { NewSiteForm } from "#components/sites/new-site-form.tsx";
import { siteChoices } from "#components/sites/site-choices.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { listSites } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("newSite") };
}

async function NewSitePage() {
  const [t, nav, locale, { mayCreate }] = await Promise.all([getTranslations("newSite"), getTranslations("nav"), getLocale(), listSites()]);
  if (!mayCreate) {
    return (
      <>
        <PageHeader title={nav("newSite")} />
        <Card>
          <EmptyState icon={Lock} title={t("notAllowed")} action={<ButtonLink href="/dashboard">{t("back")}</ButtonLink>}>
            {t("notAllowedNext")}
          </EmptyState>
        </Card>
      </>
    );
  }
  return (
    <>
      <PageHeader title={nav("newSite")} note={t("lead")} back={{ href: "/dashboard", label: nav("sites") }} />
      <div className="max-w-160">
        <NewSiteForm choices={siteChoices(locale)} />
      </div>
    </>
  );
}

export default withMessages("dashboard/sites/new/page", NewSitePage);
