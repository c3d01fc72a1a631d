import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { checkoutDir } from "./local/process/state-dir.ts";

const read = (path: string) => readFileSync(join(checkoutDir, path), "utf8");
const source = (code: string) => `'sha256-${createHash("sha256").update(code).digest("base64")}'`;

/** Builds the offline verifier in memory: one page with its code, its style and the words of both languages. */
export async function renderVerifier(): Promise<string> {
  const words = { en: JSON.parse(read("lib/i18n/messages/en.json")).verifier, tr: JSON.parse(read("lib/i18n/messages/tr.json")).verifier };
  const bundle = await rolldown({
    input: "lib/verifier/main.ts",
    cwd: checkoutDir,
    platform: "browser",
    resolve: { alias: { "node:crypto": join(checkoutDir, "lib/verifier/sha-256.ts") } },
    transform: { target: "es2023", define: { VERIFIER_WORDS: JSON.stringify(words) } },
  });
  const { output } = await bundle.generate({ format: "iife", minify: true, comments: false });
  await bundle.close();
  const script = output[0].code.replaceAll("</script", "<\\/script").trim();
  const style = read("lib/verifier/page.css")
    .replace(/\s*\n\s*/g, "")
    .trim();
  const policy = `default-src 'none'; connect-src 'none'; script-src ${source(script)}; style-src ${source(style)}; base-uri 'none'; form-action 'none'`;
  return page({ policy, style, script });
}

const page = ({ policy, style, script }: Record<"policy" | "style" | "script", string>) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>OpsMantik</title>
<style>${style}</style>
</head>
<body>
<main>
<header><h1 data-word="title"></h1><button id="language" type="button" data-word="other"></button></header>
<p data-word="lead"></p>
<p data-word="private"></p>
<label for="files" data-word="choose"></label>
<input id="files" type="file" multiple accept=".json,.csv">
<label for="pasted" data-word="orPaste"></label>
<textarea id="pasted" rows="4" spellcheck="false"></textarea>
<div><button id="paste" type="button" data-word="check"></button> <button id="clear" type="button" data-word="clear"></button></div>
<p id="verdict" role="status"></p>
<ul id="findings"></ul>
</main>
<script>${script}</script>
</body>
</html>
`;
