"use client";

import { Check, ChevronDown, ChevronUp, Link2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useState } from "react";
import { shortOrder } from "#components/dashboard/oci-control/table/short-order.ts";
import { Button } from "#components/ui/button.tsx";

interface HeadProps {
  order: string;
  /** Null when the row is not one of the list. */
  onStep: ((step: 1 | -1) => void) | null;
  onClose: () => void;
  closeButton: RefObject<HTMLButtonElement | null>;
}

/** Which conversion, its neighbours, its link, the way back. */
export function DrawerHead({ order, onStep, onClose, closeButton }: HeadProps) {
  const t = useTranslations("oci.drawer");
  const [copied, setCopied] = useState(false);
  const copy = () =>
    navigator.clipboard.writeText(window.location.href).then(
      () => setCopied(true),
      () => setCopied(false), // the address bar has it
    );
  return (
    <div className="drawer-h">
      <span className="id sm t2 grow clip" title={order}>
        {shortOrder(order)}
      </span>
      {onStep && (
        <>
          <Button tone="ghost" size="sm" icon aria-label={t("previous")} title={t("previousKey")} onClick={() => onStep(-1)}>
            <ChevronUp className="i" />
          </Button>
          <Button tone="ghost" size="sm" icon aria-label={t("next")} title={t("nextKey")} onClick={() => onStep(1)}>
            <ChevronDown className="i" />
          </Button>
        </>
      )}
      <Button
        tone="ghost"
        size="sm"
        icon
        aria-label={copied ? t("linkCopied") : t("copyLink")}
        onClick={copy}
        onBlur={() => setCopied(false)}
      >
        {copied ? <Check className="i fg-completed" /> : <Link2 className="i" />}
      </Button>
      <Button ref={closeButton} tone="ghost" size="sm" icon aria-label={t("close")} onClick={onClose}>
        <X className="i" />
      </Button>
    </div>
  );
}
