import type { ConnectionState } from "./connection-shapes.ts";

/** What a conversion is, as the settings name it. Page views go by script only. */
const conversionKeys = ["seal", "MEETING_BOOKED", "SEAL_PENDING", "INTENT_CAPTURED"] as const;
type ConversionKey = (typeof conversionKeys)[number];

export interface ActionRow {
  /** Null for a name that the site used before: conversions sent under it keep it. */
  key: ConversionKey | null;
  conversionName: string;
  action: string | null;
  /** Google's name of the action; null where we do not know it. */
  googleName: string | null;
  countingType: string | null;
  blocked: ConnectionState["actions"][number]["blocked"];
}

interface Names {
  conversionNames: Record<ConversionKey | "page_view", string>;
  signalsEnabled: boolean;
}

type Chosen = Pick<ConnectionState, "actions" | "missingActions">;

/** One row for each conversion that needs an action, in the order of the settings; earlier names last. */
export function actionRows({ actions, missingActions }: Chosen, { conversionNames, signalsEnabled }: Names): ActionRow[] {
  const rowOf = (key: ConversionKey | null, conversionName: string): ActionRow => {
    const {
      action = null,
      googleName = null,
      countingType = null,
      blocked = null,
    } = actions.find((each) => each.conversionName === conversionName) ?? {};
    return { key, conversionName, action, googleName, countingType, blocked };
  };
  const current = conversionKeys.map((key) => rowOf(key, conversionNames[key]));
  const taken = [conversionNames.page_view, ...current.map((row) => row.conversionName)];
  const earlier = [...missingActions, ...actions.map(({ conversionName }) => conversionName)].filter((name) => !taken.includes(name));
  return [
    ...current.filter(({ key, action }) => key === "seal" || signalsEnabled || action !== null),
    ...earlier.map((conversionName) => rowOf(null, conversionName)),
  ];
}
