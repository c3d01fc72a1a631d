"use client";

import { Download, FileUp } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import { sendJson } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { saveText } from "#components/privacy/save-file.ts";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { exampleImport } from "#lib/seal/example-import.ts";
import {
  decodeFile,
  type ImportChoices,
  importBytesMax,
  importRowsMax,
  type ImportQuestions as Questions,
  type ReadImport,
  readImport,
} from "#lib/seal/read-import.ts";
import type { SiteId } from "#lib/site.ts";
import { type ImportLine, importLines, lineReason, previewLines, resultCsv } from "./import-lines.ts";
import { ImportPreview } from "./import-preview.tsx";
import { ImportQuestions } from "./import-questions.tsx";

interface ImportSalesProps {
  siteId: SiteId;
  currency: string;
  timezone: string;
}

type Step =
  | { at: "choose"; problem?: string }
  | { at: "reading" }
  | { at: "questions"; text: string; questions: Questions }
  | { at: "preview"; read: ReadImport; lines: ImportLine[] }
  | { at: "sending"; what: "previewing" | "progress"; done: number; total: number }
  | { at: "done"; lines: ImportLine[]; stopped?: string };

/** A file of sales: chosen, asked about where it has two readings, shown line by line before anything is saved, then imported in steps. */
export function ImportSales({ siteId, currency, timezone }: ImportSalesProps) {
  const t = useTranslations("salesImport");
  const errorText = useErrorText();
  const [step, setStep] = useState<Step>({ at: "choose" });
  const [seal, setSeal] = useState(false);

  const input = useRef<HTMLInputElement>(null);

  const choose = async () => {
    const file = input.current?.files?.[0];
    if (!input.current || !file) return;
    input.current.value = ""; // the same file can be chosen again after it was corrected
    setStep({ at: "reading" });
    if (file.size > importBytesMax) return setStep({ at: "choose", problem: t("tooLarge") });
    const text = decodeFile(await file.arrayBuffer());
    if (text.split("\n").length > importRowsMax + 2) return setStep({ at: "choose", problem: t("tooLarge") });
    const read = readImport(text, { currency, timezone });
    if (read.missing.length > 0)
      return setStep({ at: "choose", problem: t("missing", { fields: read.missing.map((field) => t(`fields.${field}`)).join(", ") }) });
    if (read.contradiction) return setStep({ at: "choose", problem: t("contradiction", read.contradiction) });
    if (read.rows.length + read.problems.length === 0) return setStep({ at: "choose", problem: t("empty") });
    if (Object.keys(read.questions).length > 0) return setStep({ at: "questions", text, questions: read.questions });
    await preview(read);
  };

  const stepsOf = (read: ReadImport, what: "previewing" | "progress") => ({
    read,
    post: (body: Record<string, unknown>) => sendJson("POST", `/api/sites/${siteId}/sales/import`, body),
    onProgress: (done: number) => setStep({ at: "sending", what, done, total: read.rows.length }),
  });

  const preview = async (read: ReadImport) => {
    const { lines, code } = await previewLines(stepsOf(read, "previewing"));
    setStep(code ? { at: "choose", problem: errorText(code) } : { at: "preview", read, lines });
  };

  const saveExample = () => {
    const columns = {
      ref: t("fields.externalRef"),
      date: t("fields.occurredAt"),
      amount: t("fields.amount"),
      currency: t("fields.currency"),
      phone: t("fields.customerPhone"),
      gclid: t("fields.gclid"),
      consent: t("fields.marketingConsent"),
      note: t("fields.note"),
    };
    saveText(exampleImport(columns, currency, new Date()), "sales.csv", "text/csv");
  };

  const answer = (text: string, choices: ImportChoices) => preview(readImport(text, { currency, timezone }, choices));

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for a file that was chosen before the page had woken up
  useEffect(() => void choose(), []);

  const commit = async (read: ReadImport) => {
    const total = read.rows.length;
    const { lines, code } = await importLines(stepsOf(read, "progress"), seal);
    const saved = lines.filter((line) => line.row !== null).length;
    setStep({ at: "done", lines, ...(code && { stopped: `${errorText(code)} ${t("interrupted", { done: saved, total })}` }) });
  };

  if (step.at === "questions")
    return (
      <ImportQuestions
        questions={step.questions}
        onAnswer={(choices) => answer(step.text, choices)}
        onCancel={() => setStep({ at: "choose" })}
      />
    );
  if (step.at === "preview")
    return (
      <PreviewCard
        {...step}
        currency={currency}
        timezone={timezone}
        seal={seal}
        onSeal={setSeal}
        onCancel={() => setStep({ at: "choose" })}
        onCommit={() => commit(step.read)}
      />
    );
  if (step.at === "sending")
    return (
      <Card title={t("title")}>
        <CardBody className="grid gap-3" role="status">
          <progress className="w-full" value={step.done} max={step.total} aria-label={t("title")} />
          <p className="text-sm text-support">{t(step.what, { done: step.done, total: step.total })}</p>
        </CardBody>
      </Card>
    );
  if (step.at === "done") return <DoneCard {...step} siteId={siteId} timezone={timezone} />;
  return (
    <Card title={t("title")}>
      <CardBody className="grid gap-3">
        {step.at === "choose" && step.problem && <Alert tone="failed">{step.problem}</Alert>}
        <label className="grid cursor-pointer justify-items-center gap-2 rounded-md border border-dashed border-control px-4 py-6 text-center outline-offset-2 hover:bg-surface-2 has-focus-visible:outline-2 has-focus-visible:outline-focus">
          <FileUp className="size-4.5" />
          <span className="font-semibold">{step.at === "reading" ? t("reading") : t("choose")}</span>
          <span className="text-sm text-pretty text-meta">{t("chooseHint")}</span>
          <input
            ref={input}
            type="file"
            accept=".csv,text/csv,.txt,text/plain"
            className="sr-only"
            onChange={choose}
            disabled={step.at === "reading"}
          />
        </label>
        <Button size="sm" tone="ghost" className="justify-self-start" onClick={saveExample}>
          <Download className="size-3.5" />
          {t("example")}
        </Button>
      </CardBody>
    </Card>
  );
}

