/** Making an Intl formatter costs some fifty times what using it does; a table of a hundred rows needs the same five again and again. */
const dates = new Map<string, Intl.DateTimeFormat>();
const numbers = new Map<string, Intl.NumberFormat>();

export function dateFormat(tag: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = tag + JSON.stringify(options);
  const format = dates.get(key) ?? new Intl.DateTimeFormat(tag, options);
  dates.set(key, format);
  return format;
}

export function numberFormat(tag: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat {
  const key = tag + JSON.stringify(options);
  const format = numbers.get(key) ?? new Intl.NumberFormat(tag, options);
  numbers.set(key, format);
  return format;
}
