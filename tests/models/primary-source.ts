/** Google knows a gclid's click exactly and a braid's only in aggregate; wbraid (web) is nearer to our pages than gbraid (app). */
const kinds = ["gclid", "wbraid", "gbraid"] as const;

/** Google takes a click for 90 days. */
const clickLifeMs = 90 * 86_400_000;

export interface Click {
  gclid: string | null;
  wbraid: string | null;
  gbraid: string | null;
  clickedAt: Date;
  marketingConsent: boolean;
}

interface PrimarySource<T extends Click> {
  click: T;
  kind: (typeof kinds)[number];
  id: string;
}

/**
 * The click that a conversion is attributed to, where a conversation had several sessions: the newest one, at most 90 days before
 * the conversion and not after it, whose visitor agreed to marketing. Its ids are all kept; `kind` says which one leads. Clicks
 * of the same moment are told apart by their leading id, so that the order in which they are given does not matter.
 */
export function choosePrimarySource<T extends Click>(clicks: readonly T[], convertedAt: Date): PrimarySource<T> | null {
  const candidates = clicks.flatMap((click) => {
    const ageMs = convertedAt.getTime() - click.clickedAt.getTime();
    const kind = kinds.find((name) => click[name]);
    const id = kind && click[kind];
    return id && click.marketingConsent && ageMs >= 0 && ageMs <= clickLifeMs ? [{ click, kind, id }] : [];
  });
  return candidates.sort(byPrecedence)[0] ?? null;
}

function byPrecedence(a: PrimarySource<Click>, b: PrimarySource<Click>): number {
  return (
    b.click.clickedAt.getTime() - a.click.clickedAt.getTime() ||
    kinds.indexOf(a.kind) - kinds.indexOf(b.kind) ||
    // By code unit, as `collate "C"` does for these ASCII ids.
    (a.id < b.id ? -1 : Number(a.id > b.id))
  );
}
