/** True if the installed script is behind the current release. A script that sends no version counts as old. */
export function isOlder(version: string | null, current: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [given, latest] = [numbers(version ?? "0"), numbers(current)];
  const at = latest.findIndex((part, index) => part !== (given[index] ?? 0));
  return at >= 0 && (given[at] ?? 0) < (latest[at] ?? 0);
}
