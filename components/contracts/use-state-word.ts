import { useTranslations } from "next-intl";
import { saleStates } from "#lib/contracts/states.ts";

/** A stored state of a lead, a sale or a queue row in words. A contract may name more than the screens know. */
export function useStateWord(): (state: string) => string {
  const t = useTranslations("states");
  return (state) => {
    const key = (state in saleStates ? saleStates[state as keyof typeof saleStates] : state) as Parameters<typeof t>[0]; // has() checks it
    return t.has(key) ? t(key) : state;
  };
}
