"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import { Alert } from "#components/ui/alert.tsx";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { ConnectionState } from "#lib/delivery/connection-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { ConnectForm } from "./connect-form.tsx";
import { ConnectionChecks } from "./connection-checks.tsx";
import { ConnectionFacts } from "./connection-facts.tsx";
import { Disconnect } from "./disconnect.tsx";
import { RotateAccess } from "./rotate-access.tsx";
import { type ConnectionTest, useConnect } from "./use-connect.ts";

export interface ConnectionCardProps {
  siteId: SiteId;
  state: ConnectionState;
  sealName: string;
  timeZone: string;
  hasOwnClient: boolean;
  /** The result of Google's consent page, when the owner has just been there. */
  consent: "given" | "refused" | null;
  /** Start with the form. */
  isAsked: boolean;
  mayChange: boolean;
}

/** The site's connection to Google's APIs: made, looked at, tested, renewed and ended here. */
export function ConnectionCard(props: ConnectionCardProps) {
  const { siteId, state, sealName, timeZone, hasOwnClient, consent, isAsked, mayChange } = props;
  const t = useTranslations();
  const startsOpen = isAsked || (!state.connected && (state.syncMethod === "api" || consent === "given"));
  const [isOpen, setOpen] = useState(startsOpen);
  const [isUsed, setUsed] = useState(false);
  const [lastTest, setLastTest] = useState<{ test: ConnectionTest; actions: ConnectionState["actions"] } | null>(null);
  const shown = mayChange && isOpen;
  const connected = (test: ConnectionTest) => setLastTest({ test, actions: state.actions });
  /** The consent is stored now: neither this page nor a reload may offer it again. */
  const dropConsent = () => {
    setUsed(true);
    window.history.replaceState(null, "", window.location.pathname);
  };
  return (
    <div id="connect" className="scroll-mt-20 desk:scroll-mt-4">
      <Card title={t("googleAds.connect.title")}>
        {mayChange && consent && !isUsed && (
          <ConsentAnswer siteId={siteId} consent={consent} connected={state.connected} onUsed={dropConsent} onConnected={connected} />
        )}
        {shown ? (
          <ConnectForm
            siteId={siteId}
            state={state}
            sealName={sealName}
            hasOwnClient={hasOwnClient}
            isAllowed={consent === "given" && !isUsed}
            onConnected={(test) => {
              setOpen(false);
              connected(test);
              if (consent) dropConsent();
            }}
            onCancel={state.connected || state.syncMethod === "script" ? () => setOpen(false) : undefined}
          />
        ) : state.connected ? (
          <Connected
            key={state.connectedAt}
            siteId={siteId}
            state={state}
            timeZone={timeZone}
            mayChange={mayChange}
            refused={lastTest && stillRefused(lastTest, state.actions)}
            onConnected={connected}
            onReconnect={() => setOpen(true)}
          />
        ) : (
          <CardBody className="flex min-w-0 items-center gap-2 max-desk:flex-wrap">
            <p className="text-sm text-support min-w-0 flex-1 text-pretty">
              {t("googleAds.connect.notConnected")} {!mayChange && t("googleAds.connect.ownerConnects")}
            </p>
            {mayChange && (
              <Button tone="primary" onClick={() => setOpen(true)}>
                {t("actions.connect")}
              </Button>
            )}
          </CardBody>
        )}
      </Card>
    </div>
  );
}

/** The test that connected the account, while Google refuses actions that are still the chosen ones. */
function stillRefused({ test, actions }: { test: ConnectionTest; actions: ConnectionState["actions"] }, now: ConnectionState["actions"]) {
  const actionIn = (list: ConnectionState["actions"], name: string) => list.find((each) => each.conversionName === name)?.action;
  const refusedActions = test.refusedActions.filter(
    ({ conversionName }) => actionIn(actions, conversionName) === actionIn(now, conversionName),
  );
  return refusedActions.length > 0 ? { ...test, refusedActions } : null;
}

interface ConsentAnswerProps {
  siteId: SiteId;
  consent: "given" | "refused";
  connected: boolean;
  onUsed: () => void;
  onConnected: (test: ConnectionTest) => void;
}

/** After a visit to Google's page: its result. An account that is connected already takes the new access with one press. */
function ConsentAnswer({ siteId, consent, connected, onUsed, onConnected }: ConsentAnswerProps) {
  const t = useTranslations("googleAds");
  const { ask, pending, failure, test } = useConnect(siteId);
  const renewed = (passed: ConnectionTest) => {
    onUsed();
    onConnected(passed);
  };
  const renew = () => ask({ path: "rotate", body: {}, done: (count) => t("rotate.done", { count }), onConnected: renewed });
  const isGiven = consent === "given";
  const next = isGiven ? t(connected ? "connect.consentGivenKnown" : "connect.consentGivenNext") : t("connect.consentRefusedNext");
  return (
    <CardBody className="grid gap-3 border-b border-line-1">
      <Alert
        tone={isGiven ? "completed" : "retry"}
        title={t(isGiven ? "connect.consentGiven" : "connect.consentRefused")}
        action={
          isGiven &&
          connected &&
          !test?.ok && (
            <SubmitButton type="button" size="sm" pending={pending} onClick={renew}>
              {t("connect.renewWithConsent")}
            </SubmitButton>
          )
        }
      >
        {next}
      </Alert>
      {failure?.fields.refresh_token ? (
        <Alert tone="failed">{t("connect.consentExpired")}</Alert>
      ) : (
        <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} />
      )}
      {test && !test.ok && <ConnectionChecks test={test} customerId="" failed={t("connect.unsaved")} />}
    </CardBody>
  );
}

interface ConnectedProps extends Pick<ConnectionCardProps, "siteId" | "state" | "timeZone" | "mayChange"> {
  /** What Google refused when the account was connected a moment ago. */
  refused: ConnectionTest | null;
  onConnected: (test: ConnectionTest) => void;
  onReconnect: () => void;
}

function Connected({ siteId, state, timeZone, mayChange, refused, onConnected, onReconnect }: ConnectedProps) {
  const t = useTranslations("googleAds");
  const { ask, pending, failure, test } = useConnect(siteId);
  const shown = test ?? refused;
  return (
    <>
      <CardBody className="grid gap-4">
        <ConnectionFacts state={state} timeZone={timeZone} />
        {mayChange && <p className="text-xs text-meta text-pretty">{t("account.secrets")}</p>}
        <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} />
        {shown && <ConnectionChecks test={shown} customerId={state.account?.customerId ?? ""} failed="" />}
      </CardBody>
      {mayChange && (
        <CardFoot>
          <SubmitButton
            type="button"
            pending={pending}
            onClick={() => ask({ path: "test", done: (count) => (count > 0 ? t("test.passedReleased", { count }) : undefined) })}
          >
            {t("account.test")}
          </SubmitButton>
          <RotateAccess siteId={siteId} customerId={state.account?.customerId ?? ""} onConnected={onConnected} />
          <Button onClick={onReconnect}>{t("account.reconnect")}</Button>
          <Disconnect siteId={siteId} syncMethod={state.syncMethod} />
        </CardFoot>
      )}
    </>
  );
}
