"use client";

import { useTranslations } from "next-intl";
import type { RefObject } from "react";
import { asLine } from "#components/delivery/use-cause.ts";
import { FilterBar } from "#components/workbench/filter/filter-bar.tsx";
import type { FilterField } from "#components/workbench/filter/filter-field.ts";
import { SearchBox } from "#components/workbench/filter/search-box.tsx";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import { type ControlView, type FieldKey, queueFields, type ViewFilter } from "#lib/oci/queue/view.ts";
import { useControl } from "./control-context.tsx";
import { TableLookMenu } from "./table/table-look.tsx";

interface FiltersProps extends Pick<ControlView, "filter" | "sort"> {
  codes: QueueCharts["failedNow"];
  search: RefObject<HTMLInputElement | null>;
  onSearch: (text: string) => void;
  onSort: (sort: ControlView["sort"]) => void;
}

/** Narrows the list. The fields are in `queueFields` (lib/oci/queue/view.ts). */
export function OciControlFilters({ filter, codes, sort, search, onSearch, onSort }: FiltersProps) {
  const t = useTranslations("oci.filters");
  const { filterBy } = useControl();
  const fields = useFields(codes, filter.errorCode);
  return (
    <FilterBar<keyof ViewFilter>
      fields={fields}
      filter={filter}
      onFilter={filterBy}
      search={<SearchBox value={filter.q ?? ""} label={t("search")} placeholder={t("placeholder")} box={search} onSearch={onSearch} />}
      end={<TableLookMenu sort={sort} onSort={onSort} />}
    />
  );
}

/** Fields that are named as elsewhere. */
const shared = { status: "labels.state", channel: "labels.channel", minAttempts: "labels.tries", verdict: "why.steps.verdict" } as const;
const isShared = (key: FieldKey): key is keyof typeof shared => key in shared;

/** The table of fields in the reader's language. Causes are those of failed rows, and one that came by a link. */
function useFields(codes: QueueCharts["failedNow"], chosenCode: string | undefined): FilterField<FieldKey>[] {
  const t = useTranslations("oci.filters");
  const messages = useTranslations();
  const { site, causeOf } = useControl();
  const causes = codes.map(({ code }) => ({ value: code, label: asLine(causeOf(code).what) }));
  const isKnown = !chosenCode || codes.some(({ code }) => code === chosenCode);
  const optionLabel = (words: string, value: string) => {
    const key = `${words}.${value}` as Parameters<typeof messages>[0]; // has() checks it before it is used
    return messages.has(key) ? messages(key) : messages(words as typeof key, { count: Number(value) });
  };
  return queueFields.map((field) => {
    const { key, kind } = field;
    const label = isShared(key) ? messages(shared[key]) : t(key, { currency: site.currency });
    if (key === "errorCode")
      return {
        key,
        kind,
        label,
        isChip: true,
        options: isKnown ? causes : [...causes, { value: chosenCode, label: asLine(causeOf(chosenCode).what) }],
      };
    if (!("options" in field)) return { ...field, label };
    const options = field.options.map((value) => ({ value, label: optionLabel(field.words, value) }));
    return { ...field, label, options, ...(key === "days" && { any: t("anyTime") }) };
  });
}
