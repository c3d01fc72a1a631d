"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { CodeBlock } from "./code-block.tsx";

interface DeliveryStepProps {
  site: SiteSummary;
  /** The script with the site and our address in it. */
  script: string;
  hasKey: boolean;
  editable: boolean;
}

const steps = ["paste", "preview", "schedule"] as const;

/** How conversions reach Google: a script that is copied with everything inside, or Google's API. */
export function DeliveryStep({ site: { siteId, ociSyncMethod }, script, hasKey, editable }: DeliveryStepProps) {
  const t = useTranslations("setup.delivery");
  const keys = useTranslations("apiKeys");
  const { send, pending } = useSend();
  const [key, setKey] = useState<string | null>(null);
  if (ociSyncMethod === "api")
    return (
      <>
        <p className="text-sm text-support text-pretty">{t("apiLead")}</p>
        <div>
          <ButtonLink href={connectPath(siteId)} tone="primary">
            {t("connect")}
          </ButtonLink>
        </div>
      </>
    );
  const make = () =>
    send({
      method: "POST",
      url: `/api/sites/${siteId}/api-keys`,
      body: { name: t("keyName"), scopes: ["script"] },
      onDone: (value) => setKey(String(value.key)),
    });
  return (
    <>
      <p className="text-sm text-support text-pretty">{t("lead")}</p>
      {editable && (
        <div className="flex flex-wrap items-center gap-3">
          <SubmitButton type="button" tone="primary" pending={pending} onClick={make}>
            {t("make")}
          </SubmitButton>
          <span className="min-w-60 flex-1 text-sm text-meta text-pretty">{t(hasKey ? "makeAgain" : "makeHint")}</span>
        </div>
      )}
      <ol className="grid list-decimal gap-2 pl-5 text-sm text-pretty">
        {steps.map((step) => (
          <li key={step}>{t(`steps.${step}`)}</li>
        ))}
      </ol>
      <p className="text-sm text-meta text-pretty">
        {t.rich("apiInstead", { link: (text) => <a href={sitePath(siteId, "/connections/google-ads")}>{text}</a> })}
      </p>
      <Dialog
        open={key !== null}
        onOpenChange={(open) => !open && setKey(null)}
        title={t("readyTitle")}
        description={t("readyLead")}
        guarded
      >
        <CodeBlock
          value={script.replace('var OPSMANTIK_API_KEY = ""', `var OPSMANTIK_API_KEY = ${JSON.stringify(key)}`)}
          label={t("keyName")}
          copy={t("copy")}
        />
        <DialogFoot>
          <DialogClose render={<Button />}>{keys("stored")}</DialogClose>
        </DialogFoot>
      </Dialog>
    </>
  );
}
