"use client";

import { Check, Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { Button, type ButtonLook } from "./button.tsx";

const confirmedMs = 2000;

/** Copies a value and says so on itself for two seconds. Where the browser refuses, the value stays selectable. */
export function CopyButton({ value, label, ...look }: { value: string; label?: string } & Pick<ButtonLook, "tone" | "size">) {
  const t = useTranslations();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), confirmedMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () =>
    navigator.clipboard.writeText(value).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <Button {...look} onClick={copy}>
      {copied ? <Check className="size-3.5 text-completed" /> : <Copy className="size-3.5" />}
      <span aria-live="polite">{copied ? t("ui.copied") : (label ?? t("actions.copy"))}</span>
    </Button>
  );
}
