"use client";

import { useTranslations } from "next-intl";
import type { Filter, FilterField } from "#components/workbench/filter/filter-field.ts";
import { FilterForm } from "#components/workbench/filter/filter-form.tsx";
import { leadChannels } from "#lib/channels.ts";
import type { DeskFilter } from "#lib/leads/desk-filter.ts";

const scores = ["25", "50", "75", "90"];

/** The fields of the filter; the address and the query use the same names. */
function useFilterFields(filter: DeskFilter, campaigns: string[]): FilterField<keyof DeskFilter>[] {
  const t = useTranslations("desk.filter");
  const word = useTranslations();
  const channelWords = useTranslations("channels");
  const known = filter.campaign && !campaigns.includes(filter.campaign) ? [filter.campaign, ...campaigns] : campaigns;
  const plain = (values: readonly string[]) => values.map((value) => ({ value, label: value }));
  const click = [
    { value: "yes", label: t("clickYes") },
    { value: "no", label: t("clickNo") },
  ];
  return [
    {
      key: "channel",
      kind: "choice",
      label: word("labels.channel"),
      options: leadChannels.map((value) => ({ value, label: channelWords(value) })),
      isHalf: true,
    },
    { key: "score", kind: "choice", label: t("score"), options: plain(scores), isHalf: true },
    { key: "click", kind: "choice", label: word("labels.adClick"), options: click },
    { key: "from", kind: "day", label: t("from"), isHalf: true },
    { key: "to", kind: "day", label: t("to"), isHalf: true },
    ...(known.length > 0 ? [{ key: "campaign", kind: "choice", label: t("campaign"), options: plain(known) } as const] : []),
  ];
}

interface LeadFilterFormProps {
  filter: DeskFilter;
  campaigns: string[];
  onApply: (chosen: Filter<keyof DeskFilter>) => void;
}

/** Which leads the list shows, beyond the views above it. */
export function LeadFilterForm({ filter, campaigns, onApply }: LeadFilterFormProps) {
  return <FilterForm fields={useFilterFields(filter, campaigns)} filter={textOf(filter)} onApply={onApply} />;
}

const textOf = (filter: DeskFilter): Filter<keyof DeskFilter> =>
  Object.fromEntries(Object.entries(filter).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])));
