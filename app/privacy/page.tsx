import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { PublicPage } from "#components/shell/public-page.tsx";
import { Prose } from "#components/ui/prose.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("privacy");
  return { title: t("title") };
}

const sections = ["account", "cookies", "visitors", "rights"] as const;
const cookieNames = ["om_locale", "om_theme", "session", "link"] as const;

export default async function PrivacyPage() {
  const t = await getTranslations("privacy");
  return (
    <PublicPage>
      <Prose>
        <h1 className="text-content">{t("title")}</h1>
        <p>{t("lead")}</p>
        {sections.map((section) => (
          <section key={section} className="grid gap-3">
            <h2>{t(`${section}.title`)}</h2>
            <p>{t(`${section}.body`)}</p>
            {section === "cookies" && (
              <ul>
                {cookieNames.map((cookie) => (
                  <li key={cookie}>{t.rich(`cookieList.${cookie}`, { b: (chunks) => <b className="id">{chunks}</b> })}</li>
                ))}
              </ul>
            )}
          </section>
        ))}
      </Prose>
    </PublicPage>
  );
}
