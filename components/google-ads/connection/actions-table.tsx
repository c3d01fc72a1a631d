"use client";

import { useTranslations } from "next-intl";
import { Badge } from "#components/ui/badge.tsx";
import { CardBody } from "#components/ui/card.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { actionNumber } from "#lib/delivery/action-name.ts";
import type { ActionRow } from "#lib/delivery/action-rows.ts";
import { findingOf } from "#lib/delivery/connection-findings.ts";
import { OnePerClick } from "./action-field.tsx";

/** The chosen actions as they stand. */
export function ActionsTable({ rows }: { rows: ActionRow[] }) {
  const t = useTranslations("googleAds.actions");
  const word = useTranslations();
  const columns = [
    { key: "conversion", header: word("kinds.CONVERSION"), width: "34%" },
    { key: "action", header: t("action") },
    { key: "counting", header: t("counting"), width: "160px" },
    { key: "state", header: word("labels.state"), width: "150px", align: "end" as const },
  ];
  return (
    <>
      <Table label={t("title")} columns={columns}>
        {rows.map((row) => (
          <tr key={row.conversionName}>
            <Cell at="main">
              <ConversionName row={row} />
            </Cell>
            <Cell at="sub">
              {row.action ? (
                <>
                  <span className="id" title={row.action} data-untranslated>
                    {actionNumber(row.action)}
                  </span>
                  <GoogleName row={row} />
                </>
              ) : (
                <span className="text-meta">{t(row.key === "seal" ? "noneSeal" : "none")}</span>
              )}
            </Cell>
            <Cell at="meta">{row.action && <Counting type={row.countingType} />}</Cell>
            <Cell at="end" align="end">
              {row.blocked ? <Badge state="BLOCKED" /> : row.action && <Badge state="COMPLETED">{t("chosen")}</Badge>}
            </Cell>
          </tr>
        ))}
      </Table>
      <Notes rows={rows} />
    </>
  );
}

/** What the conversion is, and below it the name it is sent under. */
function ConversionName({ row: { key, conversionName } }: { row: ActionRow }) {
  const t = useTranslations("googleAds.actions");
  const names = useTranslations("delivery.nameKeys");
  return (
    <>
      {key ? names(key) : t("earlierName")}
      <span className="text-xs text-meta block truncate id" data-untranslated>
        {conversionName}
      </span>
    </>
  );
}

/** Google's own name of the action, where it is not the one we send, or where Google named none. */
function GoogleName({ row: { conversionName, googleName } }: { row: ActionRow }) {
  const t = useTranslations("googleAds.actions");
  if (googleName === conversionName) return null;
  return (
    <span className="text-xs text-meta block">{googleName === null ? t("namedUnknown") : t("namedAtGoogle", { name: googleName })}</span>
  );
}

function Counting({ type }: { type: string | null }) {
  const t = useTranslations("googleAds.actions");
  if (type === "MANY_PER_CLICK" || type === "ONE_PER_CLICK") return t(`countings.${type}`);
  return <span className="text-meta">{t("countingUnknown")}</span>;
}

function Notes({ rows }: { rows: ActionRow[] }) {
  const t = useTranslations("googleAds");
  const refused = rows.filter(({ blocked }) => blocked);
  const isOnce = rows.some(({ countingType }) => countingType === "ONE_PER_CLICK");
  const renamed = rows.filter(({ conversionName, googleName }) => googleName !== null && googleName !== conversionName);
  if (refused.length + renamed.length === 0 && !isOnce) return null;
  return (
    <CardBody className="grid gap-3 border-t border-line-1">
      {refused.map(({ conversionName, blocked }) => {
        const finding = findingOf(blocked?.code ?? "").name;
        return (
          <p key={conversionName} className="text-sm text-support text-pretty">
            <b className="font-semibold">{conversionName}</b> {t(`findings.${finding}.what`)} {t(`findings.${finding}.fix`)}
          </p>
        );
      })}
      {renamed.map(({ conversionName, googleName }) => (
        <p key={conversionName} className="text-sm text-support text-pretty">
          {t("actions.nameDiffers", { ours: conversionName, theirs: googleName ?? "" })}
        </p>
      ))}
      {isOnce && <OnePerClick />}
    </CardBody>
  );
}
