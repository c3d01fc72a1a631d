import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { deriveClientMessages } from "#lib/i18n/client-messages.ts";
import en from "#lib/i18n/messages/en.json";
import { mergeMessages, pickMessages } from "#lib/i18n/pick-messages.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

/** A tree of source files. */
function sources(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "opsmantik-messages-"));
  made.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const page = `import { Panel } from "#components/panel.tsx";\nexport default withMessages("shop/page", Panel);`;

const wordSource =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
  'const word = useTranslations(); word("actions.close"); word(`states.${x}`); word(`labels.min${x}`); import("./late.tsx");';

// Guarantee: nobody reads "desk.seal.title" on a button, because a page left out what one of its client components asks for.
// Broken by: following imports from the page alone, or leaving out what a server component draws in.
test("a page carries what its client components ask for, however deep they are", () => {
  const root = sources({
    "app/shop/page.tsx": page,
    "components/panel.tsx": `import { Button } from "./button.tsx";\nimport { useTranslations } from "next-intl";\nconst t = useTranslations("receipt");`,
    "components/button.tsx": `"use client";\nimport { word } from "./word.ts";\nconst t = useTranslations("desk.seal");`,
    "components/word.ts": wordSource,
    "components/late.tsx": `const t = useTranslations("oci.keys");`,
  });
  // Not "receipt": the panel is drawn on the server.
  expect(deriveClientMessages(root)["shop/page"]).toEqual(["actions.close", "desk.seal", "labels", "oci.keys", "states"]);
});

test("a page leaves out what the layout around it carries", () => {
  const root = sources({
    "app/layout.tsx": `import { Nav } from "#components/nav.tsx";\nmessagesOf("layout");`,
    "app/shop/page.tsx": page,
    "components/nav.tsx": `"use client";\nconst t = useTranslations("actions");`,
    "components/panel.tsx": `"use client";\nconst word = useTranslations();\nword("actions.close"); word("labels.when");`,
  });
  expect(deriveClientMessages(root)).toEqual({ layout: ["actions"], "shop/page": ["labels.when"] });
});

test("a page that was not given its messages does not build", () => {
  const root = sources({
    "app/shop/page.tsx": page.replace("shop/page", "other/page"),
    "components/panel.tsx": `"use client";\nconst t = useTranslations("receipt");`,
  });
  expect(() => deriveClientMessages(root)).toThrow('withMessages("shop/page",');
});

test("every page of ours carries its messages, and none carries all of them", () => {
  const all = JSON.stringify(en).length;
  for (const [name, paths] of Object.entries(deriveClientMessages(process.cwd()))) {
    const bytes = JSON.stringify(pickMessages(en, paths)).length;
    expect(bytes, name).toBeLessThan(all * 0.6);
  }
});

test("messages of a layout and of its page stand side by side; a compiled message stays whole", () => {
  const layout = pickMessages({ a: { b: "1", c: ["2", ["n"]] }, d: "3" }, ["a.b", "a.c"]);
  expect(layout).toEqual({ a: { b: "1", c: ["2", ["n"]] } });
  expect(mergeMessages(layout, { a: { c: ["2", ["n"]], e: "4" } })).toEqual({ a: { b: "1", c: ["2", ["n"]], e: "4" } });
});
