"use client";

import { Popover } from "@base-ui/react/popover";
import { ListFilter, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useState } from "react";
import { ChipSelect } from "#components/dashboard/oci-control/filters/chip-select.tsx";
import { FilterFields } from "#components/dashboard/oci-control/filters/filter-fields.tsx";
import { SearchBox } from "#components/dashboard/oci-control/filters/search-box.tsx";
import { type FilterOptions, useFilterOptions } from "#components/dashboard/oci-control/filters/use-filter-options.ts";
import { TableLookMenu } from "#components/dashboard/oci-control/table/table-look-menu.tsx";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Sheet } from "#components/ui/sheet.tsx";
import { filterCount, type ViewFilter } from "#lib/oci/queue/view.ts";

interface FiltersProps {
  filter: ViewFilter;
  codes: FilterOptions["codes"];
  sort: "created" | "updated";
  search: RefObject<HTMLInputElement | null>;
  onFilter: (filter: ViewFilter) => void;
  onSearch: (text: string) => void;
  onSort: (sort: "created" | "updated") => void;
}

/** Narrows the list. On a desk the usual three are chips and the rest waits behind one; on a phone all are in a sheet. */
export function OciControlFilters({ filter, codes, sort, search, onFilter, onSearch, onSort }: FiltersProps) {
  const t = useTranslations("oci.filters");
  const options = useFilterOptions(codes);
  const choose = (key: keyof ViewFilter) => (value: string | undefined) => {
    const { [key]: _, ...rest } = filter;
    onFilter(value ? { ...rest, [key]: value } : rest);
  };
  // A filter that came by a link stays in the list, even when nothing fails of that cause now.
  const causes =
    codes.some(({ code }) => code === filter.errorCode) || !filter.errorCode
      ? options.codes
      : [...options.codes, { value: filter.errorCode, label: filter.errorCode }];
  const { status: _, errorCode: __, days: ___, q, ...hidden } = filter;
  return (
    <div className="filters">
      <SearchBox value={q ?? ""} onSearch={onSearch} box={search} />
      <span className="desk-only contents">
        <ChipSelect label={t("state")} icon={ListFilter} value={filter.status} options={options.statuses} onChoose={choose("status")} />
        <ChipSelect label={t("cause")} value={filter.errorCode} options={causes} onChoose={choose("errorCode")} />
        <ChipSelect label={t("period")} value={filter.days} options={options.periods} onChoose={choose("days")} />
        <MoreFilters count={filterCount(hidden)} filter={filter} codes={codes} onFilter={onFilter} />
        <span className="grow" />
        <TableLookMenu sort={sort} onSort={onSort} />
      </span>
      <PhoneFilters filter={filter} codes={codes} onFilter={onFilter} />
    </div>
  );
}

type PanelProps = Pick<FiltersProps, "filter" | "codes" | "onFilter">;

function MoreFilters({ count, filter, codes, onFilter }: PanelProps & { count: number }) {
  const t = useTranslations("oci.filters");
  const [open, setOpen] = useState(false);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className={count > 0 ? "chip on" : "chip"}>
        <Plus className="i" />
        {t("more")}
        {count > 0 && <span className="count act">{count}</span>}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="menu-area" align="start" sideOffset={6}>
          <Popover.Popup className="pop" aria-label={t("more")}>
            <FilterFields
              filter={filter}
              codes={codes}
              all={false}
              onApply={(next) => {
                setOpen(false);
                onFilter(next);
              }}
            />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function PhoneFilters({ filter, codes, onFilter }: PanelProps) {
  const t = useTranslations("oci.filters");
  const [open, setOpen] = useState(false);
  useBackCloses(open, () => setOpen(false));
  const count = filterCount(filter);
  const trigger = (
    <button type="button" className={count > 0 ? "chip on phone-only" : "chip phone-only"}>
      <ListFilter className="i" />
      {t("filter")}
      {count > 0 && <span className="count act">{count}</span>}
    </button>
  );
  return (
    <Sheet open={open} onOpenChange={setOpen} title={t("filter")} trigger={trigger}>
      <FilterFields
        filter={filter}
        codes={codes}
        all
        onApply={(next) => {
          setOpen(false);
          onFilter(next);
        }}
      />
    </Sheet>
  );
}
