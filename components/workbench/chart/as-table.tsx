import { useTranslations } from "next-intl";
import type { ReactNode } from "react";

/** The chart's figures, for whoever reads numbers rather than bars. */
export function AsTable({ children }: { children: ReactNode }) {
  const t = useTranslations("workbench");
  return (
    <details className="group">
      <summary className="flex min-h-10 cursor-pointer list-inside items-center border-t border-line-1 px-4 text-sm font-medium text-accent-text focus-visible:-outline-offset-3 group-open:border-b max-desk:min-h-11">
        {t("asTable")}
      </summary>
      {children}
    </details>
  );
}
