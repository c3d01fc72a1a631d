import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import en from "./messages/en.json" with { type: "json" };

/** Paths into the messages, such as "actions.close" or "desk.seal", by the page or layout (its path below app/) whose client components ask for them. */
export type ClientMessages = Record<string, string[]>;

interface Source {
  isClient: boolean;
  imports: string[];
  asksFor: string[];
}

/** Beside a layout, these are shown inside it without the page. */
const besideLayout = ["layout", "error", "loading", "not-found", "global-error"];

/**
 * Which messages each page and layout has to carry, read from the source: what it imports, from the first "use client" on. Nobody keeps a
 * list; next.config.ts asks once a build. A page leaves out what a layout around it carries.
 */
export function deriveClientMessages(root: string): ClientMessages {
  const sources = new Map<string, Source>();
  const read = (path: string): Source => {
    const known = sources.get(path);
    if (known) return known;
    const source = readSource(root, path);
    sources.set(path, source);
    return source;
  };
  const asked = (entries: string[]): string[] => {
    const server = new Set<string>();
    const client = new Set<string>();
    for (const path of entries) walk(read, path, false, { server, client });
    return widest([...client].flatMap((path) => read(path).asksFor));
  };

  const byFile: ClientMessages = {};
  const files = globSync("app/**/{layout,page}.tsx", { cwd: root }).sort((a, b) => a.split("/").length - b.split("/").length);
  for (const file of files.filter((path) => path.endsWith("/layout.tsx"))) {
    const entries = besideLayout.map((name) => join(dirname(file), `${name}.tsx`)).filter((path) => existsSync(join(root, path)));
    byFile[nameOf(file)] = without(asked(entries), layoutsAbove(byFile, dirname(file)));
  }
  for (const file of files.filter((path) => path.endsWith("/page.tsx"))) {
    const around = [...layoutsAbove(byFile, dirname(file)), ...(byFile[nameOf(join(dirname(file), "layout.tsx"))] ?? [])];
    byFile[nameOf(file)] = without(asked([file]), around);
  }
  for (const [name, paths] of Object.entries(byFile)) if (paths.length > 0) expectCarried(root, name, paths);
  return byFile;
}

/** A page that nobody gave its messages would show their names instead. */
function expectCarried(root: string, name: string, paths: string[]): void {
  const carried = name === "layout" ? `messagesOf("layout")` : `withMessages("${name}",`;
  if (readFileSync(join(root, "app", `${name}.tsx`), "utf8").includes(carried)) return;
  throw new Error(`app/${name}.tsx shows client components that ask for ${paths.join(", ")}: export default ${carried} …)`);
}

const nameOf = (file: string) => file.slice("app/".length, -".tsx".length);

function layoutsAbove(byFile: ClientMessages, folder: string): string[] {
  const above = dirname(folder);
  return above === "." ? [] : [...(byFile[nameOf(join(above, "layout.tsx"))] ?? []), ...layoutsAbove(byFile, above)];
}

function walk(read: (path: string) => Source, path: string, inClient: boolean, seen: { server: Set<string>; client: Set<string> }): void {
  const source = read(path);
  const isClient = inClient || source.isClient;
  const done = isClient ? seen.client : seen.server;
  if (done.has(path)) return;
  done.add(path);
  for (const each of source.imports) walk(read, each, isClient, seen);
}

function readSource(root: string, path: string): Source {
  const text = readFileSync(join(root, path), "utf8");
  const imports = [...text.matchAll(/(?:from|import)[\s(]{0,4}"((?:#(?:app|components|lib)\/|\.)[^"]{1,200}\.tsx?)"/g)]
    .filter(({ index }) => !/import type [^;]*$/.test(text.slice(0, index)))
    .map(([, specifier = ""]) => (specifier.startsWith("#") ? specifier.slice(1) : join(dirname(path), specifier)));
  return { isClient: /^"use client";/m.test(text.slice(0, 200)), imports, asksFor: messagesIn(text) };
}

/** A translator of a namespace may ask for all of it. One of none is called with whole paths: every text in the file that begins like one. */
function messagesIn(text: string): string[] {
  const spaces = [...text.matchAll(/useTranslations\("([^"]+)"\)/g)].map(([, space = ""]) => space);
  const paths = [...text.matchAll(/["'`]([a-zA-Z]+(?:\.[\w-]+)*)(\.?)(["'`]|\$\{)/g)].flatMap(([, path = "", dot, end]) => {
    if (end !== "${") return path.includes(".") ? [path] : [];
    return [dot ? path : path.split(".").slice(0, -1).join(".")]; // of `labels.min${…}` all labels
  });
  return [...spaces, ...paths].filter(isMessagePath);
}

function isMessagePath(path: string): boolean {
  let node: unknown = en;
  for (const key of path.split(".")) {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return false;
    node = Object.entries(node).find(([name]) => name === key)?.[1];
  }
  return path !== "";
}

const covers = (wide: string, path: string) => path === wide || path.startsWith(`${wide}.`);
const without = (paths: string[], others: string[]) => paths.filter((path) => !others.some((other) => covers(other, path)));

/** Each path once, and none below another. */
function widest(paths: string[]): string[] {
  const unique = [...new Set(paths)].sort();
  return unique.filter((path) => !unique.some((other) => other !== path && covers(other, path)));
}
