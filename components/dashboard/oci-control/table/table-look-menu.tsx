"use client";

import { Columns3 } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Menu, MenuCheck, MenuSeparator } from "#components/ui/menu.tsx";
import { optionalColumns, useTableLook } from "./use-table-look.ts";

/** Which columns, how high, in which order. */
export function TableLookMenu({ sort, onSort }: { sort: "created" | "updated"; onSort: (sort: "created" | "updated") => void }) {
  const t = useTranslations("oci.table");
  const look = useTableLook();
  return (
    <Menu trigger={<Button tone="ghost" size="sm" icon aria-label={t("look")} />} triggerContent={<Columns3 className="i" />}>
      {optionalColumns.map((column) => (
        <MenuCheck key={column} checked={look.shows(column)} onChange={() => look.toggle(column)}>
          {t(column)}
        </MenuCheck>
      ))}
      <MenuSeparator />
      <MenuCheck checked={look.density === "compact"} onChange={(checked) => look.setDensity(checked ? "compact" : "roomy")}>
        {t("compact")}
      </MenuCheck>
      <MenuCheck checked={sort === "updated"} onChange={(checked) => onSort(checked ? "updated" : "created")}>
        {t("newestChange")}
      </MenuCheck>
    </Menu>
  );
}
