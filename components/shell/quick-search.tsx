"use client";

import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { Kbd } from "#components/ui/kbd.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import { isAsking } from "#components/ui/use-keys.ts";
import type { ShellSite } from "./current-site.ts";

// Loaded with the first press: no page pays for it.
const Late = latePart(() => import("./quick-search-dialog.tsx").then(({ QuickSearchDialog }) => QuickSearchDialog));

interface QuickSearchProps {
  sites: ShellSite[];
  mayCreate: boolean;
  /** On a phone's bar it is an icon. */
  look: "side" | "icon";
}

const looks = {
  side: "mb-3 flex min-h-8.5 w-full items-center gap-2 rounded-md px-2 text-sm text-meta inset-ring inset-ring-line-1 hover:bg-surface-2 rail:justify-center rail:*:[span,kbd]:hidden",
  icon: "ml-auto grid size-11 place-items-center rounded-md text-support hover:bg-surface-2",
};

/** Opens the search over pages, sites, leads, sales and actions: a button, and Ctrl K anywhere. */
export function QuickSearch({ sites, mayCreate, look }: QuickSearchProps) {
  const t = useTranslations("quickSearch");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (look === "icon") return; // one listener is enough
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      if (!isAsking()) setOpen(true);
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [look]);
  return (
    <>
      <button type="button" className={looks[look]} aria-label={t("title")} aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <Search className="size-4" />
        {look === "side" && (
          <>
            <span className="min-w-0 flex-1 truncate text-left">{t("title")}</span>
            <Kbd>{t("key")}</Kbd>
          </>
        )}
      </button>
      {isOpen && <Late.Part isWanted sites={sites} mayCreate={mayCreate} onClose={() => setOpen(false)} />}
    </>
  );
}
