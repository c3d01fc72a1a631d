"use client";

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useTranslations } from "next-intl";
import { useId, useTransition } from "react";
import { Input } from "./input.tsx";
import { Select } from "./select.tsx";

interface FilterSelectProps {
  /** The name in the address. */
  name: string;
  label: string;
  options: { value: string; label: string }[];
}

/** One choice that narrows a list. It lives in the address, so a list can be sent to a colleague; choosing starts at the first page. */
export function FilterSelect({ name, label, options }: FilterSelectProps) {
  const t = useTranslations("filters");
  const go = useFilter(name);
  const id = useId();
  return (
    <div className="flex min-w-0 items-center gap-2 text-sm">
      <label htmlFor={id} className="text-meta">
        {label}
      </label>
      <Select small id={id} value={go.value} onChange={(event) => go.to(event.target.value)} aria-busy={go.pending}>
        <option value="">{t("all")}</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </Select>
    </div>
  );
}

/** The same for a day. */
export function FilterDay({ name, label, max }: { name: string; label: string; max: string }) {
  const go = useFilter(name);
  const id = useId();
  return (
    <div className="flex min-w-0 items-center gap-2 text-sm">
      <label htmlFor={id} className="text-meta">
        {label}
      </label>
      <Input
        id={id}
        className="text-sm"
        type="date"
        value={go.value}
        max={max}
        onChange={(event) => go.to(event.target.value)}
        aria-busy={go.pending}
      />
    </div>
  );
}

function useFilter(name: string) {
  const router = useRouter();
  const pathname = usePathname();
  const params = useSearchParams();
  const [pending, start] = useTransition();
  const to = (value: string) => {
    const next = new URLSearchParams(params);
    next.delete("cursor");
    if (value) next.set(name, value);
    else next.delete(name);
    start(() => router.replace(`${pathname}?${next}`, { scroll: false }));
  };
  return { value: params.get(name) ?? "", to, pending };
}
