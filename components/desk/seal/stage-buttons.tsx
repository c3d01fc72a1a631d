"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useCommand, useDesk } from "../desk-context.tsx";
import { JunkDialog } from "./junk-dialog.tsx";

/** The steps short of a sale, and the way out. The stage a lead has is pressed. */
export function StageButtons({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk.seal");
  const { actions, isOffline } = useDesk();
  const [isJunking, setJunking] = useState(false);
  useCommand("junk", () => !isOffline && setJunking(true));
  return (
    <>
      <div className="stage">
        {(["qualified", "meeting"] as const).map((stage) => (
          <Button
            key={stage}
            size="sm"
            disabled={isOffline}
            aria-pressed={lead.status === stage}
            onClick={() => lead.status !== stage && actions.move(lead, stage)}
          >
            {t(stage)}
          </Button>
        ))}
        <Button size="sm" tone="danger" disabled={isOffline} onClick={() => setJunking(true)} aria-keyshortcuts="x">
          {t("junk")}
          <kbd>{"X"}</kbd>
        </Button>
      </div>
      <JunkDialog lead={lead} open={isJunking} onOpenChange={setJunking} />
    </>
  );
}
