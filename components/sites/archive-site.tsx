"use client";

import { useRouter } from "next/navigation";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";

/** Closes the site after its name was typed, so that nobody closes the wrong one. */
export function ArchiveSite({ siteId, name }: { siteId: SiteId; name: string }) {
  const t = useTranslations("archive");
  const router = useRouter();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const matches = typed.trim().toLocaleLowerCase("tr") === name.trim().toLocaleLowerCase("tr");
  const archive = () =>
    send({
      method: "POST",
      url: `/api/sites/${siteId}/archive`,
      done: t("done", { site: name }),
      onDone: () => router.push("/dashboard"),
    });
  return (
    <Card title={t("title")}>
      <CardBody className="flex min-w-0 items-center gap-3 flex-wrap">
        <p className="text-sm text-support min-w-0 flex-1 min-w-60 text-pretty">{t("lead")}</p>
        <Dialog
          open={open}
          onOpenChange={setOpen}
          title={t("question", { site: name })}
          description={t("consequence")}
          trigger={<Button tone="danger">{t("button")}</Button>}
        >
          <Field label={t("typeName", { site: name })} hint={matches ? undefined : t("typeNameHint")}>
            {(control) => <Input {...control} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />}
          </Field>
          <DialogFoot>
            <DialogClose render={<Button />}>{t("keep")}</DialogClose>
            <SubmitButton type="button" tone="destroy" pending={pending} disabled={!matches} onClick={archive}>
              {t("button")}
            </SubmitButton>
          </DialogFoot>
        </Dialog>
      </CardBody>
    </Card>
  );
}
