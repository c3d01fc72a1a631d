"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { type Filter, type FilterField, withValue } from "./filter-field.ts";

interface FormProps<Key extends string> {
  fields: readonly FilterField<Key>[];
  filter: Filter<Key>;
  onApply: (filter: Filter<Key>) => void;
}

const inCents = (text: string) => (/^\d{1,9}$/.test(text) ? String(Number(text) * 100) : undefined);
const inUnits = (cents: string | undefined) => (cents ? String(Math.round(Number(cents) / 100)) : "");

/** The fields as a form: nothing moves behind it until it is applied. */
export function FilterForm<Key extends string>({ fields, filter, onApply }: FormProps<Key>) {
  const t = useTranslations("filters");
  const [draft, setDraft] = useState(filter);
  return (
    <form
      className="grid grid-cols-2 gap-4 max-desk:grid-cols-1"
      onSubmit={(event) => {
        event.preventDefault();
        onApply(draft);
      }}
    >
      {fields.map((field) => (
        <div key={field.key} className={field.isHalf ? undefined : "col-span-full"}>
          <FormField field={field} value={draft[field.key]} onChange={(value) => setDraft((now) => withValue(now, field.key, value))} />
        </div>
      ))}
      <DialogFoot className="col-span-full">
        <Button onClick={() => onApply({})}>{t("clearAll")}</Button>
        <Button type="submit" tone="primary">
          {t("apply")}
        </Button>
      </DialogFoot>
    </form>
  );
}

interface FieldProps {
  field: FilterField;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

function FormField({ field: { kind, label, options = [], max }, value = "", onChange }: FieldProps) {
  const t = useTranslations("filters");
  if (kind === "flag")
    return (
      <Checkbox checked={value === "true"} onChange={(event) => onChange(event.target.checked ? "true" : undefined)}>
        {label}
      </Checkbox>
    );
  return (
    <Field label={label}>
      {(control) =>
        kind === "choice" ? (
          <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
            <option value="">{t("any")}</option>
            <Options options={options} />
          </Select>
        ) : kind === "day" ? (
          <Input {...control} type="date" max={max} value={value} onChange={(event) => onChange(event.target.value)} />
        ) : (
          <Input
            {...control}
            inputMode="numeric"
            defaultValue={inUnits(value)}
            onChange={(event) => onChange(inCents(event.target.value))}
          />
        )
      }
    </Field>
  );
}

export const Options = ({ options = [] }: Pick<FilterField, "options">) =>
  options.map(({ value, label }) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));
