"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useEffect, useEffectEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { CardBody, CardFoot } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { Skeleton } from "#components/ui/skeleton.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { chooseListed, toActionName } from "#lib/delivery/action-name.ts";
import type { ActionRow } from "#lib/delivery/action-rows.ts";
import type { SiteId } from "#lib/site.ts";
import { ActionOptions, OnePerClick, useActionList } from "./action-field.tsx";

interface ActionsFormProps {
  siteId: SiteId;
  customerId: string;
  rows: ActionRow[];
  onDone: () => void;
}

/** An action for each conversion, from Google's list; typed where Google does not show one. */
export function ActionsForm({ siteId, customerId, rows, onDone }: ActionsFormProps) {
  const t = useTranslations("googleAds");
  const word = useTranslations();
  const errorText = useErrorText();
  const names = useTranslations("delivery.nameKeys");
  const { send, pending } = useSend();
  const { list, problem, pending: isLoading, load } = useActionList(siteId);
  const [hasAsked, setAsked] = useState(false);
  const [chosen, setChosen] = useState(() => Object.fromEntries(rows.map(({ conversionName, action }) => [conversionName, action ?? ""])));
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const [missing, setMissing] = useState<string | null>(null);
  const ask = useEffectEvent(async () => {
    const actions = await load();
    const suggest = ({ conversionName, action }: ActionRow) => [conversionName, action ?? chooseListed(actions, "", conversionName)];
    setChosen(Object.fromEntries(rows.map(suggest)));
    setAsked(true);
  });
  useEffect(() => {
    void ask();
  }, []);

  const countingOf = (action: string, row: ActionRow) =>
    list?.find((listed) => listed.action === action)?.countingType ?? (action === row.action ? row.countingType : null);
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const actions = rows.flatMap((row) => {
      const action = toActionName(chosen[row.conversionName] ?? "", customerId);
      const countingType = countingOf(action, row);
      return action ? [{ conversionName: row.conversionName, action, ...(countingType && { countingType }) }] : [];
    });
    const seal = rows.find(({ key }) => key === "seal");
    const isMissing = seal !== undefined && !actions.some(({ conversionName }) => conversionName === seal.conversionName);
    setMissing(isMissing ? seal.conversionName : null);
    setFailure(null);
    if (isMissing || pending) return;
    send({
      method: "POST",
      url: `/api/sites/${siteId}/google-ads/actions`,
      body: { actions },
      done: t("actions.saved"),
      onDone,
      onFailed: setFailure,
    });
  };
  if (!hasAsked || isLoading) {
    return (
      <CardBody className="grid gap-3" aria-busy="true">
        {rows.map(({ conversionName }) => (
          <Skeleton key={conversionName} width="100%" height={58} radius={7} />
        ))}
      </CardBody>
    );
  }
  return (
    <form onSubmit={save} noValidate>
      <CardBody className="grid gap-4 max-w-[640px]">
        {problem && <Alert tone="retry">{t(`fields.${problem}`)}</Alert>}
        {rows.map((row) => {
          const value = chosen[row.conversionName] ?? "";
          const set = (action: string) => setChosen({ ...chosen, [row.conversionName]: action });
          const listed = list && withChosen(list, value);
          return (
            <div key={row.conversionName} className="grid gap-3">
              <Field
                label={row.key ? names(row.key) : t("actions.earlierName")}
                hint={t.rich("actions.sentAs", { name: () => <span data-untranslated>{row.conversionName}</span> })}
                error={missing === row.conversionName ? errorText("REQUIRED") : undefined}
              >
                {(control) =>
                  listed ? (
                    <Select {...control} value={value} onChange={(event) => set(event.target.value)}>
                      <ActionOptions list={listed} none={row.key === "seal" ? word("actions.actions") : t("actions.notSent")} />
                    </Select>
                  ) : (
                    <Input
                      {...control}
                      value={value}
                      onChange={(event) => set(event.target.value)}
                      placeholder={t("actions.typed")}
                      autoComplete="off"
                      spellCheck={false}
                    />
                  )
                }
              </Field>
              {countingOf(value, row) === "ONE_PER_CLICK" && <OnePerClick />}
            </div>
          );
        })}
        {failure?.code === "VALIDATION_FAILED" ? (
          <Alert tone="failed">{t("actions.refused")}</Alert>
        ) : (
          <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} />
        )}
      </CardBody>
      <CardFoot>
        <SubmitButton tone="primary" pending={pending}>
          {t("actions.save")}
        </SubmitButton>
        <Button onClick={onDone}>{word("actions.cancel")}</Button>
      </CardFoot>
    </form>
  );
}

/** An action that Google no longer lists stays visible as long as it is chosen. */
function withChosen<Listed extends { action: string; name: string; isEnabled: boolean }>(list: Listed[], chosen: string) {
  const isListed = chosen === "" || list.some(({ action }) => action === chosen);
  return isListed ? list : [{ action: chosen, name: chosen, isEnabled: true, countingType: null, type: null }, ...list];
}
