"use client";

import { TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useState } from "react";
import { sendJson } from "#components/forms/send-json.ts";
import { Button } from "#components/ui/button.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { chooseListed, toActionName } from "#lib/delivery/action-name.ts";
import { type ActionList, actionList } from "#lib/delivery/connection-shapes.ts";
import type { SiteId } from "#lib/site.ts";

type ListedAction = ActionList["actions"][number];

/** Asks Google for the account's conversion actions. Without a list, `problem` says why and the action is typed. */
export function useActionList(siteId: SiteId) {
  const [list, setList] = useState<ListedAction[] | null>(null);
  const [problem, setProblem] = useState<"listRefused" | "noneListed" | "listNeeds" | null>(null);
  const [pending, setPending] = useState(false);
  async function load(account: Record<string, string> = {}): Promise<ListedAction[]> {
    setPending(true);
    const sent = await sendJson("POST", `/api/sites/${siteId}/google-ads/actions/available`, account);
    setPending(false);
    const answer = sent.ok ? actionList.safeParse(sent.value).data : undefined;
    const actions = answer?.actions ?? [];
    const isUnasked = !sent.ok && (sent.code === "VALIDATION_FAILED" || sent.code === "NOT_CONNECTED");
    setProblem(actions.length > 0 ? null : isUnasked ? "listNeeds" : !answer || answer.refused ? "listRefused" : "noneListed");
    setList(actions.length > 0 ? actions : null);
    return actions;
  }
  return { list, problem, pending, load, forget: () => setList(null) };
}

interface ActionOptionsProps {
  list: readonly ListedAction[];
  /** The label for no choice. */
  none: string;
}

export function ActionOptions({ list, none }: ActionOptionsProps): ReactNode {
  const t = useTranslations("googleAds.fields");
  return (
    <>
      <option value="">{none}</option>
      {list.map(({ action, name, isEnabled }) => (
        <option key={action} value={action} disabled={!isEnabled}>
          {isEnabled ? name : t("notEnabled", { name })}
        </option>
      ))}
    </>
  );
}

/** Said beside an action that counts once per click. */
export function OnePerClick() {
  const t = useTranslations("googleAds.actions");
  return (
    <p className="text-xs text-retry flex gap-2 text-pretty" role="status">
      <TriangleAlert className="size-3.5 flex-none" />
      {t("onePerClick")}
    </p>
  );
}

interface ActionFieldProps {
  siteId: SiteId;
  defaultValue?: string | undefined;
  error?: string | undefined;
  /** The name that sealed sales are sent under: an action of that name is the likely one. */
  sealName: string;
  /** The account's numbers as they were typed: the list of another account is forgotten. */
  typedAccount: string;
  /** What the form holds of the account now; Google is asked with it. */
  readAccount: () => Record<string, string>;
}

const name = "conversion_action_resource_name";

/** The conversion action of the connect form: chosen from Google's list once the account is filled in, or typed. */
export function ActionField({ siteId, defaultValue, error, sealName, typedAccount, readAccount }: ActionFieldProps) {
  const t = useTranslations("googleAds.fields");
  const word = useTranslations();
  const { list, problem, pending, load, forget } = useActionList(siteId);
  const [chosen, setChosen] = useState(defaultValue ?? "");
  const [listedAccount, setListedAccount] = useState(typedAccount);
  if (list && listedAccount !== typedAccount) {
    forget();
    setChosen("");
  }
  const loadAndChoose = async () => {
    const account = readAccount();
    setListedAccount(typedAccount);
    const actions = await load(account);
    const { customer_id, login_customer_id } = readAccount();
    const isSame = customer_id === account.customer_id && login_customer_id === account.login_customer_id;
    if (actions.length > 0 && isSame) setChosen(chooseListed(actions, toActionName(chosen, account.customer_id ?? ""), sealName));
  };
  const counting = list?.find(({ action }) => action === chosen)?.countingType;
  const hint = problem ? t(problem) : t(list ? `${name}.listHint` : `${name}.hint`);
  return (
    <div className="grid gap-3">
      <Field label={t(`${name}.label`)} hint={hint} error={error}>
        {(control) => (
          <div className="flex min-w-0 items-center gap-2 items-stretch max-desk:flex-col">
            {list ? (
              <Select
                {...control}
                className="min-w-0 flex-1"
                name={name}
                value={chosen}
                onChange={(event) => setChosen(event.target.value)}
              >
                <ActionOptions list={list} none={word("actions.actions")} />
              </Select>
            ) : (
              <Input
                {...control}
                className="min-w-0 flex-1"
                name={name}
                value={chosen}
                onChange={(event) => setChosen(event.target.value)}
                autoComplete="off"
                spellCheck={false}
                maxLength={512}
              />
            )}
            {list ? (
              <Button onClick={forget}>{t("typeInstead")}</Button>
            ) : (
              <SubmitButton type="button" pending={pending} onClick={loadAndChoose}>
                {t("load")}
              </SubmitButton>
            )}
          </div>
        )}
      </Field>
      {counting === "ONE_PER_CLICK" && <OnePerClick />}
    </div>
  );
}
