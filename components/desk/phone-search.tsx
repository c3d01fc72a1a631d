"use client";

import { Search, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react";

const pauseMs = 400;
const digitsOf = (text: string) => text.replace(/\D/g, "").slice(-7);

interface PhoneSearchProps {
  inputRef: RefObject<HTMLInputElement | null>;
  value: string;
  onSearch: (digits: string | undefined) => void;
}

/** Finds a caller by the last digits of the number, as they stand on the operator's telephone. */
export function PhoneSearch({ inputRef, value, onSearch }: PhoneSearchProps) {
  const t = useTranslations("desk");
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const search = (written: string) => {
    const digits = digitsOf(written);
    if (digits !== value && (digits.length >= 2 || written.trim() === "")) onSearch(digits.length >= 2 ? digits : undefined);
  };
  const write = (written: string) => {
    setText(written);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => search(written), pauseMs);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    clearTimeout(timer.current);
    search(text);
  };
  return (
    <search>
      <form className="search" onSubmit={submit}>
        <Search className="i" />
        <input
          ref={inputRef}
          className="input"
          name="phone"
          inputMode="tel"
          autoComplete="off"
          aria-label={t("search")}
          aria-keyshortcuts="/"
          placeholder={t("searchHint")}
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && inputRef.current?.blur()}
        />
        {text ? (
          <button
            type="button"
            className="clear"
            aria-label={t("searchClear")}
            onClick={() => {
              setText("");
              search("");
              inputRef.current?.focus();
            }}
          >
            <X className="i i-14" />
          </button>
        ) : (
          <kbd>{"/"}</kbd>
        )}
      </form>
    </search>
  );
}
