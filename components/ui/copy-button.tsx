"use client";

import { Check, Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { Button, type ButtonLook } from "./button.tsx";

const shownMs = { copied: 2000, failed: 6000 };

/** Copies a value and says so on itself for two seconds, or that the browser refused, as it does where the page is not secure. */
export function CopyButton({ value, label, ...look }: { value: string; label?: string } & Pick<ButtonLook, "tone" | "size">) {
  const t = useTranslations();
  const [outcome, setOutcome] = useState<keyof typeof shownMs | null>(null);
  const copied = outcome === "copied";
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(null), shownMs[outcome]);
    return () => clearTimeout(timer);
  }, [outcome]);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(value); // without https there is no clipboard at all
      setOutcome("copied");
    } catch {
      setOutcome("failed");
    }
  }
  return (
    <Button {...look} onClick={copy}>
      {copied ? <Check className={look.tone === "primary" ? "size-3.5" : "size-3.5 text-completed"} /> : <Copy className="size-3.5" />}
      <span aria-live="polite">{outcome ? t(copied ? "ui.copied" : "ui.copyFailed") : (label ?? t("actions.copy"))}</span>
    </Button>
  );
}
