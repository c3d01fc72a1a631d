"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { Card } from "#components/ui/card.tsx";
import { filterQuery } from "#lib/leads/desk-query.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { figureGrid } from "../desk-look.ts";
import { FigureChart } from "./figure-chart.tsx";
import { type ChartFigure, type FigureKey, figureValue, periods } from "./figure-list.ts";
import { useFigureWords } from "./use-figure-words.ts";

const order: FigureKey[] = ["leads", "sealed", "value", "delivered", "waiting", "failed", "minutes"];
const figureLook =
  "group relative grid content-start gap-0.5 border-line-1 px-4 pt-3.25 pb-3 not-last:border-r first:rounded-tl-[9px] last:rounded-tr-[9px] hover:bg-surface-2 focus-visible:-outline-offset-2 max-desk:min-w-[28vw] max-desk:snap-start max-desk:px-3 max-desk:pt-2.5 max-desk:pb-2.25 desk:max-[1241px]:nth-4:border-r-0 desk:max-[1241px]:nth-[-n+4]:border-b desk:aria-[current]:after:absolute desk:aria-[current]:after:inset-x-4 desk:aria-[current]:after:-bottom-px desk:aria-[current]:after:h-0.5 desk:aria-[current]:after:bg-accent-mark";

interface FiguresCardProps {
  figures: DeskFigures;
  open: number;
  chosen: ChartFigure;
  /** The same screen with a chart of so many days. */
  linkTo: (days: string) => string;
}

/** Today in seven figures. Each is a link to the rows behind it; the chart shows the chosen one over some weeks. */
export function FiguresCard({ figures, open, chosen, linkTo }: FiguresCardProps) {
  const t = useTranslations("desk.figures");
  const { siteId, format } = useDesk();
  const words = useFigureWords(figures, format, open);
  const { current } = periods(figures.days);
  const base = sitePath(siteId);
  const control = sitePath(siteId, "/oci-control");
  const { today } = figures;
  const sealedToday = { view: "sealed", decided: today };
  const days = current.length === 30 ? undefined : String(current.length); // a figure keeps the chart's days
  const hrefs: Record<FigureKey, string> = {
    leads: base + filterQuery({ from: today, to: today }, { days }),
    sealed: base + filterQuery(sealedToday, { figure: "sealed", days }),
    value: base + filterQuery(sealedToday, { figure: "value", days }),
    minutes: base + filterQuery(sealedToday, { figure: "minutes", days }),
    delivered: `${control}?status=COMPLETED&sentFrom=${today}&sentTo=${today}`,
    waiting: `${control}?status=WAITING`,
    failed: `${control}?status=FAILED`,
  };
  return (
    <Card aria-label={t("label")}>
      <div className={figureGrid}>
        {order.map((key) => (
          <Link
            key={key}
            className={figureLook}
            href={hrefs[key]}
            scroll={false}
            prefetch={false}
            aria-current={key === chosen ? "true" : undefined}
          >
            <span className="text-xs font-medium text-meta desk:group-aria-[current]:text-accent-text">{t(key)}</span>
            <span className="text-xl font-semibold tracking-[-0.022em] whitespace-nowrap">{words[key].figure}</span>
            <span className="text-xs text-pretty text-meta max-desk:hidden">{words[key].sub}</span>
            <Spark values={current.map(figureValue[key])} />
          </Link>
        ))}
      </div>
      <FigureChart key={chosen} figures={figures} chosen={chosen} linkTo={linkTo} />
    </Card>
  );
}

/** A month in a line, for the phone, where the chart has no room. */
function Spark({ values }: { values: number[] }) {
  const top = Math.max(1, ...values);
  const points = values.map(
    (value, index) => `${((100 * index) / Math.max(1, values.length - 1)).toFixed(1)} ${(18 - (16 * value) / top).toFixed(1)}`,
  );
  return (
    <svg className="mt-0.75 h-5 w-full overflow-visible desk:hidden" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <path
        className="fill-none stroke-[1.5] stroke-accent-mark [stroke-linejoin:round] [vector-effect:non-scaling-stroke]"
        d={`M${points.join("L")}`}
      />
    </svg>
  );
}
