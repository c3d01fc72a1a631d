"use client";

import { useTranslations } from "next-intl";
import type { FormEvent } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { leadChannels as channels } from "#lib/channels.ts";
import { type DeskFilter, deskFilter } from "#lib/leads/desk-filter.ts";

const scores = [25, 50, 75, 90];

interface FilterDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  filter: DeskFilter;
  campaigns: string[];
  onFilter: (filter: DeskFilter) => void;
}

export function FilterDialog({ open, onOpenChange, filter, campaigns, onFilter }: FilterDialogProps) {
  const t = useTranslations("desk.filter");
  useBackCloses(open, () => onOpenChange(false));
  const channelWords = useTranslations("desk.channel");
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(event.currentTarget)].filter(([, value]) => value !== ""));
    onFilter({ ...deskFilter.parse(given), view: filter.view, phone: filter.phone, decided: filter.decided });
  };
  const known = filter.campaign && !campaigns.includes(filter.campaign) ? [filter.campaign, ...campaigns] : campaigns;
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("title")}>
      <form className="stack stack-4" onSubmit={apply}>
        <div className="field-pair">
          <Field label={t("channel")}>
            {(control) => (
              <Select {...control} name="channel" defaultValue={filter.channel ?? ""}>
                <option value="">{t("any")}</option>
                {channels.map((channel) => (
                  <option key={channel} value={channel}>
                    {channelWords(channel)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label={t("score")}>
            {(control) => (
              <Select {...control} name="score" defaultValue={String(filter.score ?? "")}>
                <option value="">{t("any")}</option>
                {scores.map((score) => (
                  <option key={score} value={score}>
                    {score}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        </div>
        <Field label={t("click")}>
          {(control) => (
            <Select {...control} name="click" defaultValue={filter.click ?? ""}>
              <option value="">{t("any")}</option>
              <option value="yes">{t("clickYes")}</option>
              <option value="no">{t("clickNo")}</option>
            </Select>
          )}
        </Field>
        <div className="field-pair">
          <Field label={t("from")}>{(control) => <Input {...control} type="date" name="from" defaultValue={filter.from ?? ""} />}</Field>
          <Field label={t("to")}>{(control) => <Input {...control} type="date" name="to" defaultValue={filter.to ?? ""} />}</Field>
        </div>
        {known.length > 0 && (
          <Field label={t("campaign")}>
            {(control) => (
              <Select {...control} name="campaign" defaultValue={filter.campaign ?? ""}>
                <option value="">{t("any")}</option>
                {known.map((campaign) => (
                  <option key={campaign} value={campaign}>
                    {campaign}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <div className="dialog-f">
          <Button onClick={() => onFilter({ view: filter.view })}>{t("clear")}</Button>
          <Button type="submit" tone="primary">
            {t("apply")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
