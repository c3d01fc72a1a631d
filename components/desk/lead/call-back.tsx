"use client";

import { Phone } from "lucide-react";
import { useTranslations } from "next-intl";

/** The one place where the whole number leaves the page: into the reader's telephone. */
export function CallBack({ phone }: { phone: string }) {
  const t = useTranslations("desk.detail");
  return (
    <a className="btn sm" href={`tel:${phone.replace(/[^\d+]/g, "")}`}>
      <Phone className="i i-14" />
      {t("callBack")}
    </a>
  );
}
