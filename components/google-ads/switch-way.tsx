"use client";

import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { z } from "zod";
import { sendJson } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useSend } from "#components/forms/use-send.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { useToast } from "#components/ui/toast.tsx";
import { switchPreview } from "#lib/delivery/connection-shapes.ts";
import type { SiteId } from "#lib/site.ts";

interface SwitchWayProps {
  siteId: SiteId;
  to: "script" | "api";
  hasProblem: boolean;
}

type Preview = z.output<typeof switchPreview>;

/** Shows what a switch means for waiting conversions before it switches. */
export function SwitchWay({ siteId, to, hasProblem }: SwitchWayProps) {
  const t = useTranslations("googleAds");
  const actions = useTranslations("actions");
  const toast = useToast();
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [looking, setLooking] = useState(false);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [open, setOpen] = useState(false);
  const url = `/api/sites/${siteId}/google-ads/switch`;
  const isApi = to === "api";

  async function look(): Promise<void> {
    setLooking(true);
    const sent = await sendJson("POST", `${url}?preview=1`, { to });
    setLooking(false);
    const read = switchPreview.safeParse(sent.ok ? sent.value : null);
    if (!read.success) return void toast.failed(errorText(sent.ok ? "INTERNAL" : sent.code));
    setPreview(read.data);
    setOpen(true);
  }

  const confirm = () =>
    send({
      method: "POST",
      url,
      body: { to },
      done: t(isApi ? "switch.doneApi" : "switch.doneScript"),
      onDone: () => setOpen(false),
    });
  return (
    <>
      <SubmitButton type="button" pending={looking} onClick={look}>
        {t(isApi ? "way.toApi" : "way.toScript")}
      </SubmitButton>
      <ConfirmDialog
        open={open}
        onOpenChange={setOpen}
        title={t(isApi ? "switch.apiQuestion" : "switch.scriptQuestion")}
        description={t("switch.lead")}
        confirm={t(isApi ? "switch.confirmApi" : "switch.confirmScript")}
        cancel={actions("leave")}
        pending={pending}
        isReady={!isApi || preview?.connected === true}
        destructive={false}
        onConfirm={confirm}
      >
        {preview && <Consequences to={to} preview={preview} hasProblem={hasProblem} />}
      </ConfirmDialog>
    </>
  );
}

function Consequences({ to, preview, hasProblem }: { to: "script" | "api"; preview: Preview; hasProblem: boolean }) {
  const t = useTranslations("googleAds.switch");
  const { waiting, inFlight, released, adjustmentsByHand, pageViewsStop, missingActions, connected } = preview;
  const facts =
    to === "api"
      ? [
          t("waitingApi", { count: waiting }),
          t("inFlight", { count: inFlight }),
          t("correctionsApi"),
          pageViewsStop && t("pageViewsStop"),
          connected && missingActions.length > 0 && t("actionsMissing", { names: missingActions.join(", ") }),
        ]
      : [
          t("waitingScript", { count: waiting + released - adjustmentsByHand }),
          released > 0 && t("released", { count: released }),
          t("inFlight", { count: inFlight }),
          t("correctionsScript", { count: adjustmentsByHand }),
          t("scriptNeeded"),
          connected && t("connectionStays"),
        ];
  const ofScript = preview.correctionsOfScript > 0 && t("ofScript", { count: preview.correctionsOfScript });
  const warning = to === "api" && (!connected ? t("notConnected") : hasProblem && t("problem"));
  return (
    <div className="grid gap-3">
      <ul className="grid gap-3 text-sm text-support list-disc pl-5">
        {[...facts, ofScript].filter(Boolean).map((fact) => (
          <li key={String(fact)} className="text-pretty">
            {fact}
          </li>
        ))}
      </ul>
      {warning && (
        <p className="flex min-w-0 items-center gap-2 text-sm text-retry" role="status">
          <TriangleAlert className="flex-none" />
          {warning}
        </p>
      )}
    </div>
  );
}
