/** What a session has shown, and what each is worth. The database computes the score itself (sessions.lead_score). */
export interface LeadSigns {
  conversion: boolean;
  interaction: boolean;
  scrollDepth: number;
  hoverIntent: boolean;
  google: boolean;
  returningAdUser: boolean;
}

const scoreMax = 100;

/** The points of each sign that was seen, by the name under which an operator's screen explains it. */
export function scoreBreakdown(signs: LeadSigns): Record<string, number> {
  const points: [name: string, seen: boolean, points: number][] = [
    ["conversion", signs.conversion, 50],
    ["interaction", signs.interaction, 10],
    ["scroll50", signs.scrollDepth >= 50, 10],
    ["scroll90", signs.scrollDepth >= 90, 20],
    ["hoverIntent", signs.hoverIntent, 15],
    ["google", signs.google, 5],
    ["returningAdUser", signs.returningAdUser, 25],
  ];
  return Object.fromEntries(points.filter(([, seen]) => seen).map(([name, , value]) => [name, value]));
}

export function leadScore(signs: LeadSigns): number {
  const sum = Object.values(scoreBreakdown(signs)).reduce((total, points) => total + points, 0);
  return Math.min(sum, scoreMax);
}
