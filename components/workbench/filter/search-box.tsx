"use client";

import { Search, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type HTMLAttributes, type RefObject, useEffect, useEffectEvent, useState } from "react";
import { Input } from "#components/ui/input.tsx";
import { Kbd } from "#components/ui/kbd.tsx";

const restMs = 300;
const searchKey = "/";

interface SearchBoxProps {
  /** The search that the address holds. */
  value: string;
  label: string;
  placeholder: string;
  /** Where its key puts the cursor. */
  box: RefObject<HTMLInputElement | null>;
  inputMode?: HTMLAttributes<HTMLInputElement>["inputMode"];
  /** Reads what was typed; undefined while it is too little to search for. */
  read?: (text: string) => string | undefined;
  onSearch: (text: string) => void;
}

/** Finds a row. It searches when typing pauses, and at once on Enter. */
export function SearchBox({ value, label, placeholder, box, inputMode, read = (text) => text.trim(), onSearch }: SearchBoxProps) {
  const t = useTranslations("filters");
  const [text, setText] = useState(value);
  const follow = useEffectEvent((given: string) => {
    if (document.activeElement !== box.current) setText(given);
  });
  useEffect(() => follow(value), [value]); // something else changed the address, such as Back
  const search = () => {
    const wanted = read(text);
    if (wanted !== undefined && wanted !== value) onSearch(wanted);
  };
  const rest = useEffectEvent(search);
  // biome-ignore lint/correctness/useExhaustiveDependencies: typing is the event
  useEffect(() => {
    const timer = setTimeout(rest, restMs);
    return () => clearTimeout(timer);
  }, [text]);
  const clear = () => {
    setText("");
    box.current?.focus();
  };
  return (
    <search className="relative flex w-62 items-center max-desk:w-auto max-desk:flex-1">
      <Search className="pointer-events-none absolute left-2.5 size-4 text-meta" />
      <Input
        ref={box}
        type="search"
        className="border-line-2 px-8 [&::-webkit-search-cancel-button]:hidden"
        inputMode={inputMode}
        autoComplete="off"
        aria-label={label}
        aria-keyshortcuts={searchKey}
        placeholder={placeholder}
        maxLength={512}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") search();
          if (event.key === "Escape") box.current?.blur();
        }}
      />
      {text ? (
        <button
          type="button"
          className="absolute right-[5px] grid size-6 place-items-center text-meta"
          aria-label={t("clearSearch")}
          onClick={clear}
        >
          <X className="size-3.5" />
        </button>
      ) : (
        <Kbd className="pointer-events-none absolute right-2 max-desk:hidden">{searchKey}</Kbd>
      )}
    </search>
  );
}
