"use client";

import { ListFilter } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { conditionCount, type DeskFilter, filterQuery } from "#lib/leads/desk-filter.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { FilterDialog } from "./filter-dialog.tsx";

const segments = ["open", "sealed", "junk", "all"] as const;

interface ListHeadProps {
  filter: DeskFilter;
  base: string;
  open: number;
  figures: DeskFigures;
  onFilter: (filter: DeskFilter) => void;
}

/** Which leads the list shows. The views are links: an address that can be shared, and that works before any script. */
export function ListHead({ filter, base, open, figures, onFilter }: ListHeadProps) {
  const t = useTranslations("desk.list");
  const { format } = useDesk();
  const [isOpen, setOpen] = useState(false);
  const { sealed = 0, junk = 0, cancelled = 0 } = figures.todayByStatus;
  const all = Object.values(figures.todayByStatus).reduce((sum, count) => sum + count, 0);
  const counts = { open, sealed, junk: junk + cancelled, all };
  const active = conditionCount(filter);
  const current = filter.view === "needs_you" ? "open" : (filter.view ?? "all");
  return (
    <div className="card-h list-h">
      <h2 className="sr">{t("label")}</h2>
      <nav className="seg grow" aria-label={t("view")}>
        {segments.map((view) => (
          <Link
            key={view}
            className="grow"
            scroll={false}
            href={base + filterQuery({ ...filter, view })}
            aria-current={view === current ? "true" : undefined}
          >
            {t(view)} <span className="n">{format.number(counts[view])}</span>
          </Link>
        ))}
      </nav>
      <Button
        tone={active > 0 ? "plain" : "ghost"}
        size="sm"
        icon
        aria-label={active > 0 ? t("filters", { count: active }) : t("filter")}
        onClick={() => setOpen(true)}
      >
        <ListFilter className="i" />
        {active > 0 && <span className="dot-mark" />}
      </Button>
      <FilterDialog
        open={isOpen}
        onOpenChange={setOpen}
        filter={filter}
        campaigns={figures.campaigns}
        onFilter={(chosen) => {
          setOpen(false);
          onFilter(chosen);
        }}
      />
    </div>
  );
}
