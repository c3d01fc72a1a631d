import { Lock } from "lucide-react";
import { useTranslations } from "next-intl";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { SiteId } from "#lib/site.ts";
import { sitePath } from "./nav-items.ts";

/** A page of the owners', reached by an address: it says who can help instead of pretending not to exist. */
export function OwnersOnly({ siteId }: { siteId: SiteId }) {
  const t = useTranslations("ownersOnly");
  return (
    <Card className="mt-4">
      <EmptyState icon={Lock} heading="h1" title={t("title")} action={<ButtonLink href={sitePath(siteId)}>{t("action")}</ButtonLink>}>
        {t("body")}
      </EmptyState>
    </Card>
  );
}
