"use client";

import { ListFilter } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { CardHead } from "#components/ui/card.tsx";
import { Dialog } from "#components/ui/dialog.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import { Segments } from "#components/ui/segmented.tsx";
import type { Filter } from "#components/workbench/filter/filter-field.ts";
import type { DeskFilter } from "#lib/leads/desk-filter.ts";
import { conditionCount, type FilterText, filterQuery } from "#lib/leads/desk-query.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

const segments = [
  ["open", "states.intent"],
  ["sealed", "states.sealed"],
  ["junk", "labels.noSale"],
  ["all", "labels.all"],
] as const;

const Form = latePart(() => import("./lead-filter-form.tsx").then(({ LeadFilterForm }) => LeadFilterForm));

interface ListHeadProps {
  filter: DeskFilter;
  base: string;
  open: number;
  figures: DeskFigures;
  onFilter: (filter: FilterText) => void;
}

/** Which leads the list shows. The views are links: an address that can be shared, and that works before any script. */
export function ListHead({ filter, base, open, figures, onFilter }: ListHeadProps) {
  const t = useTranslations();
  const { format } = useDesk();
  const [isOpen, setOpen] = useState(false);
  useBackCloses(isOpen, () => setOpen(false));
  const { sealed = 0, junk = 0, cancelled = 0 } = figures.todayByStatus;
  const all = Object.values(figures.todayByStatus).reduce((sum, count) => sum + count, 0);
  const counts = { open, sealed, junk: junk + cancelled, all };
  const active = conditionCount(filter);
  const current = filter.view === "needs_you" ? "open" : (filter.view ?? "all");
  const apply = (chosen: Filter<keyof DeskFilter>) => {
    setOpen(false);
    onFilter({ view: filter.view, ...chosen });
  };
  return (
    <CardHead className="gap-1.5 pr-2.5 max-desk:flex-nowrap max-desk:px-3">
      <h2 className="sr-only">{t("desk.list.label")}</h2>
      <Segments as="nav" className="min-w-0 flex-1 *:min-w-0 *:flex-auto *:px-1.5 max-desk:*:px-1.5" aria-label={t("labels.view")}>
        {segments.map(([view, name]) => (
          <Link
            key={view}
            scroll={false}
            href={base + filterQuery({ ...filter, view })}
            aria-current={view === current ? "true" : undefined}
          >
            {t(name)} <span className="font-normal max-[430px]:sr-only">{format.number(counts[view])}</span>
          </Link>
        ))}
      </Segments>
      <Button
        tone={active > 0 ? "plain" : "ghost"}
        size="sm"
        icon
        className="relative"
        aria-label={active > 0 ? t("desk.list.filters", { count: active }) : t("actions.filter")}
        onPointerEnter={Form.load}
        onFocus={Form.load}
        onClick={() => setOpen(true)}
      >
        <ListFilter />
        {active > 0 && <span className="absolute top-0.75 right-0.75 size-1.75 rounded-full bg-accent-mark" />}
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t("desk.list.filterTitle")}>
        <Form.Part isWanted={isOpen} filter={filter} campaigns={figures.campaigns} onApply={apply} />
      </Dialog>
    </CardHead>
  );
}
