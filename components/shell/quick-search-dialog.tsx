"use client";

import { Dialog } from "@base-ui/react/dialog";
import { Search } from "lucide-react";
import { useRouter } from "next/navigation";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useId, useState } from "react";
import { cn } from "#components/ui/cn.ts";
import { scrim } from "#components/ui/dialog.tsx";
import { type ShellSite, useCurrentSite } from "./current-site.ts";
import { useQuickChoices } from "./use-quick-choices.ts";

interface DialogProps {
  sites: ShellSite[];
  mayCreate: boolean;
  onClose: () => void;
}

/** One field over everything. Arrows walk through what was found, Enter goes there. */
export function QuickSearchDialog({ sites, mayCreate, onClose }: DialogProps) {
  const t = useTranslations("quickSearch");
  const router = useRouter();
  const listId = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { choices, isLooking } = useQuickChoices({ text, site: useCurrentSite(sites), sites, mayCreate });
  const chosen = Math.min(at, choices.length - 1);
  function go(href: string | undefined): void {
    if (!href) return;
    onClose();
    router.push(href);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      const next = (chosen + step + choices.length) % Math.max(1, choices.length);
      setAt(next);
      document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") go(choices[chosen]?.href);
    else return;
    event.preventDefault();
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={scrim} />
        <Dialog.Popup
          data-slot="dialog"
          aria-label={t("title")}
          className="fixed top-[12dvh] left-1/2 z-41 grid max-h-[70dvh] w-[min(560px,calc(100vw-16px))] -translate-x-1/2 grid-rows-[auto_minmax(0,1fr)] overflow-hidden rounded-[12px] bg-surface-pop shadow-lg outline-none max-desk:top-2"
        >
          <div className="flex items-center gap-2.5 border-line-1 border-b px-4">
            <Search className="size-4 flex-none text-meta" />
            <input
              className="min-h-12 w-full bg-transparent text-[1rem] outline-none"
              role="combobox"
              aria-expanded="true"
              aria-controls={listId}
              aria-activedescendant={choices.length > 0 ? `${listId}-${chosen}` : undefined}
              aria-label={t("label")}
              placeholder={t("placeholder")}
              autoComplete="off"
              maxLength={80}
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setAt(0);
              }}
              onKeyDown={onKeyDown}
            />
          </div>
          <div id={listId} role="listbox" aria-label={t("found")} aria-busy={isLooking} className="overflow-auto p-1.5">
            {choices.map(({ key, icon: Icon, label, note, href }, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
              <div
                key={key}
                id={`${listId}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === chosen}
                className={cn(
                  "flex min-h-10 cursor-pointer items-center gap-2.5 rounded-md px-2.5 text-sm",
                  index === chosen && "bg-surface-2",
                )}
                onMouseMove={() => setAt(index)}
                onClick={() => go(href)}
              >
                <Icon className="size-4 flex-none text-meta" />
                <span className="min-w-0 flex-1 truncate">{label}</span>
                <span className="max-w-[45%] truncate text-xs text-meta">{note}</span>
              </div>
            ))}
          </div>
          {choices.length === 0 && (
            <p className="px-4 pb-4 text-sm text-meta" role="status">
              {t(isLooking ? "looking" : "nothing")}
            </p>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
