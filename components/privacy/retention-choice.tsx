"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { CardFoot } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";

interface RetentionChoiceProps {
  siteId: SiteId;
  /** What the installation keeps at most. */
  monthsMax: number;
  chosen: number | null;
}

const offered = [6, 12, 18, 24, 36, 60];

/** An owner may keep leads and notes for a shorter time than the installation does. */
export function RetentionChoice({ siteId, monthsMax, chosen }: RetentionChoiceProps) {
  const t = useTranslations("personalData.kept");
  const word = useTranslations("actions");
  const { send, pending } = useSend();
  const [months, setMonths] = useState(String(chosen ?? ""));
  const shorter = [...new Set([...offered.filter((each) => each < monthsMax), ...(chosen === null ? [] : [chosen])])].sort((a, b) => a - b);
  const save = () =>
    send({
      method: "PATCH",
      url: `/api/sites/${siteId}/privacy/retention`,
      body: { personalMonths: months === "" ? null : Number(months) },
      done: t("saved"),
    });
  return (
    <CardFoot className="items-start">
      <div className="min-w-60 max-desk:w-full">
        <Field label={t("choose")} hint={t("chooseHint")}>
          {(control) => (
            <Select {...control} value={months} onChange={(event) => setMonths(event.target.value)}>
              <option value="">{t("asInstallation", { count: monthsMax })}</option>
              {shorter.map((each) => (
                <option key={each} value={each}>
                  {t("months", { count: each })}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {months !== String(chosen ?? "") && (
        <SubmitButton type="button" className="desk:mt-6.5" pending={pending} onClick={save}>
          {word("save")}
        </SubmitButton>
      )}
    </CardFoot>
  );
}
