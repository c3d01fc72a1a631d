"use client";

import { FileCode, Webhook } from "lucide-react";
import { useTranslations } from "next-intl";
import { Tag } from "#components/ui/badge.tsx";
import { Card } from "#components/ui/card.tsx";
import { StepRow } from "#components/ui/step-row.tsx";
import type { SiteId } from "#lib/site.ts";
import { SwitchWay } from "./switch-way.tsx";

interface DeliveryWayProps {
  siteId: SiteId;
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
  const states = useTranslations("states");
  const notes = {
    script: current === "api" && ` ${t("scriptUnused")}${sendsPageViews ? ` ${t("pageViewsScript")}` : ""}`,
    api: current === "script" && !connected && ` ${t("apiNeedsConnection")}`,
  };
  return (
    <Card title={t("title")}>
      <ul>
        {(["script", "api"] as const).map((way) => (
          <StepRow
            key={way}
            icon={icons[way]}
            done={way === current}
            title={
              <p className="flex flex-wrap items-center gap-2 font-semibold">
                {states(way)}
                {way === current && <Tag>{t("inUse")}</Tag>}
              </p>
            }
            note={
              <>
                {t(`${way}Lead`)}
                {notes[way]}
              </>
            }
            action={
              way !== current &&
              mayChange &&
              (way === "script" || connected) && <SwitchWay siteId={siteId} to={way} hasProblem={hasProblem} />
            }
          />
        ))}
      </ul>
    </Card>
  );
}
