"use client";

import { cva } from "class-variance-authority";
import { ListFilter, Plus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useRef, useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Count } from "#components/ui/count.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import { Sheet } from "#components/ui/sheet.tsx";
import { countSet, type Filter, type FilterField, withValue } from "./filter-field.ts";
import { FilterForm, Options } from "./filter-form.tsx";

const chip = cva(
  "inline-flex min-h-7 max-w-full items-center gap-1.5 whitespace-nowrap rounded-[6px] px-[9px] py-0.5 text-sm inset-ring inset-ring-line-2 hover:bg-surface-2 has-focus-visible:outline-2 has-focus-visible:outline-focus has-focus-visible:outline-offset-2 max-desk:min-h-11",
  { variants: { isOn: { true: "bg-accent-soft font-medium text-accent-text inset-ring-accent-line", false: "text-support" } } },
);

interface BarProps<Key extends string> {
  fields: readonly FilterField<Key>[];
  filter: Filter<Key>;
  onFilter: (filter: Filter<Key>) => void;
  search?: ReactNode;
  /** Stands at the right end on a desk. */
  end?: ReactNode;
}

/** Narrows a list. On a desk the usual fields are chips and the rest waits behind one; on a phone all are in a sheet. */
export function FilterBar<Key extends string>({ fields, filter, onFilter, search, end }: BarProps<Key>) {
  const hidden = fields.filter(({ isChip }) => !isChip);
  return (
    <div className="flex flex-wrap items-center gap-2 border-line-1 border-b px-3 py-[9px] max-desk:flex-nowrap max-desk:py-2.5">
      {search}
      <span className="contents max-desk:hidden">
        {fields.map(
          (field, place) =>
            field.isChip && (
              <ChipSelect
                key={field.key}
                field={field}
                isFirst={place === 0}
                value={filter[field.key]}
                onChoose={(value) => onFilter(withValue(filter, field.key, value))}
              />
            ),
        )}
        {hidden.length > 0 && <MoreFilters fields={hidden} filter={filter} onFilter={onFilter} />}
        <span className="flex-1" />
        {end}
      </span>
      <PhoneFilters fields={fields} filter={filter} onFilter={onFilter} />
    </div>
  );
}

interface ChipProps {
  field: FilterField;
  isFirst: boolean;
  value: string | undefined;
  onChoose: (value: string | undefined) => void;
}

/** One filter as a chip: unset it says its name, set it says its value and can be let go. */
function ChipSelect({ field: { label, any = label, options }, isFirst, value, onChoose }: ChipProps) {
  const t = useTranslations("filters");
  return (
    <span className={chip({ isOn: Boolean(value) })}>
      {isFirst && !value && <ListFilter className="size-3.5 shrink-0" />}
      <select
        className="field-sizing-content max-w-[190px] cursor-pointer appearance-none text-ellipsis bg-transparent outline-none"
        aria-label={any}
        value={value ?? ""}
        onChange={(event) => onChoose(event.target.value || undefined)}
      >
        <option value="">{any}</option>
        <Options options={options} />
      </select>
      {value && (
        <button
          type="button"
          className="-my-0.5 -mr-[7px] -ml-1 grid min-h-6 min-w-6 place-items-center rounded-[4px]"
          aria-label={t("letGo", { filter: any })}
          onClick={() => onChoose(undefined)}
        >
          <X className="size-3.5" />
        </button>
      )}
    </span>
  );
}

type PanelProps<Key extends string> = Pick<BarProps<Key>, "fields" | "filter" | "onFilter">;

const More = latePart(() => import("./filter-popover.tsx").then(({ FilterPopover }) => FilterPopover));

function MoreFilters<Key extends string>({ fields, filter, onFilter }: PanelProps<Key>) {
  const t = useTranslations();
  const [isOpen, setOpen] = useState(false);
  const chipRef = useRef<HTMLButtonElement>(null);
  const count = countSet(fields, filter);
  const apply = (next: Filter<Key>) => {
    setOpen(false);
    onFilter(next);
  };
  return (
    <>
      <button
        ref={chipRef}
        type="button"
        className={chip({ isOn: count > 0 })}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onPointerEnter={More.load}
        onFocus={More.load}
        onClick={() => setOpen(!isOpen || !More.isHere())}
      >
        <Plus className="size-3.5 shrink-0" />
        {t("actions.more")}
        {count > 0 && <Count tone="act">{count}</Count>}
      </button>
      <More.Part isWanted={isOpen} open={isOpen} onOpenChange={setOpen} anchor={chipRef} label={t("actions.more")}>
        <FilterForm fields={fields} filter={filter} onApply={apply} />
      </More.Part>
    </>
  );
}

function PhoneFilters<Key extends string>({ fields, filter, onFilter }: PanelProps<Key>) {
  const t = useTranslations();
  const [isOpen, setOpen] = useState(false);
  useBackCloses(isOpen, () => setOpen(false));
  const count = countSet(fields, filter);
  const trigger = (
    <button type="button" className={`${chip({ isOn: count > 0 })} desk:hidden`}>
      <ListFilter className="size-3.5 shrink-0" />
      {t("actions.filter")}
      {count > 0 && <Count tone="act">{count}</Count>}
    </button>
  );
  const apply = (next: Filter<Key>) => {
    setOpen(false);
    onFilter(next);
  };
  return (
    <Sheet open={isOpen} onOpenChange={setOpen} title={t("actions.filter")} trigger={trigger}>
      <FilterForm fields={fields} filter={filter} onApply={apply} />
    </Sheet>
  );
}
