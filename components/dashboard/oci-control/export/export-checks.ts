import type { ExportItem } from "#lib/oci/handout/items.ts";
import { scriptTimePattern } from "#lib/providers/conversion-time.ts";

export type Check = "click" | "clicks" | "value" | "time" | "order" | "name";

/** Our own rules over what would be sent, once more at the last moment: which of them an item breaks. */
export function checkItem(item: ExportItem): Check[] {
  const clicks = [item.gclid, item.wbraid, item.gbraid].filter(Boolean).length;
  const broken: [Check, boolean][] = [
    ["click", clicks === 0],
    ["clicks", Boolean(item.wbraid) && clicks > 1],
    ["value", !(item.conversionValue > 0)],
    ["time", !scriptTimePattern.test(item.conversionTime)],
    ["order", item.orderId.length === 0 || item.orderId.length > 64],
    ["name", item.conversionName.trim() === ""],
  ];
  return broken.flatMap(([check, isBroken]) => (isBroken ? [check] : []));
}
