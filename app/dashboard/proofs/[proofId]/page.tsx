import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ProofLinks } from "#components/contracts/proof-links.tsx";
import { ProofReceipt } from "#components/contracts/proof-receipt.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { SiteInView } from "#components/shell/site-in-view.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { receiptFault } from "#lib/contracts/proof-hash.ts";
import { readProof } from "#lib/contracts/proof-receipt.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("receipt");
  return { title: t("title") };
}

/** The receipt of one move, for every member of its site. */
async function ProofPage({ params }: { params: Promise<{ proofId: string }> }) {
  const { proofId } = await params;
  const [t, nav, receipt] = await Promise.all([getTranslations("receipt"), getTranslations("nav"), readPage(readProof, proofId)]);
  const site = await getSite(receipt.site);
  return (
    <>
      <SiteInView siteId={site.siteId} />
      <PageHeader title={t("title")} note={site.name} back={{ href: sitePath(site.siteId, "/activity"), label: nav("activity") }}>
        <ProofLinks siteId={site.siteId} receipt={receipt} />
      </PageHeader>
      <Page>
        <ProofReceipt receipt={receipt} siteName={site.name} timeZone={site.timezone} holds={receiptFault(receipt) === null} />
      </Page>
    </>
  );
}

export default withMessages("dashboard/proofs/[proofId]/page", ProofPage);
