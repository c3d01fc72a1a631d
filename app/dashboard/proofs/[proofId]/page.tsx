import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ProofReceipt } from "#components/contracts/proof-receipt.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { receiptFault } from "#lib/contracts/proof-hash.ts";
import { readProof } from "#lib/contracts/proof-receipt.ts";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("receipt");
  return { title: t("title") };
}

/** The receipt of one move, for every member of its site. */
export default async function ProofPage({ params }: { params: Promise<{ proofId: string }> }) {
  const { proofId } = await params;
  const [t, receipt] = await Promise.all([getTranslations("receipt"), readPage(readProof, proofId)]);
  const site = await getSite(receipt.site);
  return (
    <>
      <PageHeader title={t("title")} note={site.name} />
      <Page>
        <ProofReceipt receipt={receipt} siteName={site.name} timeZone={site.timezone} holds={receiptFault(receipt) === null} />
      </Page>
    </>
  );
}
