"use client";

import { type LucideIcon, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { cn } from "#components/ui/cn.ts";

interface ChipSelectProps {
  label: string;
  icon?: LucideIcon;
  value: string | undefined;
  options: { value: string; label: string }[];
  onChoose: (value: string | undefined) => void;
}

/** One filter as a chip: unset it says its name, set it says its value and can be let go. */
export function ChipSelect({ label, icon: Icon, value, options, onChoose }: ChipSelectProps) {
  const t = useTranslations("oci.filters");
  return (
    <span className={cn("chip", value && "on")}>
      {Icon && !value && <Icon className="i" />}
      <select aria-label={label} value={value ?? ""} onChange={(event) => onChoose(event.target.value || undefined)}>
        <option value="">{label}</option>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {value && (
        <button type="button" className="off" aria-label={t("letGo", { filter: label })} onClick={() => onChoose(undefined)}>
          <X className="i" />
        </button>
      )}
    </span>
  );
}
