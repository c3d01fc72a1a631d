"use client";

import { Check, FileCode, Webhook } from "lucide-react";
import { useTranslations } from "next-intl";
import { Tag } from "#components/ui/badge.tsx";
import { Card } from "#components/ui/card.tsx";
import { SwitchWay } from "./switch-way.tsx";

interface DeliveryWayProps {
  siteId: string;
  current: "script" | "api";
  connected: boolean;
  /** The connection would keep conversions waiting. */
  hasProblem: boolean;
  sendsPageViews: boolean;
  mayChange: boolean;
}

const icons = { script: FileCode, api: Webhook };

/** The two ways to Google, which one this site uses, and the switch to the other. */
export function DeliveryWay({ siteId, current, connected, hasProblem, sendsPageViews, mayChange }: DeliveryWayProps) {
  const t = useTranslations("googleAds.way");
  const notes = {
    script: current === "api" && ` ${t("scriptUnused")}${sendsPageViews ? ` ${t("pageViewsScript")}` : ""}`,
    api: current === "script" && !connected && ` ${t("apiNeedsConnection")}`,
  };
  return (
    <Card title={t("title")}>
      <ul>
        {(["script", "api"] as const).map((way) => {
          const Icon = way === current ? Check : icons[way];
          return (
            <li key={way} className="ready-step">
              <span className={way === current ? "n ok" : "n"}>
                <Icon className="i" />
              </span>
              <div className="grow">
                <p className="strong flex flex-wrap items-center gap-2">
                  {t(way)}
                  {way === current && <Tag>{t("inUse")}</Tag>}
                </p>
                <p className="sm t3 text-pretty">
                  {t(`${way}Lead`)}
                  {notes[way]}
                </p>
              </div>
              {way !== current && mayChange && (way === "script" || connected) && (
                <SwitchWay siteId={siteId} to={way} hasProblem={hasProblem} />
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
