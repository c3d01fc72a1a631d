"use client";

import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import type { CallSecretState } from "#lib/ingest/call-secret.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import type { SiteDelivery } from "#lib/tenancy/site-delivery.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SetupStepName, SiteSetup, SetupStep as Step } from "#lib/tenancy/site-setup.ts";
import { ActionsStep } from "./actions-step.tsx";
import { CallsStep } from "./calls-step.tsx";
import { ConsentStep } from "./consent-step.tsx";
import { DeliveryStep } from "./delivery-step.tsx";
import { SetupStep } from "./setup-step.tsx";
import { OpenSite, SnippetStep } from "./snippet-step.tsx";
import { TestStep } from "./test-step.tsx";
import { ValuesStep } from "./values-step.tsx";

export interface SetupListProps {
  site: SiteSummary;
  setup: SiteSetup;
  delivery: SiteDelivery;
  secret: CallSecretState;
  appUrl: string;
  script: string;
}

/** How many lines of help each open step has under `setup.<step>.help`. */
const helpLines: Record<SetupStepName, readonly string[]> = {
  snippet: ["saved", "domain", "csp"],
  clicks: ["redirect", "tagging", "consent"],
  consent: ["order", "update"],
  calls: ["secret", "body", "clock"],
  values: [],
  actions: ["exact", "wait"],
  delivery: ["authorise", "account"],
  test: ["order"],
  delivered: ["age", "where"],
};

/** Every step from the first visit to the first delivered conversion. */
export function SetupList({ site, setup, delivery, secret, appUrl, script }: SetupListProps) {
  const t = useTranslations("setup");
  const editable = site.archivedAt === null;
  const snippet = { site, appUrl, reportsViews: delivery.pageViewsEnabled, editable };
  const contents: Record<SetupStepName, (step: Step) => ReactNode> = {
    snippet: () => <SnippetStep {...snippet} refusedHost={setup.refusedHost} />,
    clicks: () => (
      <>
        <p className="text-sm text-support text-pretty">{t("clicks.lead")}</p>
        <OpenSite domains={site.domains} query="?gclid=OpsMantik-test" label={t("clicks.test")} />
      </>
    ),
    consent: () => <ConsentStep {...snippet} />,
    calls: ({ facts }) => (
      <CallsStep
        site={site}
        appUrl={appUrl}
        secret={secret}
        reports={setup.callReports}
        isSkipped={facts.isSkipped === true}
        editable={editable}
      />
    ),
    values: () => <ValuesStep key={site.currency} site={site} delivery={delivery} editable={editable} />,
    actions: () => <ActionsStep site={site} delivery={delivery} />,
    delivery: () => <DeliveryStep site={site} script={script} hasKey={setup.hasKey} editable={editable} />,
    test: () => <TestStep site={site} lastTest={setup.lastTest} editable={editable} />,
    delivered: () => (
      <>
        <p className="text-sm text-support text-pretty">{t(`delivered.${setup.way}`)}</p>
        <div className="flex flex-wrap gap-2">
          <ButtonLink href={sitePath(site.siteId)} tone="primary">
            {t("delivered.today")}
          </ButtonLink>
          <ButtonLink href={sitePath(site.siteId, "/oci-control")}>{t("delivered.queue")}</ButtonLink>
        </div>
      </>
    ),
  };
  return (
    <ol className="grid gap-3">
      {setup.steps.map((step, index) => (
        <SetupStep
          key={step.step}
          step={step}
          place={index + 1}
          timeZone={site.timezone}
          title={t(`${step.step}.title`)}
          state={stateOf(step, t)}
          help={helpLines[step.step].map((line) => t(`${step.step}.help.${line}` as never))} // every line of the table has its text: messages.test.ts
        >
          {contents[step.step](step)}
        </SetupStep>
      ))}
    </ol>
  );
}

/** What was seen, or what we wait for. */
function stateOf({ step, at, facts }: Step, t: ReturnType<typeof useTranslations<"setup">>): string {
  if (!at) return t(`${step}.open`);
  if (step === "consent" && facts.isOff) return t("consent.doneOff");
  if (step === "calls" && facts.isSkipped) return t("calls.doneSkipped");
  return t(`${step}.done`, { page: facts.page ?? "", name: facts.name ?? "", order: shortOrder(facts.order ?? "") });
}
