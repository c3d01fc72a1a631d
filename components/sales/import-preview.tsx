"use client";

import { useLocale, useTranslations } from "next-intl";
import { Badge } from "#components/ui/badge.tsx";
import { CardFoot } from "#components/ui/card.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { type ImportLine, lineReason } from "./import-lines.ts";

/** A page of lines is enough to see whether the file was understood; the result file has them all. */
const shownMax = 50;

const looks = { created: "QUEUED", known: "RETRY", sealed: "COMPLETED", refused: "FAILED" } as const;

/** What each line would do, or did; lines with a problem first. */
export function ImportPreview({ lines, timeZone }: { lines: ImportLine[]; timeZone: string }) {
  const t = useTranslations("salesImport");
  const word = useTranslations();
  const locale = useLocale();
  const { dateTime } = siteFormat({ locale, timeZone });
  const ordered = [...lines].sort((a, b) => Number(b.result === "refused") - Number(a.result === "refused") || a.line - b.line);
  const columns = [
    { key: "line", header: word("labels.line"), width: "70px" },
    { key: "ref", header: t("ref"), width: "24%" },
    { key: "date", header: t("date"), width: "170px", priority: 3 as const },
    { key: "amount", header: word("labels.amount"), width: "130px", align: "end" as const },
    { key: "result", header: word("labels.result") },
  ];
  const reasonOf = (line: ImportLine) => {
    if (line.result === "refused") return t(`problems.${lineReason(line)}`);
    return line.matchedBy ? t(`matched.${line.matchedBy}`) : t("unmatched");
  };
  return (
    <>
      <Table label={t("preview")} columns={columns}>
        {ordered.slice(0, shownMax).map((line) => (
          <tr key={line.line}>
            <Cell at="desk" className="text-meta">
              {line.line}
            </Cell>
            <Cell at="main" className="id" data-untranslated>
              {line.ref || "–"}
            </Cell>
            <Cell at="desk" priority={3} className="text-support">
              {line.row ? dateTime(line.row.occurredAt) : "–"}
            </Cell>
            <Cell at="end" align="end">
              {line.row ? siteFormat({ locale, timeZone, currency: line.row.currency }).money(line.row.amountCents) : "–"}
            </Cell>
            <Cell at="wide">
              <span className="flex min-w-0 items-center gap-2">
                <Badge state={looks[line.result]}>{t(`results.${line.result}`)}</Badge>
                <span className="min-w-0 truncate text-meta">{reasonOf(line)}</span>
              </span>
            </Cell>
          </tr>
        ))}
      </Table>
      {lines.length > shownMax && <CardFoot className="text-xs text-meta">{t("shownFirst", { count: shownMax })}</CardFoot>}
    </>
  );
}
