import { leadChannels } from "#lib/channels.ts";
import { chartRanges, type QueueSort, queueKinds, queueSorts, queueStatuses, verdicts } from "#lib/oci/queue-types.ts";
import type { QueueCharts } from "./charts.ts";
import { type DaySpanLength, daySpans, isDay, lastDays, todayIn } from "./day-span.ts";
import type { QueueStats } from "./stats.ts";

/** What OCI Control shows, as its address says it. Page and browser read the address with the same rules, and never trust it. */

/** Rows of a page; more come when asked for. */
export const rowsPerPage = 50;

/** `words`: the messages that name its options, by value or with {count}. A pattern where the page itself knows the options. */
interface QueueField {
  key: string;
  kind: "choice" | "day" | "money" | "flag";
  options?: readonly string[];
  pattern?: RegExp;
  words?: string;
  isChip?: true;
  isHalf?: true;
}

/** States as the screen tells them apart: WAITING is QUEUED and RETRY, and FAILED is without what was closed on purpose (NOT_SENT). */
export const viewStates = [...queueStatuses, "NOT_SENT", "WAITING"] as const;

/** `days` exists only in the page's address, so that a link shared today still means "the last 7 days" tomorrow; the API takes a moment. */
export const queueFields = [
  { key: "status", kind: "choice", options: viewStates, words: "states", isChip: true },
  { key: "errorCode", kind: "choice", pattern: /^[A-Z][A-Z0-9_]{0,63}$/, isChip: true },
  { key: "days", kind: "choice", options: ["1", "7", "30", "90"], words: "oci.filters.lastDays", isChip: true },
  { key: "channel", kind: "choice", options: leadChannels, words: "channels", isHalf: true },
  { key: "kind", kind: "choice", options: queueKinds, words: "kinds", isHalf: true },
  { key: "minValue", kind: "money", isHalf: true },
  { key: "maxValue", kind: "money", isHalf: true },
  { key: "verdict", kind: "choice", options: verdicts, words: "states", isHalf: true },
  {
    key: "minAttempts",
    kind: "choice",
    options: ["2", "3", "4", "5"],
    pattern: /^[1-9]\d?$/,
    words: "oci.filters.attemptsFrom",
    isHalf: true,
  },
  { key: "sentFrom", kind: "day", isHalf: true },
  { key: "sentTo", kind: "day", isHalf: true },
  { key: "stuck", kind: "flag" },
  { key: "waitingForDelay", kind: "flag" },
] as const satisfies readonly QueueField[];

export type FieldKey = (typeof queueFields)[number]["key"];
export type ViewFilter = Partial<Record<FieldKey | "q", string>>;

function accepts({ kind, options, pattern }: QueueField, text: string): boolean {
  if (kind === "day") return isDay(text);
  if (kind === "money") return /^\d{1,11}$/.test(text);
  if (kind === "flag") return text === "true";
  return pattern?.test(text) ?? options?.includes(text) ?? false;
}

function readFilter(params: URLSearchParams): ViewFilter {
  const filter: ViewFilter = {};
  for (const field of queueFields) {
    const value = params.get(field.key);
    if (value !== null && accepts(field, value)) filter[field.key] = value;
  }
  const q = params.get("q");
  return q?.trim() && q.length <= 512 ? { ...filter, q } : filter;
}

const tabs = ["queue", "days", "export"] as const;

/** Which days the report shows: a length that ends today, or two days. */
export type ViewSpan = { last: DaySpanLength } | { from: string; to: string };

/** The first and the last day of a span. */
export const spanDays = (span: ViewSpan, timeZone: string, now: Date): { from: string; to: string } =>
  "from" in span ? span : lastDays(span.last, todayIn(timeZone, now));

export interface ControlView {
  tab: (typeof tabs)[number];
  filter: ViewFilter;
  sort: QueueSort;
  range: QueueCharts["range"];
  span: ViewSpan;
  /** The row whose story is open. */
  row: string | null;
}

function readSpan(params: URLSearchParams): ViewSpan {
  const from = params.get("from") ?? "";
  const to = params.get("to") ?? "";
  if (isDay(from) && isDay(to) && from <= to) return { from, to };
  return { last: daySpans.find((length) => length === params.get("last")) ?? "30" };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function readView(params: URLSearchParams): ControlView {
  const row = params.get("row");
  return {
    tab: tabs.find((tab) => tab === params.get("tab")) ?? "queue",
    filter: readFilter(params),
    sort: queueSorts.find((sort) => sort === params.get("sort")) ?? "created",
    range: chartRanges.find((range) => range === params.get("range")) ?? "30d",
    span: readSpan(params),
    row: row && uuid.test(row) ? row : null,
  };
}

/** The shortest address that shows the same. */
export function writeView({ tab, filter, sort, range, span, row }: ControlView): string {
  const params = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  if (tab !== "queue") params.set("tab", tab);
  if (sort !== "created") params.set("sort", sort);
  if (range !== "30d") params.set("range", range);
  if ("from" in span) {
    params.set("from", span.from);
    params.set("to", span.to);
  } else if (span.last !== "30") params.set("last", span.last);
  if (row) params.set("row", row);
  return params.size > 0 ? `?${params}` : "?";
}

const dayMs = 86_400_000;

const apiStates: Partial<Record<string, Record<string, string>>> = {
  FAILED: { status: "FAILED", notSent: "false" },
  NOT_SENT: { status: "FAILED", notSent: "true" },
  WAITING: { waiting: "true" },
};

/** The filter as the API takes it, in an address and in a preview alike. */
export function apiFilter({ days, status, ...filter }: ViewFilter, now: Date): Record<string, string> {
  const state = status ? (apiStates[status] ?? { status }) : {};
  const given = { ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value)), ...state };
  return days ? { ...given, createdFrom: new Date(now.getTime() - Number(days) * dayMs).toISOString() } : given;
}

/** How many rows a state of the screen holds. */
export function countOf({ totals, notSent }: Pick<QueueStats, "totals" | "notSent">, state: (typeof viewStates)[number]): number {
  if (state === "NOT_SENT") return notSent;
  if (state === "WAITING") return totals.QUEUED + totals.RETRY;
  return state === "FAILED" ? totals.FAILED - notSent : totals[state];
}

/** How many filters are on; a search shows itself. */
export const filterCount = ({ q: _, ...filter }: ViewFilter) => Object.values(filter).filter(Boolean).length;
