"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { leadChannels as channels } from "#lib/channels.ts";
import type { ViewFilter } from "#lib/oci/queue/view.ts";
import { queueKinds as kinds } from "#lib/oci/queue-types.ts";
import { type FilterOptions, useFilterOptions } from "./use-filter-options.ts";

interface FilterFieldsProps {
  filter: ViewFilter;
  codes: FilterOptions["codes"];
  /** The phone's sheet has the filters that a desk shows as chips, too. */
  all: boolean;
  onApply: (filter: ViewFilter) => void;
}

const inCents = (text: string) => (/^\d{1,9}$/.test(text) ? String(Number(text) * 100) : undefined);
const inUnits = (cents: string | undefined) => (cents ? String(Math.round(Number(cents) / 100)) : "");

/** The filters as a form: nothing moves behind it until it is applied. */
export function FilterFields({ filter, codes, all, onApply }: FilterFieldsProps) {
  const t = useTranslations("oci.filters");
  const { site } = useControl();
  const [draft, setDraft] = useState(filter);
  const options = useFilterOptions(codes);
  const set = (key: keyof ViewFilter) => (value: string | undefined) =>
    setDraft(({ [key]: _, ...rest }) => (value ? { ...rest, [key]: value } : rest));
  const choice = (key: keyof ViewFilter, label: string, list: { value: string; label: string }[]) => (
    <Field label={label}>
      {(control) => (
        <Select {...control} value={draft[key] ?? ""} onChange={(event) => set(key)(event.target.value)}>
          <option value="">{t("any")}</option>
          {list.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
  return (
    <form
      className="stack stack-4"
      onSubmit={(event) => {
        event.preventDefault();
        onApply(draft);
      }}
    >
      {all && choice("status", t("state"), options.statuses)}
      {all && choice("errorCode", t("cause"), options.codes)}
      {all && choice("days", t("created"), options.periods)}
      <div className="field-pair">
        {choice(
          "channel",
          t("channel"),
          channels.map((value) => ({ value, label: options.channel(value) })),
        )}
        {choice(
          "kind",
          t("kind"),
          kinds.map((value) => ({ value, label: options.kind(value) })),
        )}
      </div>
      <div className="field-pair">
        {(["minValue", "maxValue"] as const).map((key) => (
          <Field key={key} label={t(key, { currency: site.currency })}>
            {(control) => (
              <Input
                {...control}
                inputMode="numeric"
                defaultValue={inUnits(draft[key])}
                onChange={(event) => set(key)(inCents(event.target.value))}
              />
            )}
          </Field>
        ))}
      </div>
      <div className="field-pair">
        {choice("verdict", t("verdict"), options.verdicts)}
        {choice("minAttempts", t("attempts"), options.attempts)}
      </div>
      <div className="field-pair">
        {(["sentFrom", "sentTo"] as const).map((key) => (
          <Field key={key} label={t(key)}>
            {(control) => <Input {...control} type="date" value={draft[key] ?? ""} onChange={(event) => set(key)(event.target.value)} />}
          </Field>
        ))}
      </div>
      <Checkbox checked={draft.stuck === "true"} onChange={(event) => set("stuck")(event.target.checked ? "true" : undefined)}>
        {t("stuck")}
      </Checkbox>
      <Checkbox
        checked={draft.waitingForDelay === "true"}
        onChange={(event) => set("waitingForDelay")(event.target.checked ? "true" : undefined)}
      >
        {t("waiting")}
      </Checkbox>
      <div className="dialog-f">
        <Button onClick={() => onApply({})}>{t("clear")}</Button>
        <Button type="submit" tone="primary">
          {t("apply")}
        </Button>
      </div>
    </form>
  );
}
