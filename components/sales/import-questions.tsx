"use client";

import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { Readings } from "#components/forms/readings.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { type DateOrder, readMoment } from "#lib/seal/read-dates.ts";
import type { ImportChoices, ImportQuestions as Questions } from "#lib/seal/read-import.ts";

const orders: DateOrder[] = ["dayFirst", "monthFirst"];

interface ImportQuestionsProps {
  questions: Questions;
  onAnswer: (choices: ImportChoices) => void;
  onCancel: () => void;
}

/** What a file can mean in two ways, asked once for all of its lines. */
export function ImportQuestions({ questions: { dateOrder, amountMark }, onAnswer, onCancel }: ImportQuestionsProps) {
  const t = useTranslations("salesImport");
  const word = useTranslations();
  const { date } = siteFormat({ locale: useLocale(), timeZone: "UTC" });
  const [choices, setChoices] = useState<ImportChoices>({});
  const isAnswered = (!dateOrder || choices.dateOrder) && (!amountMark || choices.amountMark);
  return (
    <Card title={t("questions.title")}>
      <CardBody className="grid gap-5">
        <p className="text-sm text-pretty text-support">{t("questions.lead")}</p>
        {dateOrder && (
          <Readings
            legend={t("questions.date", { line: dateOrder.line, text: dateOrder.text })}
            options={orders.map((value) => ({
              value,
              label: date(readMoment(dateOrder.text, "UTC", value) ?? ""),
              note: t(`questions.${value}`),
            }))}
            value={choices.dateOrder}
            onChange={(value) => setChoices({ ...choices, dateOrder: value })}
          />
        )}
        {amountMark && (
          <AmountReadings
            amount={{
              text: amountMark.text,
              currency: amountMark.currency,
              meaning: choices.amountMark,
              setMeaning: (value) => setChoices({ ...choices, amountMark: value }),
            }}
            question={t("questions.amount", { line: amountMark.line, text: amountMark.text })}
          />
        )}
      </CardBody>
      <CardFoot className="gap-2">
        <Button tone="primary" disabled={!isAnswered} onClick={() => onAnswer(choices)}>
          {word("actions.continue")}
        </Button>
        {!isAnswered && <Button onClick={() => onAnswer(choices)}>{t("questions.without")}</Button>}
        <Button tone="ghost" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </CardFoot>
    </Card>
  );
}
