"use client";

import { useTranslations } from "next-intl";
import { Cell, Table } from "#components/ui/table.tsx";
import { DateText } from "#components/ui/time.tsx";
import type { ErasureReceipt } from "#lib/privacy/person.ts";
import { useCounts } from "./use-counts.ts";

interface ReceiptTableProps {
  receipts: ErasureReceipt[];
  timeZone: string;
}

/** Erasures of the past. Whom they were about is known to nobody but those who kept the salt. */
export function ReceiptTable({ receipts, timeZone }: ReceiptTableProps) {
  const t = useTranslations("personalData");
  const word = useTranslations("labels");
  const counts = useCounts();
  const columns = [
    { key: "when", header: word("when"), width: "128px" },
    { key: "who", header: word("who"), width: "180px", priority: 2 as const },
    { key: "what", header: word("what") },
    { key: "hash", header: t("receipt.hash"), width: "150px", priority: 3 as const },
  ];
  return (
    <Table label={t("receipts.title")} columns={columns}>
      {receipts.map((receipt) => (
        <tr key={receipt.id}>
          <Cell at="end">
            <DateText value={receipt.startedAt} timeZone={timeZone} />
          </Cell>
          <Cell at="sub" priority={2} data-untranslated>
            {receipt.actor.kind === "system" ? t("receipts.operator") : (receipt.actor.name ?? t("receipts.someone"))}
          </Cell>
          <Cell at="main" roomy>
            {receipt.finishedAt === null ? t("receipts.interrupted") : counts(receipt.counts)}
          </Cell>
          <Cell at="desk" priority={3} title={receipt.identifierHash ?? undefined}>
            <code className="text-meta">{receipt.identifierHash?.slice(0, 12)}</code>
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
