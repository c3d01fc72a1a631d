const fields = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12 },
  { name: "day of week", min: 0, max: 7 },
] as const;

/** Whether a five-field cron expression is due in the given minute, in UTC, as Vercel reads it. */
export function cronMatches(expression: string, at: Date): boolean {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== fields.length) throw new Error(`"${expression}" must have five fields.`);
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields.map((field, i) => valuesOf(parts[i] ?? "", field, expression));
  const isDayOfMonth = dayOfMonth?.has(at.getUTCDate()) ?? false;
  const isDayOfWeek = dayOfWeek?.has(at.getUTCDay()) || (at.getUTCDay() === 0 && dayOfWeek?.has(7)) || false;
  // When both days are restricted, cron runs on either.
  const bothRestricted = !parts[2]?.startsWith("*") && !parts[4]?.startsWith("*");
  const isDay = bothRestricted ? isDayOfMonth || isDayOfWeek : isDayOfMonth && isDayOfWeek;
  return Boolean(minute?.has(at.getUTCMinutes()) && hour?.has(at.getUTCHours()) && month?.has(at.getUTCMonth() + 1) && isDay);
}

function valuesOf(part: string, field: (typeof fields)[number], expression: string): Set<number> {
  const values = new Set<number>();
  for (const item of part.split(",")) {
    const [, first, last, stepText] = /^(\*|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(item) ?? [];
    if (first === undefined || (first === "*" && last)) throw new Error(`"${expression}": "${item}" is no ${field.name}.`);
    const from = first === "*" ? field.min : Number(first);
    // "5/10" means from 5 on; "5" alone means 5.
    const to = last ? Number(last) : first === "*" || stepText ? field.max : from;
    const step = stepText ? Number(stepText) : 1;
    if (from < field.min || to > field.max || from > to || step < 1) {
      throw new Error(`"${expression}": "${item}" is no ${field.name} (${field.min}-${field.max}).`);
    }
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}
