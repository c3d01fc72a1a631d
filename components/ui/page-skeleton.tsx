import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { Card, CardHead } from "./card.tsx";
import { Page } from "./page.tsx";
import { PageBar } from "./page-header.tsx";
import { Skeleton, SkeletonRows } from "./skeleton.tsx";

/** A page that is on its way: its title bar and cards in their final size. */
export function PageSkeleton({ children }: { children: ReactNode }) {
  const t = useTranslations("ui");
  return (
    <div role="status">
      <span className="sr-only">{t("loading")}</span>
      <PageBar aria-hidden="true">
        <Skeleton width={148} height={24} />
      </PageBar>
      <Page aria-hidden="true">{children}</Page>
    </div>
  );
}

/** A card with a title whose content follows. */
export function CardSkeleton({ children }: { children: ReactNode }) {
  return (
    <Card>
      <CardHead>
        <Skeleton width={120} height={14} />
      </CardHead>
      {children}
    </Card>
  );
}

/** A page with a row of filters and a list below it. */
export function ListSkeleton() {
  return (
    <PageSkeleton>
      <div className="flex flex-wrap gap-2">
        {[132, 96, 112].map((width) => (
          <Skeleton key={width} width={width} height={28} radius={6} />
        ))}
      </div>
      <Card>
        <SkeletonRows count={9} height={54} />
      </Card>
    </PageSkeleton>
  );
}
