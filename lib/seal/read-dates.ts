import { momentOf } from "#lib/i18n/zoned-time.ts";

/** Which part of 10/11/2026 is the day. */
export type DateOrder = "dayFirst" | "monthFirst";

/** A cell of a file, with its line number. */
export interface FileCell {
  line: number;
  text: string;
}

/** What a column of dates says about its order. Only dates with slashes or dashes can be read in two ways. */
export interface ColumnOrder {
  /** By a part above 12, which can only be a day. */
  proven?: DateOrder;
  /** The first date that has two readings. */
  ambiguous?: FileCell;
  /** One line of each order: such a column cannot be read. */
  contradiction?: Record<DateOrder, number>;
}

const time = "(?:[ ,T]+(\\d{1,2}):(\\d{2})(?::(\\d{2}))?)?";
const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/;
/** 10.11.2026: where dates have dots, the day stands first. */
const dotted = new RegExp(`^(\\d{1,2})\\.(\\d{1,2})\\.(\\d{4})${time}$`);
const slashed = new RegExp(`^(\\d{1,2})([/-])(\\d{1,2})\\2(\\d{4})${time}$`);

export function columnOrder(cells: FileCell[]): ColumnOrder {
  const lines: Partial<Record<DateOrder, number>> = {};
  let ambiguous: FileCell | undefined;
  for (const cell of cells) {
    const match = slashed.exec(cell.text);
    if (!match) continue;
    const [first, second] = [Number(match[1]), Number(match[3])];
    if (first > 12 && first <= 31 && second <= 12) lines.dayFirst ??= cell.line;
    else if (second > 12 && second <= 31 && first <= 12) lines.monthFirst ??= cell.line;
    else if (first !== second && readMoment(cell.text, "UTC", "dayFirst")) ambiguous ??= cell;
  }
  const { dayFirst, monthFirst } = lines;
  if (dayFirst !== undefined && monthFirst !== undefined) return { contradiction: { dayFirst, monthFirst } };
  if (dayFirst !== undefined) return { proven: "dayFirst" };
  if (monthFirst !== undefined) return { proven: "monthFirst" };
  return ambiguous ? { ambiguous } : {};
}

/**
 * A day and perhaps a time, as files write them, on the site's clock unless it says a zone. A day alone is its noon. A date that has
 * two readings is null with `order` missing; columnOrder has found it before.
 */
export function readMoment(text: string, timeZone: string, order?: DateOrder): string | null {
  const [year, month, day, hour, minute, second, zone] = datePartsOf(text, order) ?? [];
  if (!year) return null;
  const wall = new Date(
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour ?? 12), Number(minute ?? 0), Number(second ?? 0)),
  );
  if (wall.getUTCDate() !== Number(day) || wall.getUTCMonth() !== Number(month) - 1 || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59)
    return null;
  if (!zone) return momentOf(wall, timeZone).toISOString();
  const offset = zone === "Z" ? 0 : (zone.startsWith("-") ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2)));
  return new Date(wall.getTime() - offset * 60_000).toISOString();
}

/** Year, month, day, hour, minute, second and zone, as far as the text has them. */
function datePartsOf(text: string, order: DateOrder | undefined): (string | undefined)[] | null {
  const zoned = iso.exec(text);
  if (zoned) return zoned.slice(1, 8);
  const dots = dotted.exec(text);
  if (dots) return [dots[3], dots[2], dots[1], ...dots.slice(4, 7)];
  const slashes = slashed.exec(text);
  if (!slashes) return null;
  const [, first, , second, year, ...clock] = slashes;
  if (first !== second && !order) return null;
  return order === "monthFirst" ? [year, first, second, ...clock] : [year, second, first, ...clock];
}
