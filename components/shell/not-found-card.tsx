import { SearchX } from "lucide-react";
import { useTranslations } from "next-intl";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";

/** Missing and not yours look the same. */
export function NotFoundCard() {
  const t = useTranslations("notFound");
  return (
    <Card>
      <EmptyState
        icon={SearchX}
        heading="h1"
        title={t("title")}
        action={
          <ButtonLink href="/dashboard" tone="primary">
            {t("action")}
          </ButtonLink>
        }
      >
        {t("body")}
      </EmptyState>
    </Card>
  );
}
