/** Whether a script is older than the one we give out now; one that says nothing of itself is. */
export function isOlder(version: string | null, current: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [given, latest] = [numbers(version ?? "0"), numbers(current)];
  const at = latest.findIndex((part, index) => part !== (given[index] ?? 0));
  return at >= 0 && (given[at] ?? 0) < (latest[at] ?? 0);
}
