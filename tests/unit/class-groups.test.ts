import { globSync, readFileSync } from "node:fs";
import { twMerge } from "tailwind-merge";
import { expect, test } from "vitest";
import { mergeClasses } from "#components/ui/class-groups.ts";

const isClass = (word: string) => /^[a-z*@\-[(!][\w\-:[\]()./,%&*=@'#>+~!^$<]*$/.test(word);
/** A value of our own theme, which tailwind-merge does not know, and words that are no classes. */
const notCompared = /tabbar|^transition-address$|^content-type$/;

/** Every list of classes in the source. */
const lists = globSync("{components,app}/**/*.{ts,tsx}", { exclude: ["components/ui/class-groups.ts"] }).flatMap((path) =>
  [...readFileSync(path, "utf8").matchAll(/"([^"\n]+)"|`([^`$]+)`/g)]
    .map(([, quoted, ticked]) => (quoted ?? ticked ?? "").trim().split(/\s+/))
    .filter(
      (words) =>
        words.every(isClass) && words.some((word) => /[-:]/.test(word)) && !words.some((word) => /\.tsx?$|^aria-|^data-/.test(word)),
    ),
);
const kept = (merge: (classes: string) => string, classes: string) => [...new Set(merge(classes).split(" "))].join(" ");

// Guarantee: a part that a caller gives another size, colour or place has that one, wherever the stylesheet puts it.
// Broken by: leaving a group out, or one of its conflicts.
test("of two utilities for one property the later wins, as tailwind-merge decides it", () => {
  expect(lists.length).toBeGreaterThan(600);
  for (const list of lists) expect(kept(mergeClasses, list.join(" "))).toBe(kept(twMerge, list.join(" ")));
  const bare = [...new Set(lists.flat().map((word) => word.replace(/^.*:(?![^[]*\])/, "")))].filter((word) => !notCompared.test(word));
  // Of h-1, h-2, h-3 … three are enough.
  const words = [...Map.groupBy(bare, (word) => word.replace(/[\d.]+$|\[.*\]$/, "")).values()].flatMap((alike) => alike.slice(0, 3));
  const differing = words.flatMap((first) =>
    words.map((second) => `${first} ${second}`).filter((pair) => kept(mergeClasses, pair) !== kept(twMerge, pair)),
  );
  expect(differing).toEqual([]);
});
