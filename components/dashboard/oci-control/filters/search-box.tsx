"use client";

import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useEffect, useState } from "react";

const settleMs = 300;
const searchKey = "/";

/** Finds an order, a click or a phone number. It asks when the typing rests. */
export function SearchBox({
  value,
  onSearch,
  box,
}: {
  value: string;
  onSearch: (text: string) => void;
  box: RefObject<HTMLInputElement | null>;
}) {
  const t = useTranslations("oci.filters");
  const [text, setText] = useState(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address changed by another hand, such as Back
  useEffect(() => {
    if (document.activeElement !== box.current) setText(value);
  }, [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing is the event
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => onSearch(text.trim()), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label className="search">
      <span className="sr">{t("search")}</span>
      <Search className="i" />
      <input
        ref={box}
        type="search"
        className="input"
        placeholder={t("placeholder")}
        maxLength={512}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && box.current?.blur()}
      />
      <span className="kbd" aria-hidden="true">
        {searchKey}
      </span>
    </label>
  );
}
