import { useTranslations } from "next-intl";
import type { ErasureReceipt } from "#lib/privacy/person.ts";
import { dataKinds } from "#lib/privacy/person-kinds.ts";

/** "1 lead, 2 sales, 14 events": what an erasure reached. */
export function useCounts(): (counts: ErasureReceipt["counts"]) => string {
  const t = useTranslations("personalData");
  return (counts) => {
    const parts = dataKinds.flatMap((kind) => (counts[kind] ? [t(`counted.${kind}`, { count: counts[kind] })] : []));
    return parts.length > 0 ? parts.join(", ") : t("receipt.nothing");
  };
}
