import { leadChannels } from "#lib/channels.ts";
import { chartRanges, queueKinds, queueStatuses, verdicts } from "#lib/oci/queue-types.ts";
import type { QueueCharts } from "./charts.ts";
import { type DaySpanLength, daySpans, isDay } from "./day-span.ts";

/** What OCI Control shows, as its address says it. Page and browser read the address with the same rules, and never trust it. */

export const periods = ["1", "7", "30", "90"] as const;

const oneOf =
  (...words: string[]) =>
  (text: string) =>
    words.includes(text);
const matching = (pattern: RegExp) => (text: string) => pattern.test(text);

/** `days` is the page's own word: the API takes a moment, an address that is shared tomorrow wants a length. */
const filterRules = {
  status: oneOf(...queueStatuses),
  stuck: oneOf("true"),
  waitingForDelay: oneOf("true"),
  errorCode: matching(/^[A-Z][A-Z0-9_]{0,63}$/),
  channel: oneOf(...leadChannels),
  kind: oneOf(...queueKinds),
  minValue: matching(/^\d{1,11}$/),
  maxValue: matching(/^\d{1,11}$/),
  verdict: oneOf(...verdicts),
  sentFrom: isDay,
  sentTo: isDay,
  minAttempts: matching(/^[1-9]\d?$/),
  days: oneOf(...periods),
  q: (text: string) => text.trim().length > 0 && text.length <= 512,
} satisfies Record<string, (text: string) => boolean>;

type FilterKey = keyof typeof filterRules;
export type ViewFilter = Partial<Record<FilterKey, string>>;
const filterKeys = Object.keys(filterRules) as FilterKey[]; // the object above has no other keys

const tabs = ["queue", "days", "export"] as const;

/** Which days the report shows: a length that ends today, or two days. */
export type ViewSpan = { last: DaySpanLength } | { from: string; to: string };

export interface ControlView {
  tab: (typeof tabs)[number];
  filter: ViewFilter;
  sort: "created" | "updated";
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
  const filter: ViewFilter = {};
  for (const key of filterKeys) {
    const value = params.get(key);
    if (value !== null && filterRules[key](value)) filter[key] = value;
  }
  const row = params.get("row");
  return {
    tab: tabs.find((tab) => tab === params.get("tab")) ?? "queue",
    filter,
    sort: params.get("sort") === "updated" ? "updated" : "created",
    range: chartRanges.find((range) => range === params.get("range")) ?? "30d",
    span: readSpan(params),
    row: row && uuid.test(row) ? row : null,
  };
}

/** The shortest address that shows the same again. */
export function writeView({ tab, filter, sort, range, span, row }: ControlView): string {
  const params = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  if (tab !== "queue") params.set("tab", tab);
  if (sort === "updated") params.set("sort", sort);
  if (range !== "30d") params.set("range", range);
  if ("from" in span) {
    params.set("from", span.from);
    params.set("to", span.to);
  } else if (span.last !== "30") params.set("last", span.last);
  if (row) params.set("row", row);
  return params.size > 0 ? `?${params}` : "?";
}

const dayMs = 86_400_000;

/** The filter as the API takes it, in an address and in a preview alike. */
export function apiFilter({ days, ...filter }: ViewFilter, now: Date): Record<string, string> {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  return days ? { ...given, createdFrom: new Date(now.getTime() - Number(days) * dayMs).toISOString() } : given;
}

/** How many filters are on; a search shows itself. */
export const filterCount = ({ q: _, ...filter }: ViewFilter) => Object.values(filter).filter(Boolean).length;
