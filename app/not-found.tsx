import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { NotFoundCard } from "#components/shell/not-found-card.tsx";
import { PublicPage } from "#components/shell/public-page.tsx";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("notFound");
  return { title: t("title") };
}

export default function NotFound() {
  return (
    <PublicPage>
      <NotFoundCard />
    </PublicPage>
  );
}
