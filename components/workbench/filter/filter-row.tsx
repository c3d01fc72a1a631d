"use client";

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useTranslations } from "next-intl";
import { useId, useTransition } from "react";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import type { FilterField } from "./filter-field.ts";
import { Options } from "./filter-form.tsx";

/** A few fields above a list. Each lives in the address, so a list can be sent to a colleague; choosing starts at the first page. */
export function FilterRow({ fields }: { fields: readonly FilterField[] }) {
  const router = useRouter();
  const pathname = usePathname();
  const params = useSearchParams();
  const [isTurning, startTurn] = useTransition();
  const choose = (key: string) => (value: string) => {
    const next = new URLSearchParams(params);
    next.delete("cursor");
    if (value) next.set(key, value);
    else next.delete(key);
    startTurn(() => router.replace(next.size > 0 ? `${pathname}?${next}` : pathname, { scroll: false }));
  };
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      {fields.map((field) => (
        <RowField key={field.key} field={field} value={params.get(field.key) ?? ""} isBusy={isTurning} onChoose={choose(field.key)} />
      ))}
    </div>
  );
}

interface RowFieldProps {
  field: FilterField;
  value: string;
  isBusy: boolean;
  onChoose: (value: string) => void;
}

function RowField({ field: { kind, label, options, max }, value, isBusy, onChoose }: RowFieldProps) {
  const t = useTranslations();
  const id = useId();
  return (
    <div className="flex min-w-0 items-center gap-2 text-sm">
      <label htmlFor={id} className="text-meta">
        {label}
      </label>
      {kind === "day" ? (
        <Input
          id={id}
          className="text-sm"
          type="date"
          max={max}
          value={value}
          onChange={(event) => onChoose(event.target.value)}
          aria-busy={isBusy}
        />
      ) : (
        <Select small id={id} value={value} onChange={(event) => onChoose(event.target.value)} aria-busy={isBusy}>
          <option value="">{t("labels.all")}</option>
          <Options options={options} />
        </Select>
      )}
    </div>
  );
}
