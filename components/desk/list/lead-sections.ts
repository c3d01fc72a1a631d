import type { DeskLead } from "#lib/leads/desk-shapes.ts";

export interface LeadSection {
  /** "needsYou", or a day of the site's calendar. */
  key: string;
  leads: DeskLead[];
}

/** What needs somebody first, then day by day. A lead stands in one place only. */
export function leadSections(leads: DeskLead[], needsYou: DeskLead[], dayOf: (at: string) => string): LeadSection[] {
  const onTop = new Set(needsYou.map(({ id }) => id));
  const sections: LeadSection[] = needsYou.length > 0 ? [{ key: "needsYou", leads: needsYou }] : [];
  for (const lead of leads) {
    if (onTop.has(lead.id)) continue;
    const day = dayOf(lead.calledAt);
    const last = sections.at(-1);
    if (last?.key === day) last.leads.push(lead);
    else sections.push({ key: day, leads: [lead] });
  }
  return sections;
}
