import type { DeskChanges, DeskLead, DeskPage, DeskSale, LeadDetail } from "#lib/leads/desk-shapes.ts";

export interface DeskState {
  /** The page that the server rendered; another one starts afresh. */
  source: DeskPage;
  leads: DeskLead[];
  needsYou: DeskLead[];
  next: string | null;
  open: number;
  todayCount: number;
  /** New leads that wait above the list until nobody touches it. */
  arrived: DeskLead[];
  /** Came while the page was open: marked with a dot. */
  freshIds: ReadonlySet<string>;
  details: Readonly<Record<string, LeadDetail>>;
  /** What to show again if the server refuses. */
  before: Readonly<Record<string, DeskLead>>;
}

export type DeskEvent =
  | { type: "page"; page: DeskPage }
  /** `of`: the asOf of the page it was asked for; an answer that comes after another filter was chosen belongs to nobody. */
  | { type: "older"; page: DeskPage; of: string }
  | { type: "changes"; changes: DeskChanges; isTouched: boolean; of: string }
  | { type: "showArrived" }
  | { type: "expect"; id: string; patch: Partial<DeskLead> }
  | { type: "refused"; id: string }
  /** The server took our change, but how the lead is now could not be read: what the next look finds holds. */
  | { type: "unread"; id: string }
  /** The whole lead as it was read; as the answer to a change of ours it ends the expectation. */
  | { type: "detail"; detail: LeadDetail; isAnswer?: boolean };

const newestFirst = (a: DeskLead, b: DeskLead) => Date.parse(b.calledAt) - Date.parse(a.calledAt) || (a.id < b.id ? 1 : -1);

export function startDesk(page: DeskPage, details: Readonly<Record<string, LeadDetail>> = {}): DeskState {
  const { leads, needsYou, next, open, todayCount } = page;
  return { source: page, leads, needsYou, next, open, todayCount, arrived: [], freshIds: new Set(), details, before: {} };
}

/** A sale that the server has told of. One that is only expected has no id or no version to change it by. */
export const isSaved = ({ id, version }: DeskSale): boolean => id !== "" && version > 0;

export const findIn = ({ leads, needsYou, arrived }: DeskState, id: string | null): DeskLead | undefined =>
  [...needsYou, ...leads, ...arrived].find((lead) => lead.id === id);

function replace(list: DeskLead[], id: string, change: (lead: DeskLead) => DeskLead): DeskLead[] {
  return list.some((lead) => lead.id === id) ? list.map((lead) => (lead.id === id ? change(lead) : lead)) : list;
}

function replaceEverywhere(state: DeskState, id: string, change: (lead: DeskLead) => DeskLead): DeskState {
  return {
    ...state,
    leads: replace(state.leads, id, change),
    needsYou: replace(state.needsYou, id, change),
    arrived: replace(state.arrived, id, change),
  };
}

function withArrived(state: DeskState): DeskState {
  const known = new Set(state.leads.map(({ id }) => id));
  const news = state.arrived.filter(({ id }) => !known.has(id));
  return {
    ...state,
    leads: [...news, ...state.leads].sort(newestFirst),
    arrived: [],
    freshIds: new Set([...state.freshIds, ...news.map(({ id }) => id)]),
    todayCount: state.todayCount + news.length,
  };
}

/** A row that changed changes where it stands, also when the filter would no longer show it: nothing leaves a finger. */
function applyChanges(state: DeskState, { changed, open }: DeskChanges, isTouched: boolean): DeskState {
  let next: DeskState = { ...state, open };
  const oldestShown = state.next === null ? undefined : state.leads.at(-1);
  for (const { matches, ...lead } of changed) {
    const known = findIn(next, lead.id);
    if (known) {
      const isExpected = lead.id in state.before; // our own change is under way: its answer tells
      if (!isExpected && lead.version >= known.version) next = replaceEverywhere(next, lead.id, () => lead);
    } else if (matches && (!oldestShown || newestFirst(lead, oldestShown) < 0)) {
      next = { ...next, arrived: [...next.arrived, lead] };
    }
  }
  return isTouched ? next : withArrived(next);
}

const without = <Value>(record: Readonly<Record<string, Value>>, id: string) =>
  Object.fromEntries(Object.entries(record).filter(([key]) => key !== id));

export function reduceDesk(state: DeskState, event: DeskEvent): DeskState {
  switch (event.type) {
    case "page":
      return startDesk(event.page, state.details);
    case "older": {
      if (event.of !== state.source.asOf) return state;
      const known = new Set(state.leads.map(({ id }) => id));
      return { ...state, next: event.page.next, leads: [...state.leads, ...event.page.leads.filter(({ id }) => !known.has(id))] };
    }
    case "changes":
      if (event.of !== state.source.asOf) return state;
      return event.changes.changed.length === 0 && (event.isTouched || state.arrived.length === 0)
        ? { ...state, open: event.changes.open }
        : applyChanges(state, event.changes, event.isTouched);
    case "showArrived":
      return withArrived(state);
    case "expect": {
      const lead = findIn(state, event.id);
      if (!lead) return state;
      return replaceEverywhere({ ...state, before: { [event.id]: lead, ...state.before } }, event.id, (now) => ({
        ...now,
        ...event.patch,
      }));
    }
    case "refused": {
      const lead = state.before[event.id];
      return lead ? replaceEverywhere({ ...state, before: without(state.before, event.id) }, event.id, () => lead) : state;
    }
    case "unread":
      return { ...state, before: without(state.before, event.id) };
    case "detail": {
      const { detail } = event;
      const isOld = detail.id in state.before || detail.version < (findIn(state, detail.id)?.version ?? 0);
      if (isOld && !event.isAnswer) return state; // read before or while our own change was under way
      const next = { ...state, before: without(state.before, detail.id), details: { ...state.details, [detail.id]: detail } };
      return replaceEverywhere(next, detail.id, () => detail);
    }
  }
}
