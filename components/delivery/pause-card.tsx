"use client";

import { useLocale, useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { getJson } from "#components/forms/get-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { readWallText, wallText } from "#lib/i18n/zoned-time.ts";
import type { SiteId } from "#lib/site.ts";
import type { PausePreview } from "#lib/tenancy/pause.ts";

interface PauseCardProps {
  siteId: SiteId;
  timeZone: string;
  isPaused: boolean;
}

const hourChoices = [1, 4, 24, 72, 168, 720] as const;
const hourMs = 3_600_000;
/** A click that came now can be sent for so long; SQL refuses a longer pause. */
const pauseMaxDays = 90;
const byDate = "date";
const reasonMax = 200;

/** The place where an owner pauses sending: how long, why, and what it means for the rows that wait. */
export function PauseCard({ siteId, timeZone, isPaused }: PauseCardProps) {
  const t = useTranslations("pause");
  const actions = useTranslations("actions");
  const labels = useTranslations("labels");
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const [until, setUntil] = useState("");
  const [choice, setChoice] = useState("24");
  const [date, setDate] = useState("");
  const [reason, setReason] = useState("");
  const [failure, setFailure] = useState<string>();
  const inHours = (count: number) => new Date(Date.now() + count * hourMs);
  function choose(value: string): void {
    setChoice(value);
    if (value === byDate) chooseDate(date || wallText(inHours(24), timeZone));
    else setUntil(inHours(Number(value)).toISOString());
  }
  function chooseDate(text: string): void {
    const moment = readWallText(text, timeZone);
    const isSoonEnough = moment && moment > inHours(0) && moment <= inHours(pauseMaxDays * 24);
    setDate(text);
    setUntil(isSoonEnough ? moment.toISOString() : "");
  }
  function show(isOpen: boolean): void {
    setOpen(isOpen);
    setFailure(undefined);
    if (isOpen) choose(choice);
  }
  const pause = () =>
    send({
      method: "POST",
      url: `/api/sites/${siteId}/pause`,
      body: { until, reason },
      done: t("done"),
      onDone: () => setOpen(false),
      onFailed: ({ code }) => setFailure(errorText(code)),
    });
  return (
    <Card title={t("title")}>
      <CardBody className="flex min-w-0 flex-wrap items-center gap-3">
        <p className="min-w-60 flex-1 text-sm text-pretty text-support">{t("lead")}</p>
        <ConfirmDialog
          open={open}
          onOpenChange={show}
          title={t("question")}
          description={t("consequence")}
          confirm={t("title")}
          cancel={actions("leave")}
          pending={pending}
          isReady={reason.trim() !== "" && until !== ""}
          destructive={false}
          onConfirm={pause}
          trigger={<Button>{t(isPaused ? "change" : "title")}</Button>}
        >
          <Field label={t("howLong")} hint={until && <Meaning siteId={siteId} until={until} timeZone={timeZone} />}>
            {(control) => (
              <Select {...control} value={choice} onChange={(event) => choose(event.target.value)}>
                {hourChoices.map((count) => (
                  <option key={count} value={count}>
                    {count < 24 ? t("hours", { count }) : t("days", { count: count / 24 })}
                  </option>
                ))}
                <option value={byDate}>{t("byDate")}</option>
              </Select>
            )}
          </Field>
          {choice === byDate && (
            <Field
              label={t("date")}
              hint={t("dateHint", { zone: timeZone })}
              error={until ? undefined : t("dateWrong", { days: pauseMaxDays })}
            >
              {(control) => (
                <Input
                  {...control}
                  type="datetime-local"
                  min={wallText(inHours(0), timeZone)}
                  max={wallText(inHours(pauseMaxDays * 24), timeZone)}
                  value={date}
                  onChange={(event) => chooseDate(event.target.value)}
                />
              )}
            </Field>
          )}
          <Field label={labels("reason")} hint={t("reasonHint")} error={failure}>
            {(control) => (
              <Input
                {...control}
                value={reason}
                maxLength={reasonMax}
                onChange={(event) => setReason(event.target.value)}
                autoComplete="off"
              />
            )}
          </Field>
        </ConfirmDialog>
      </CardBody>
    </Card>
  );
}

/** Until when, and how many rows can no longer be sent then. */
function Meaning({ siteId, until, timeZone }: { siteId: SiteId; until: string; timeZone: string }) {
  const t = useTranslations("pause");
  const format = siteFormat({ locale: useLocale(), timeZone });
  const [found, setFound] = useState<{ until: string; preview: PausePreview } | null>(null);
  useEffect(() => {
    let isCurrent = true;
    void getJson<PausePreview>(`/api/sites/${siteId}/pause`, { until }).then((preview) => {
      if (isCurrent && preview) setFound({ until, preview });
    });
    return () => {
      isCurrent = false;
    };
  }, [siteId, until]);
  const preview = found?.until === until ? found.preview : null;
  return (
    <span className="grid gap-1" aria-live="polite">
      <span>{t("until", { time: format.dateTime(until) })}</span>
      {preview && (
        <>
          <span>{t("waiting", { count: preview.waiting })}</span>
          <span className={preview.expiring > 0 ? "font-medium text-failed" : undefined}>{t("expiring", { count: preview.expiring })}</span>
          {preview.viewsExpire && <span className="font-medium text-failed">{t("viewsExpire")}</span>}
          {preview.inFlight > 0 && <span>{t("inFlight", { count: preview.inFlight })}</span>}
        </>
      )}
    </span>
  );
}
