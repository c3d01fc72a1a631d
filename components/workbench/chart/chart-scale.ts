/** Round numbers from zero to just above the highest bar, three or four steps apart. */
export function axisTicks(highest: number): number[] {
  const rough = Math.max(highest, 3) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    1,
    [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate * 4 >= highest && Number.isInteger(candidate)) ??
      10 * power,
  );
  const count = Math.max(3, Math.ceil(highest / step));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** Which days are written below the bars: the first, each seventh after it, the last, and today, which takes its neighbours' room. */
export function labelledDays(dayCount: number, todayIndex: number): number[] {
  const regular = [0, 7, 14, 22, dayCount - 1].filter((index) => Math.abs(index - todayIndex) > 2);
  return [...regular, todayIndex].filter((index) => index >= 0 && index < dayCount).sort((a, b) => a - b);
}

/** Two round steps from zero for a low chart; small counts are whole numbers. */
export function lowTicks(heights: readonly number[]): number[] {
  const highest = Math.max(2, ...heights);
  const power = 10 ** Math.floor(Math.log10(highest / 2));
  const step = Math.ceil(Math.max(1, ([1, 2, 2.5, 5, 10].find((factor) => factor * power * 2 >= highest) ?? 10) * power));
  return [0, step, step * 2];
}

/** Which bars are named below: the first, the last and two between them. */
export const labelledBars = (count: number) => [...new Set([0, Math.floor(count / 3), Math.floor((2 * count) / 3), count - 1])];
