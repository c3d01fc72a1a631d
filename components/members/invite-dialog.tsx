"use client";

import { UserPlus } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFocusInvalid } from "#components/forms/use-focus-invalid.ts";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { SiteId } from "#lib/site.ts";
import { type SiteRole, siteRoles } from "#lib/tenancy/site-roles.ts";

export function InviteDialog({ siteId }: { siteId: SiteId }) {
  const t = useTranslations();
  const [open, setOpen] = useState(false);
  const trigger = (
    <Button tone="primary">
      <UserPlus />
      {t("actions.invite")}
    </Button>
  );
  return (
    <Dialog open={open} onOpenChange={setOpen} title={t("members.inviteTitle")} description={t("members.inviteLead")} trigger={trigger}>
      <InviteForm siteId={siteId} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

/** Lives as long as the dialog is open, so each invitation starts with an empty form. */
function InviteForm({ siteId, onDone }: { siteId: SiteId; onDone: () => void }) {
  const t = useTranslations("members");
  const word = useTranslations();
  const roles = useTranslations("roles");
  const errorText = useErrorText();
  const { send, pending } = useSend();
  const [role, setRole] = useState<SiteRole>("operator");
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const form = useFocusInvalid(failure?.fields);
  const emailError = failure?.fields.email;
  const invite = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (pending) return;
    const email = String(new FormData(event.currentTarget).get("email") ?? "").trim();
    setFailure(null);
    void send({
      method: "POST",
      url: `/api/sites/${siteId}/members`,
      body: { email, role },
      done: ({ mailed }) => (mailed === false ? t("invitedNotMailed", { email }) : t("invited", { email })),
      onDone,
      onFailed: setFailure,
    });
  };
  return (
    <form ref={form} onSubmit={invite} noValidate className="grid gap-4">
      <Field label={word("labels.email")} error={emailError && errorText(emailError)}>
        {(control) => <Input {...control} name="email" type="email" autoComplete="off" autoCapitalize="off" />}
      </Field>
      <Field label={t("role")} hint={t(`roleHints.${role}`)}>
        {(control) => (
          <Select
            {...control}
            value={role}
            onChange={(event) => setRole(siteRoles.find((each) => each === event.target.value) ?? "operator")}
          >
            {siteRoles.map((each) => (
              <option key={each} value={each}>
                {roles(each)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <FormFailure code={failure?.code} requestId={failure?.requestId ?? null} fields={failure?.fields} />
      <DialogFoot>
        <DialogClose render={<Button />}>{word("actions.cancel")}</DialogClose>
        <SubmitButton tone="primary" pending={pending}>
          {t("sendInvitation")}
        </SubmitButton>
      </DialogFoot>
    </form>
  );
}