interface PreviewCardProps {
  read: ReadImport;
  lines: ImportLine[];
  currency: string;
  timezone: string;
  seal: boolean;
  onSeal: (seal: boolean) => void;
  onCancel: () => void;
  onCommit: () => void;
}

function PreviewCard({ read, lines, currency, timezone, seal, onSeal, onCancel, onCommit }: PreviewCardProps) {
  const t = useTranslations("salesImport");
  const format = siteFormat({ locale: useLocale(), timeZone: timezone, currency });
  const fresh = lines.filter((line) => line.result === "created");
  const count = (result: ImportLine["result"]) => lines.filter((line) => line.result === result).length;
  // A file in several currencies has no one sum; the site's own is shown.
  const sum = fresh.reduce((total, { row }) => total + (row?.currency === currency ? row.amountCents : 0), 0);
  return (
    <Card title={t("preview")}>
      <CardBody className="grid gap-3">
        <p className="text-pretty" role="status">
          {t("summary", {
            count: fresh.length,
            amount: format.money(sum),
            matched: fresh.filter((line) => line.matchedBy).length,
            known: count("known"),
            refused: count("refused"),
          })}
        </p>
        <p className="text-xs text-meta">{t("found", { fields: read.found.map((field) => t(`fields.${field}`)).join(", ") })}</p>
      </CardBody>
      <ImportPreview lines={lines} timeZone={timezone} />
      <CardFoot className="grid">
        <Checkbox checked={seal} onChange={(event) => onSeal(event.target.checked)}>
          {t("sealNow")}
        </Checkbox>
        <p className="text-xs text-pretty text-meta">{t("sealNowHint")}</p>
        <div className="flex min-w-0 items-center gap-2">
          <SubmitButton type="button" tone="primary" disabled={fresh.length === 0 && !(seal && count("known") > 0)} onClick={onCommit}>
            {t("submit", { count: fresh.length + (seal ? count("known") : 0) })}
          </SubmitButton>
          <Button onClick={onCancel}>{t("cancel")}</Button>
        </div>
      </CardFoot>
    </Card>
  );
}

function DoneCard({ lines, stopped, siteId, timezone }: { lines: ImportLine[]; stopped?: string; siteId: SiteId; timezone: string }) {
  const t = useTranslations("salesImport");
  const refused = lines.filter((line) => line.result === "refused").length;
  const download = () => {
    const words = (line: ImportLine) => (line.result === "refused" ? t(`problems.${lineReason(line)}`) : t(`results.${line.result}`));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", resultCsv(lines, words)], { type: "text/csv" }));
    link.download = "import-result.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <Card title={t("title")}>
      <CardBody className="grid gap-3">
        {stopped && <Alert tone="failed">{stopped}</Alert>}
        <Alert tone={refused > 0 ? "retry" : "completed"}>{t("done", { saved: lines.length - refused, refused })}</Alert>
        <div className="flex min-w-0 flex-wrap items-center gap-2">
          <Button onClick={download}>
            <Download className="size-3.5" />
            {t("download")}
          </Button>
          <ButtonLink href={sitePath(siteId, "/sales")} tone="primary">
            {t("toSales")}
          </ButtonLink>
        </div>
      </CardBody>
      <ImportPreview lines={lines} timeZone={timezone} />
    </Card>
  );
}
