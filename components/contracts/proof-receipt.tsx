import { ArrowRight } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { AsTable } from "#components/ui/as-table.tsx";
import { Badge, Tag } from "#components/ui/badge.tsx";
import { Card, CardBody, CardFoot } from "#components/ui/card.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import { Facts } from "#components/ui/facts.tsx";
import { Id, paper } from "#components/ui/paper.tsx";
import type { ProofReceipt as Receipt } from "#lib/contracts/receipt-shape.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { CheckReceipt } from "./check-receipt.tsx";
import { SaveReceipt } from "./save-receipt.tsx";
import { useStateWord } from "./use-state-word.ts";

interface ProofReceiptProps {
  receipt: Receipt;
  siteName: string;
  timeZone: string;
  /** Whether the receipt held when it was hashed again for this page. */
  holds: boolean;
}

/** One move as a document to keep: what happened, who did it, its hash and its block. Copied as the JSON that a program checks. */
export function ProofReceipt({ receipt, siteName, timeZone, holds }: ProofReceiptProps) {
  const t = useTranslations("receipt");
  const word = useTranslations();
  const format = siteFormat({ locale: useLocale(), timeZone });
  const stateWord = useStateWord();
  const { block } = receipt;
  const text = JSON.stringify(receipt, null, 2);
  return (
    <Card
      title={t("card")}
      end={block ? <Badge state="CONFIRMED">{t("inBlock")}</Badge> : <Badge state="QUEUED">{t("waiting")}</Badge>}
      className={paper}
    >
      <CardBody className="grid gap-4">
        {holds ? null : (
          <Alert tone="failed" title={t("broken")}>
            {t("brokenNext")}
          </Alert>
        )}
        <Facts
          facts={[
            [word("nav.site"), siteName],
            [
              t("move"),
              <span key="move" className="flex min-w-0 items-center gap-2 flex-wrap">
                {word(contractOf(receipt))}
                {receipt.from && <Tag>{stateWord(receipt.from)}</Tag>}
                <ArrowRight className="size-3.5 text-meta" aria-label={t("becomes")} />
                <Tag>{stateWord(receipt.to)}</Tag>
              </span>,
            ],
            [
              word("labels.when"),
              <time key="at" dateTime={receipt.occurred_at} title={receipt.occurred_at}>{`${format.dateTime(receipt.occurred_at)}`}</time>,
            ],
            [word("labels.who"), t(`actors.${receipt.actor_kind}`)],
            [t("block"), block ? t("blockNumber", { number: block.number, at: format.dateTime(block.sealed_at) }) : t("noBlock")],
          ]}
        />
      </CardBody>
      <AsTable summary={t("details")}>
        <CardBody>
          <Facts
            facts={[
              [word("labels.record"), <Id key="record">{`${receipt.contract} ${receipt.entity_id}`}</Id>],
              [t("move"), <Id key="move">{`${receipt.from ?? "–"} → ${receipt.to}`}</Id>],
              [word("labels.who"), <Id key="who">{`${receipt.actor_kind} ${receipt.actor_id ?? ""}`}</Id>],
              [t("facts"), <Id key="facts">{receipt.facts}</Id>],
              [t("proofId"), <Id key="id">{receipt.proof_id}</Id>],
              [t("version"), <Id key="version">{receipt.contract_version}</Id>],
              [t("hash"), <Id key="hash">{receipt.hash}</Id>],
              [t("request"), <Id key="request">{receipt.request_hash ?? "–"}</Id>],
              ...(block
                ? [
                    [t("root"), <Id key="root">{block.root}</Id>] as const,
                    [t("previousRoot"), <Id key="previous">{block.previous_root}</Id>] as const,
                  ]
                : []),
            ]}
          />
        </CardBody>
      </AsTable>
      <CardFoot className="print:hidden">
        <SaveReceipt proofId={receipt.proof_id} text={text} label={word("personalData.receipt.download")} />
        <CopyButton value={text} label={t("copy")} />
        <CheckReceipt />
      </CardFoot>
    </Card>
  );
}

function contractOf({ contract }: Receipt) {
  if (contract === "conversion") return "kinds.CONVERSION";
  return contract === "call" ? "labels.lead" : contract === "sale" ? "labels.sale" : "labels.record";
}
