/**
 * Of two Tailwind utilities for one property the later wins, for those that our parts let a caller override. tailwind-merge knows all of Tailwind
 * and was 8 kB of every page, this is 2; tests/unit/class-groups.test.ts compares the two over whatever our components can put together.
 */

const any = /./;
const perhaps = /^/;
const width = /^(\d*|\[[\d.]+(px|em|rem|%)\])$/;

/** By the name that a utility begins with: which group it is in, if the rest of it looks like this. */
const rules: Record<string, [group: string, rest: RegExp][]> = {
  flex: [["flex", /^(\d+|auto|none|initial|\[.+\])$/]],
  text: [
    ["font-size", /^(xs|sm|base|lg|\d?xl)$|^(\[(?!#|color:)[\d.]|\(length:|\[length:)/],
    ["text-color", any],
  ],
  font: [["font-weight", /^(normal|medium|semibold|bold)$/]],
  list: [["list", any]],
  snap: [["snap", any]],
  bg: [
    ["bg-image", /gradient|url/],
    ["bg-color", any],
  ],
  border: [
    ["border-style", /^(solid|dashed|dotted|double|hidden|none)$/],
    ["border-w", width],
    ["border-color", any],
  ],
  shadow: [["shadow", perhaps]],
  ring: [
    ["ring-w", width],
    ["ring-color", any],
  ],
  "inset-ring": [
    ["inset-ring-w", width],
    ["inset-ring-color", any],
  ],
  outline: [
    ["outline-style", /^(none|hidden|dashed)$/],
    ["outline-w", width],
    ["outline-color", any],
  ],
  stroke: [
    ["stroke-w", /^(\d|\[[\d.])/],
    ["stroke", any],
  ],
};

/** Whole utilities, by their group. */
const words: Record<string, string> = {};
/** What a group replaces besides itself. */
const replaced: Record<string, string[]> = {};

const split = (list: string) => list.split(/\s+/);
const sides = split("t r b l");

for (const name of split(
  "gap gap-x gap-y w h size min-w min-h max-w max-h inset inset-x inset-y top right bottom left overflow overflow-x overflow-y whitespace leading tracking opacity z order cursor duration ease animate grid-cols grid-rows auto-cols grid-flow col col-start row-start items self justify justify-items justify-self place-items place-content place-self shrink grow basis transition translate-x translate-y rotate fill align outline-offset underline-offset line-clamp appearance pointer-events object content scroll-mt scroll-my",
))
  rules[name] = [[name, any]];
for (const [group, list] of Object.entries({
  display: "block inline-block inline flex inline-flex grid inline-grid contents hidden table",
  visibility: "visible invisible",
  position: "static fixed absolute relative sticky",
  "flex-direction": "flex-row flex-row-reverse flex-col flex-col-reverse",
  "flex-wrap": "flex-wrap flex-nowrap",
  "text-align": "text-left text-center text-right text-start text-end",
  "text-wrap": "text-wrap text-nowrap text-balance text-pretty",
  "text-overflow": "truncate text-ellipsis text-clip",
  "overflow-wrap": "wrap-anywhere wrap-break-word wrap-normal",
  "list-position": "list-inside list-outside",
  "snap-type": "snap-x snap-y",
  decoration: "underline no-underline line-through",
  sr: "sr-only not-sr-only",
}))
  for (const word of split(list)) words[word] = group;
for (const [group, list] of Object.entries({
  gap: "gap-x gap-y",
  "scroll-my": "scroll-mt",
  size: "w h",
  inset: "inset-x inset-y top right bottom left",
  "inset-x": "right left",
  "inset-y": "top bottom",
  overflow: "overflow-x overflow-y",
  flex: "basis grow shrink",
  "font-size": "leading",
  "line-clamp": "display overflow",
}))
  replaced[group] = split(list);
for (const name of ["p", "m", "border-"]) {
  const isBorder = name === "border-";
  const group = isBorder ? "border-w-" : name;
  for (const side of ["x", "y", ...(isBorder ? [] : ["", "s", "e"]), ...sides])
    rules[name + side] = [[group + side, isBorder ? width : any]];
  const on = (list: string) => split(list).map((side) => group + side);
  replaced[isBorder ? "border-w" : name] = on("x y s e t r b l");
  replaced[`${group}x`] = on("r l s e");
  replaced[`${group}y`] = on("t b");
}
const corners = split("tl tr bl br");
for (const corner of ["", ...sides, ...corners]) {
  const of = (other: string) => (other ? `rounded-${other}` : "rounded");
  rules[of(corner)] = [[of(corner), perhaps]];
  replaced[of(corner)] = (corner ? corners : [...sides, ...corners]).filter((other) => other !== corner && other.includes(corner)).map(of);
}

/** The group of a utility: the longest name that it begins with and that accepts the rest decides. */
function groupOf(utility: string): string | undefined {
  const property = utility.match(/^\[([\w-]+):/)?.[1];
  if (property) return `[${property}`;
  const name = utility.replace(/^-/, "");
  if (words[name]) return words[name];
  for (let end = name.length; end > 0; end = name.lastIndexOf("-", end - 1)) {
    const rest = name.slice(end + 1);
    const found = rules[name.slice(0, end)]?.find(([, looks]) => looks.test(rest));
    if (found) return found[0];
  }
  return undefined;
}

/** Where a class's utility begins, after its variants: `hover:`, `max-[430px]:`, `[&>:is(a,button)]:`. */
function utilityStart(name: string): number {
  let depth = 0;
  let start = 0;
  for (let index = 0; index < name.length; index++) {
    const sign = name.charAt(index);
    if (sign === "[" || sign === "(") depth++;
    else if (sign === "]" || sign === ")") depth--;
    else if (sign === ":" && depth === 0) start = index + 1;
  }
  return start;
}

const known = new Map<string, string[]>();

/** What a class sets, then what it replaces, each under its variants: `hover:p-2` leaves `p-4` alone. Variants count as they are written. */
function groupsOf(name: string): string[] {
  let groups = known.get(name);
  if (!groups) {
    const start = utilityStart(name);
    const utility = name.slice(start);
    const bare = utility.replace(/^!|!$/, "");
    const under = name.slice(0, start) + (bare === utility ? "" : "!");
    const group = groupOf(bare.replace(/\/[^\])]*$/, ""));
    groups = group ? [group, ...(replaced[group] ?? [])].map((each) => under + each) : [];
    known.set(name, groups);
  }
  return groups;
}

export function mergeClasses(classes: string): string {
  const set = new Set<string>();
  const kept = split(classes)
    .reverse()
    .filter((name) => {
      const groups = groupsOf(name);
      if (groups[0] && set.has(groups[0])) return false;
      for (const group of groups) set.add(group);
      return name !== "";
    });
  return kept.reverse().join(" ");
}
