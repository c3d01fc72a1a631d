"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import type { ActionRow } from "#lib/delivery/action-rows.ts";
import type { SiteId } from "#lib/site.ts";
import { ActionsForm } from "./actions-form.tsx";
import { ActionsTable } from "./actions-table.tsx";

interface ConversionActionsProps {
  siteId: SiteId;
  customerId: string;
  rows: ActionRow[];
  signalsOff: boolean;
  mayChange: boolean;
}

/** Which of the account's conversion actions each conversion goes to. */
export function ConversionActions({ siteId, customerId, rows, signalsOff, mayChange }: ConversionActionsProps) {
  const t = useTranslations("googleAds.actions");
  const [isEditing, setEditing] = useState(false);
  return (
    <div id="actions" className="scroll-mt-20 desk:scroll-mt-4">
      <Card
        title={t("title")}
        end={
          mayChange &&
          !isEditing && (
            <Button size="sm" onClick={() => setEditing(true)}>
              {t("change")}
            </Button>
          )
        }
      >
        <p className="p-4 pb-0 text-sm text-pretty text-support">
          {t("lead")} {signalsOff && t("signalsOff")}
        </p>
        {isEditing ? (
          <ActionsForm siteId={siteId} customerId={customerId} rows={rows} onDone={() => setEditing(false)} />
        ) : (
          <ActionsTable rows={rows} />
        )}
      </Card>
    </div>
  );
}
