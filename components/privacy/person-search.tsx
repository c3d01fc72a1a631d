"use client";

import { Download, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useSignInAgain } from "#components/auth/sign-in-again.tsx";
import { FormFailure } from "#components/forms/form-failure.tsx";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useFreshSend } from "#components/forms/use-fresh-send.ts";
import { Button } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { Field } from "#components/ui/field.tsx";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { useToast } from "#components/ui/toast.tsx";
import type { AskedPerson, GivenReceipt, PersonPreview } from "#lib/privacy/person.ts";
import { type PersonKind, personKinds } from "#lib/privacy/person-kinds.ts";
import type { SiteId } from "#lib/site.ts";
import { EraseDialog } from "./erase-dialog.tsx";
import { PersonRows } from "./person-rows.tsx";
import { ReceiptCard } from "./receipt-card.tsx";
import { saveFile } from "./save-file.ts";

interface PersonSearchProps {
  siteId: SiteId;
  timeZone: string;
}

interface Found {
  person: AskedPerson;
  preview: Omit<PersonPreview, "visitors" | "phoneHashes">;
}

/** Finds what is stored of a person; then it can be downloaded or erased. */
export function PersonSearch({ siteId, timeZone }: PersonSearchProps) {
  const t = useTranslations("personalData.search");
  const toast = useToast();
  const send = useFreshSend();
  const signInAgain = useSignInAgain();
  const errorText = useErrorText();
  const [kind, setKind] = useState<PersonKind>("phone");
  const [value, setValue] = useState("");
  const [pending, setPending] = useState(false);
  const [saving, setSaving] = useState(false);
  const [failure, setFailure] = useState<SendFailure | null>(null);
  const [found, setFound] = useState<Found | null>(null);
  const [receipt, setReceipt] = useState<GivenReceipt | null>(null);
  const url = `/api/sites/${siteId}/privacy`;

  function clear() {
    setFound(null);
    setReceipt(null);
    setFailure(null);
  }

  async function search(event: FormEvent) {
    event.preventDefault();
    clear();
    setPending(true);
    const person = { kind, value: value.trim() };
    const sent = await send("POST", `${url}/preview`, person);
    setPending(false);
    if (sent.ok)
      setFound({ person, preview: sent.value as Found["preview"] }); // the route's own answer
    else setFailure(sent);
  }

  async function download(person: AskedPerson) {
    setSaving(true);
    const save = () => saveFile(`${url}/export`, person, "person.json");
    let code = await save();
    if (code === "SIGN_IN_AGAIN" && (await signInAgain())) code = await save();
    setSaving(false);
    if (code) toast.failed(errorText(code));
  }

  const wrongValue = failure?.code === "VALIDATION_FAILED";
  const isEmpty = found?.preview.kinds.every(({ rows }) => rows === 0) ?? false;
  return (
    <>
      <Card title={t("title")}>
        <form onSubmit={search}>
          <CardBody className="grid gap-4">
            <p className="text-sm text-support text-pretty">{t("lead")}</p>
            {failure && !wrongValue && <FormFailure code={failure.code} requestId={failure.requestId} />}
            <div className="grid grid-cols-[180px_minmax(0,1fr)] items-start gap-4 max-desk:grid-cols-1">
              <Field label={t("by")}>
                {(control) => (
                  <Select {...control} value={kind} onChange={(event) => setKind(event.target.value as PersonKind)}>
                    {personKinds.map((each) => (
                      <option key={each} value={each}>
                        {t(`kinds.${each}`)}
                      </option>
                    ))}
                  </Select>
                )}
              </Field>
              <Field label={t(`kinds.${kind}`)} hint={t(`hints.${kind}`)} error={wrongValue ? t(`wrong.${kind}`) : undefined}>
                {(control) => (
                  <Input
                    {...control}
                    value={value}
                    onChange={(event) => setValue(event.target.value)}
                    inputMode={kind === "phone" ? "tel" : kind === "email" ? "email" : "text"}
                    autoComplete="off"
                    spellCheck={false}
                    required
                    minLength={3}
                    maxLength={512}
                  />
                )}
              </Field>
            </div>
          </CardBody>
          <CardFoot>
            <SubmitButton tone="primary" pending={pending}>
              <Search className="size-4" />
              {t("submit")}
            </SubmitButton>
          </CardFoot>
        </form>
      </Card>
      {found && !receipt && (
        <Card title={isEmpty ? t("nothing") : t("found")}>
          {isEmpty ? (
            <CardBody>
              <p className="text-sm text-support text-pretty">{t("nothingHint")}</p>
            </CardBody>
          ) : (
            <>
              <PersonRows preview={found.preview} timeZone={timeZone} />
              <CardFoot>
                <Button onClick={() => download(found.person)} disabled={saving}>
                  <Download className="size-4" />
                  {t("download")}
                </Button>
                <EraseDialog url={`${url}/erase`} person={found.person} onErased={setReceipt} />
              </CardFoot>
            </>
          )}
        </Card>
      )}
      {receipt && <ReceiptCard receipt={receipt} timeZone={timeZone} />}
    </>
  );
}
