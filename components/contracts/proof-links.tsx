import { useTranslations } from "next-intl";
import { leadPath, rowPath, salePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import type { ProofReceipt } from "#lib/contracts/receipt-shape.ts";
import type { SiteId } from "#lib/site.ts";

/** From a receipt back to what it is about. */
export function ProofLinks({ siteId, receipt: { contract, entity_id: id, facts } }: { siteId: SiteId; receipt: ProofReceipt }) {
  const t = useTranslations();
  const saleId = contract === "sale" ? id : saleOf(facts);
  const links = [
    (contract === "call" || contract === "lead") && ([leadPath(siteId, id), t("actions.openLead")] as const),
    saleId !== null && ([salePath(siteId, saleId), t("actions.openSale")] as const),
    contract === "conversion" && ([rowPath(siteId, id), t("actions.row")] as const),
  ];
  return links
    .filter((link) => link !== false)
    .map(([href, label]) => (
      <ButtonLink key={href} href={href} size="sm" prefetch={false}>
        {label}
      </ButtonLink>
    ));
}

/** Facts are kept as the text that was hashed. */
function saleOf(facts: string): string | null {
  const [, found] = /"saleId": ?"([0-9a-f-]{36})"/.exec(facts) ?? [];
  return found ?? null;
}
