import { History } from "lucide-react";
import { useTranslations } from "next-intl";
import { Badge } from "#components/ui/badge.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import type { ScriptRunLine } from "#lib/oci/script/status.ts";

/** What the script asked for lately, newest first. */
export function ScriptRuns({ runs, timeZone }: { runs: ScriptRunLine[]; timeZone: string }) {
  const t = useTranslations("scriptRuns");
  const word = useTranslations();
  const columns = [
    { key: "what", header: word("labels.what") },
    { key: "result", header: word("labels.result"), width: "38%" },
    { key: "version", header: t("version"), width: "90px", priority: 2 as const },
    { key: "at", header: word("labels.when"), width: "130px", align: "end" as const },
  ];
  return (
    <Card title={t("title")} note={runs.length > 0 && t("note")}>
      {runs.length === 0 ? (
        <EmptyState icon={History} title={t("none")}>
          {t("noneNext")}
        </EmptyState>
      ) : (
        <Table label={t("title")} columns={columns}>
          {runs.map((run) => (
            <tr key={`${run.at}/${run.kind}/${run.errorCode}`}>
              <Cell at="main">{t(`kinds.${run.kind}`)}</Cell>
              <Cell at="wide">
                <RunResult run={run} />
              </Cell>
              <Cell at="desk" priority={2}>
                {run.version ?? t("noVersion")}
              </Cell>
              <Cell at="end" align="end">
                <TimeAgo value={run.at} timeZone={timeZone} />
              </Cell>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

function RunResult({ run: { kind, counts, errorCode, times } }: { run: ScriptRunLine }) {
  const t = useTranslations("scriptRuns");
  if (errorCode) return <Badge state="FAILED">{t("failed", { code: errorCode, times })}</Badge>;
  const { seals = 0, signals = 0, pageViews = 0, skipped = 0, updated = 0, items = 0 } = counts;
  if (kind === "verify") return t("verified");
  if (kind === "preview") return t("previewed", { count: items });
  if (kind === "ack" || kind === "ack-failed") return t("answered", { count: updated });
  const others = signals + pageViews;
  return [t("exported", { count: seals }), others > 0 && t("others", { count: others }), skipped > 0 && t("skipped", { count: skipped })]
    .filter(Boolean)
    .join(" · ");
}
