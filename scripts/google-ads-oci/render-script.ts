import { globSync, readFileSync } from "node:fs";

/** The file that customers paste: its parts, one after the other. */
export function renderScript(): string {
  const parts = globSync("src/*.js", { cwd: import.meta.dirname }).toSorted();
  return parts.map((part) => readFileSync(`${import.meta.dirname}/${part}`, "utf8")).join("\n");
}
