"use client";

import { useLocale, useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { CardBody } from "#components/ui/card.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { PersonPreview } from "#lib/privacy/person.ts";

interface PersonRowsProps {
  preview: Omit<PersonPreview, "visitors" | "phoneHashes">;
  timeZone: string;
}

/** How much is stored of a person, kind by kind, without saying what. */
export function PersonRows({ preview, timeZone }: PersonRowsProps) {
  const t = useTranslations("personalData");
  const word = useTranslations("labels");
  const format = siteFormat({ locale: useLocale(), timeZone });
  const span = (firstAt: string | null, lastAt: string | null) => {
    if (firstAt === null || lastAt === null) return null;
    const [first, last] = [format.date(firstAt), format.date(lastAt)];
    return first === last ? first : t("search.span", { first, last });
  };
  const columns = [
    { key: "what", header: word("what") },
    { key: "rows", header: t("search.rows"), width: "96px", align: "end" as const },
    { key: "when", header: word("when"), width: "240px" },
  ];
  return (
    <>
      <Table label={t("search.found")} columns={columns}>
        {preview.kinds
          .filter(({ rows }) => rows > 0)
          .map(({ kind, rows, firstAt, lastAt }) => (
            <tr key={kind}>
              <Cell at="main" roomy>
                {t(`data.${kind}`)}
              </Cell>
              <Cell at="end" align="end" className="tabular-nums">
                {format.number(rows)}
              </Cell>
              <Cell at="sub" className="text-meta">
                {span(firstAt, lastAt)}
              </Cell>
            </tr>
          ))}
      </Table>
      {(preview.atGoogle > 0 || preview.inFlight > 0) && (
        <CardBody>
          <Alert tone="retry">
            {preview.atGoogle > 0 && t("search.atGoogle", { count: preview.atGoogle })}{" "}
            {preview.inFlight > 0 && t("search.inFlight", { count: preview.inFlight })}
          </Alert>
        </CardBody>
      )}
    </>
  );
}
