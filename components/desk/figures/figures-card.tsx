"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { type DeskFilter, filterQuery } from "#lib/leads/desk-filter.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { FigureChart } from "./figure-chart.tsx";
import { type ChartFigure, type FigureKey, figureValue, periods } from "./figure-list.ts";
import { Spark } from "./spark.tsx";
import { useFigureWords } from "./use-figure-words.ts";

const order: FigureKey[] = ["leads", "sealed", "value", "delivered", "waiting", "failed", "minutes"];

interface FiguresCardProps {
  figures: DeskFigures;
  open: number;
  chosen: ChartFigure;
}

/** Today in seven figures. Each is a link to the rows behind it; the chart shows the chosen one over 30 days. */
export function FiguresCard({ figures, open, chosen }: FiguresCardProps) {
  const t = useTranslations("desk.figures");
  const { siteId, format } = useDesk();
  const words = useFigureWords(figures, format, open);
  const { current } = periods(figures.days);
  const base = sitePath(siteId);
  const control = sitePath(siteId, "/oci-control");
  const { today } = figures;
  const sealedToday: DeskFilter = { view: "sealed", decided: today };
  const hrefs: Record<FigureKey, string> = {
    leads: base + filterQuery({ from: today, to: today }),
    sealed: base + filterQuery(sealedToday, { figure: "sealed" }),
    value: base + filterQuery(sealedToday, { figure: "value" }),
    minutes: base + filterQuery(sealedToday, { figure: "minutes" }),
    delivered: `${control}?status=COMPLETED`,
    waiting: `${control}?status=QUEUED`,
    failed: `${control}?status=FAILED`,
  };
  return (
    <section className="card" aria-label={t("label")}>
      <div className="kpi">
        {order.map((key) => (
          <Link key={key} href={hrefs[key]} scroll={false} prefetch={false} aria-current={key === chosen ? "true" : undefined}>
            <span className="label">{t(key)}</span>
            <span className="fig">{words[key].figure}</span>
            <span className="sub">{words[key].sub}</span>
            <Spark values={current.map(figureValue[key])} />
          </Link>
        ))}
      </div>
      <FigureChart key={chosen} figures={figures} chosen={chosen} />
    </section>
  );
}
