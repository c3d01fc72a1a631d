"use client";

import { Columns3 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useSyncExternalStore } from "react";
import { Button } from "#components/ui/button.tsx";
import { Menu, MenuCheck, MenuSeparator } from "#components/ui/menu.tsx";
import type { QueueSort } from "#lib/oci/queue-types.ts";

/** How this reader likes the table: it stays with the browser, since it says nothing about the data. */
const optionalColumns = ["source", "conversionTime", "tries", "updated"] as const;
type OptionalColumn = (typeof optionalColumns)[number];
interface TableLook {
  density: "roomy" | "compact";
  hidden: OptionalColumn[];
}

const storageKey = "om.oci.table";
const usual: TableLook = { density: "roomy", hidden: ["conversionTime"] };
const listeners = new Set<() => void>();
let known: { text: string | null; look: TableLook } = { text: null, look: usual };

function current(): TableLook {
  try {
    const text = window.localStorage.getItem(storageKey);
    if (text !== known.text) known = { text, look: parse(text) };
  } catch {
    // storage is forbidden: the choice lasts as long as the page
  }
  return known.look;
}

function parse(text: string | null): TableLook {
  try {
    const { density, hidden }: Partial<TableLook> = JSON.parse(text ?? "");
    return {
      density: density === "compact" ? "compact" : "roomy",
      hidden: Array.isArray(hidden) ? optionalColumns.filter((column) => hidden.includes(column)) : usual.hidden,
    };
  } catch {
    return usual;
  }
}

function store(look: TableLook): void {
  const text = JSON.stringify(look);
  known = { text, look };
  try {
    window.localStorage.setItem(storageKey, text);
  } catch {
    // see above
  }
  for (const tell of listeners) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

export function useTableLook() {
  const look = useSyncExternalStore(subscribe, current, () => usual);
  return { ...look, shows: (column: OptionalColumn) => !look.hidden.includes(column) };
}

interface MenuProps {
  sort: QueueSort;
  onSort: (sort: QueueSort) => void;
}

/** Which columns, how high, in which order. */
export function TableLookMenu({ sort, onSort }: MenuProps) {
  const t = useTranslations("oci.table");
  const labels = useTranslations("labels");
  const word = useTranslations();
  const { density, hidden, shows } = useTableLook();
  const toggle = (column: OptionalColumn) =>
    store({ density, hidden: shows(column) ? [...hidden, column] : hidden.filter((each) => each !== column) });
  return (
    <Menu trigger={<Button tone="ghost" size="sm" icon aria-label={t("look")} />} triggerContent={<Columns3 />}>
      {optionalColumns.map((column) => (
        <MenuCheck key={column} checked={shows(column)} onChange={() => toggle(column)}>
          {labels(column)}
        </MenuCheck>
      ))}
      <MenuSeparator />
      <MenuCheck checked={density === "compact"} onChange={(checked) => store({ hidden, density: checked ? "compact" : "roomy" })}>
        {t("compact")}
      </MenuCheck>
      {/* A phone has no headings to press. */}
      <MenuCheck checked={sort === "updated"} onChange={(checked) => onSort(checked ? "updated" : "created")}>
        {t("newestChange")}
      </MenuCheck>
      <MenuCheck checked={sort === "value"} onChange={(checked) => onSort(checked ? "value" : "created")}>
        {word("sales.sorts.largest")}
      </MenuCheck>
    </Menu>
  );
}
