"use client";

import { LogIn } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button, ButtonAnchor } from "#components/ui/button.tsx";
import { CardBody, CardFoot } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { shownCustomerId, toActionName } from "#lib/delivery/action-name.ts";
import type { ConnectionState } from "#lib/delivery/connection-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { ActionField } from "./action-field.tsx";
import { ConnectField, type TextFieldName, useFieldError } from "./connect-field.tsx";
import { ConnectionChecks } from "./connection-checks.tsx";
import { type ConnectionTest, givenFields, useConnect } from "./use-connect.ts";

interface ConnectFormProps {
  siteId: SiteId;
  /** What is connected already, to start from. */
  state: ConnectionState;
  sealName: string;
  /** This installation has an OAuth client, so nobody has to copy tokens. */
  hasOwnClient: boolean;
  /** The owner has just allowed us on Google's page. */
  isAllowed: boolean;
  onConnected: (test: ConnectionTest) => void;
  onCancel?: (() => void) | undefined;
}

/** Where this installation has an OAuth client, Google's own page comes first and the form is for those who bring their own client. */
export function ConnectForm(props: ConnectFormProps) {
  const t = useTranslations("googleAds.connect");
  const word = useTranslations();
  const { siteId, state, hasOwnClient, isAllowed, onCancel } = props;
  const [isByHand, setByHand] = useState(!hasOwnClient || isAllowed);
  if (isByHand) return <AccountForm {...props} />;
  return (
    <>
      <CardBody className="grid gap-3">
        <p className="text-sm text-support text-pretty">{t(state.connected ? "withGoogleAgain" : "withGoogleLead")}</p>
      </CardBody>
      <CardFoot>
        {/* A plain link: the route answers with a redirect to Google's own page. */}
        <ButtonAnchor tone="primary" href={`/api/sites/${siteId}/google-ads/oauth/start`}>
          <LogIn />
          {t("withGoogle")}
        </ButtonAnchor>
        <Button onClick={() => setByHand(true)}>{t("byHand")}</Button>
        {onCancel && (
          <Button tone="ghost" onClick={onCancel}>
            {word("actions.cancel")}
          </Button>
        )}
      </CardFoot>
    </>
  );
}

const accountFields = ["customer_id", "conversion_action_resource_name"] as const;
const accessFields = ["client_id", "client_secret", "refresh_token"] as const;

/** Where the account comes from, with help for each field. The credentials are tested with Google before they are stored; what is wrong is shown at its field. */
function AccountForm({ siteId, state, sealName, isAllowed, onConnected, onCancel }: ConnectFormProps) {
  const t = useTranslations("googleAds");
  const word = useTranslations();
  const fieldError = useFieldError();
  const { ask, pending, failure, test, finding } = useConnect(siteId);
  const [missing, setMissing] = useState<Record<string, string>>();
  const form = useFocusInvalid(missing ?? failure ?? test);
  const [asked, setAsked] = useState("");
  const [typed, setTyped] = useState({ customer_id: "", login_customer_id: "" });
  const account = state.account;
  const readAccount = () => {
    const { conversion_action_resource_name: _chosen, ...given } = givenFields(form.current);
    return given;
  };
  const errorOf = (name: TextFieldName | "conversion_action_resource_name" | "transport") => {
    if (missing?.[name]) return fieldError(name, missing[name]);
    if (failure?.fields[name]) return fieldError(name, failure.fields[name]);
    if (finding?.field === name) return `${t(`findings.${finding.name}.what`)} ${t(`findings.${finding.name}.fix`)}`;
    return undefined;
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (pending) return;
    const given = givenFields(form.current);
    const action = given.conversion_action_resource_name;
    const needed = [...accountFields, ...(isAllowed ? [] : accessFields)].filter((name) => given[name] === undefined);
    setMissing(needed.length > 0 ? Object.fromEntries(needed.map((name) => [name, "REQUIRED"])) : undefined);
    if (needed.length > 0) return;
    setAsked(given.customer_id ?? "");
    ask({
      path: "connect",
      body: { ...given, ...(action && { conversion_action_resource_name: toActionName(action, given.customer_id ?? "") }) },
      done: (count) => t("connect.doneReleased", { count }),
      onConnected,
    });
  };
  const hasExpired = isAllowed && accessFields.some((name) => failure?.fields[name]);
  return (
    <form
      ref={form}
      onSubmit={submit}
      onInput={({ target }) => {
        if (target instanceof HTMLInputElement && target.name in typed) setTyped({ ...typed, [target.name]: target.value });
      }}
      noValidate
    >
      <CardBody className="grid gap-5 max-w-[640px]">
        <p className="text-sm text-support text-pretty">{t(state.connected ? "connect.leadAgain" : "connect.lead")}</p>
        <ConnectField
          name="customer_id"
          defaultValue={account ? shownCustomerId(account.customerId) : undefined}
          error={errorOf("customer_id")}
        />
        <ConnectField
          name="login_customer_id"
          defaultValue={account?.loginCustomerId && shownCustomerId(account.loginCustomerId)}
          error={errorOf("login_customer_id")}
        />
        {!isAllowed && accessFields.map((name) => <ConnectField key={name} name={name} error={errorOf(name)} />)}
        <ActionField
          siteId={siteId}
          defaultValue={state.actions.find(({ conversionName }) => conversionName === sealName)?.action}
          error={errorOf("conversion_action_resource_name")}
          sealName={sealName}
          typedAccount={Object.values(typed).join(" ")}
          readAccount={readAccount}
        />
        <OlderAccess transport={state.transport} error={errorOf} />
        {hasExpired ? (
          <Alert tone="failed">{t("connect.consentExpired")}</Alert>
        ) : (
          <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
        )}
        {test && !test.ok && (
          <ConnectionChecks test={test} customerId={asked} failed={t("connect.unsaved")} isSaid={Boolean(finding?.field)} />
        )}
      </CardBody>
      <CardFoot>
        <SubmitButton tone="primary" pending={pending}>
          {t(state.connected ? "connect.resubmit" : "connect.submit")}
        </SubmitButton>
        {onCancel && <Button onClick={onCancel}>{word("actions.cancel")}</Button>}
      </CardFoot>
    </form>
  );
}

interface OlderAccessProps {
  transport: ConnectionState["transport"];
  error: (name: "developer_token" | "transport") => string | undefined;
}

/** Few need these, so they are folded away until something is wrong with them. */
function OlderAccess({ transport, error }: OlderAccessProps) {
  const t = useTranslations("googleAds");
  const problem = error("transport") ?? error("developer_token");
  return (
    <details className="grid gap-3" open={transport === "ads_api" || problem !== undefined}>
      <summary className="text-sm font-medium w-fit cursor-pointer py-2">{t("connect.more")}</summary>
      <div className="grid gap-4 pt-3">
        <Field label={t("fields.transport.label")} hint={t("fields.transport.hint")} error={error("transport")}>
          {(control) => (
            <Select {...control} name="transport" defaultValue={transport ?? "data_manager"}>
              <option value="data_manager">{t("fields.transport.data_manager")}</option>
              <option value="ads_api">{t("fields.transport.ads_api")}</option>
            </Select>
          )}
        </Field>
        <ConnectField name="developer_token" error={error("developer_token")} />
      </div>
    </details>
  );
}
