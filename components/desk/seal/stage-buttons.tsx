"use client";

import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { JunkDialog } from "./junk-dialog.tsx";

/** The steps short of a sale, and the way out. The stage a lead has is pressed. */
export function StageButtons({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk.seal");
  const { actions, commands, isOffline } = useDesk();
  const [isJunking, setJunking] = useState(false);
  useEffect(() => {
    const own = commands.current;
    const ask = () => setJunking(true);
    own.junk = ask;
    return () => {
      if (own.junk === ask) delete own.junk;
    };
  }, [commands]);
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
