"use client";

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useTranslations } from "next-intl";
import { useEffect, useId, useRef, useTransition } from "react";
import { cn } from "#components/ui/cn.ts";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import type { FilterField } from "./filter-field.ts";
import { Options } from "./filter-form.tsx";

interface FilterRowProps {
  fields: readonly FilterField[];
  /** What a link narrowed the list to without a field of its own, such as one sale: choosing a filter ends it. */
  narrowedTo?: readonly string[];
}

/** A few fields above a list. Each lives in the address, so a list can be sent to a colleague; choosing starts at the first page. */
export function FilterRow({ fields, narrowedTo = [] }: FilterRowProps) {
  const router = useRouter();
  const pathname = usePathname();
  const params = useSearchParams();
  const [isTurning, startTurn] = useTransition();
  const choose = (key: string) => (value: string) => {
    const next = new URLSearchParams(params);
    next.delete("cursor");
    for (const key of narrowedTo) next.delete(key);
    if (value) next.set(key, value);
    else next.delete(key);
    startTurn(() => router.replace(next.size > 0 ? `${pathname}?${next}` : pathname, { scroll: false }));
  };
  return (
    <div className={cn("flex min-w-0 flex-wrap items-center gap-2", fields.length > 1 && "max-desk:grid max-desk:grid-cols-2")}>
      {fields.map((field) => (
        <RowField
          key={field.key}
          field={field}
          value={params.get(field.key) ?? field.shown ?? ""}
          isBusy={isTurning}
          onChoose={choose(field.key)}
        />
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

function RowField({ field: { kind, label, any, options, max }, value, isBusy, onChoose }: RowFieldProps) {
  const t = useTranslations();
  const id = useId();
  return (
    <div
      className={cn(
        "flex min-w-0 items-center gap-2 text-sm max-desk:flex-col max-desk:items-stretch max-desk:gap-1",
        kind === "text" && "max-desk:col-span-full",
      )}
    >
      <label htmlFor={id} className="whitespace-nowrap text-meta">
        {label}
      </label>
      {kind === "text" ? (
        <SearchInput id={id} value={value} isBusy={isBusy} onChoose={onChoose} />
      ) : kind === "day" ? (
        <Input
          id={id}
          className="w-auto text-sm max-desk:w-full"
          type="date"
          max={max}
          value={value}
          onChange={(event) => onChoose(event.target.value)}
          aria-busy={isBusy}
        />
      ) : (
        <Select small id={id} value={value} onChange={(event) => onChoose(event.target.value)} aria-busy={isBusy}>
          <option value="">{any ?? t("labels.all")}</option>
          <Options options={options} />
        </Select>
      )}
    </div>
  );
}

/** Searches on Enter, and when the cursor leaves. */
function SearchInput({ id, value, isBusy, onChoose }: { id: string; value: string; isBusy: boolean; onChoose: (value: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const asked = useRef(value);
  const search = (text: string) => {
    if (text.trim() === asked.current) return;
    asked.current = text.trim();
    onChoose(asked.current);
  };
  // Back, or a link that lets the filter go. The field stays the same one: it may have the focus.
  useEffect(() => {
    if (field.current && value !== asked.current) field.current.value = value;
    asked.current = value;
  }, [value]);
  return (
    <Input
      ref={field}
      id={id}
      className="w-44 text-sm max-desk:w-full"
      type="search"
      maxLength={80}
      defaultValue={value}
      aria-busy={isBusy}
      onBlur={(event) => search(event.target.value)}
      onKeyDown={(event) => event.key === "Enter" && search(event.currentTarget.value)}
    />
  );
}
