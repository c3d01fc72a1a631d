import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { Skeleton } from "./skeleton.tsx";

/** A page that is on its way: its title bar and cards in their final size. */
export function PageSkeleton({ children }: { children: ReactNode }) {
  const t = useTranslations("ui");
  return (
    <div role="status">
      <span className="sr">{t("loading")}</span>
      <div className="bar" aria-hidden="true">
        <Skeleton width={148} height={24} />
      </div>
      <div className="page" aria-hidden="true">
        {children}
      </div>
    </div>
  );
}

/** A card with a title whose content follows. */
export function CardSkeleton({ children }: { children: ReactNode }) {
  return (
    <div className="card">
      <div className="card-h">
        <Skeleton width={120} height={14} />
      </div>
      {children}
    </div>
  );
}
