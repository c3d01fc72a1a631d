import { existsSync, readFileSync } from "node:fs";
import type { Locale } from "#lib/i18n/locale.ts";
import type { Theme } from "#lib/i18n/theme.ts";
import { Html, html } from "./html.ts";

const here = (file: string) => new URL(file, import.meta.url);
/** The product's own names for colours and sizes: `@theme` is Tailwind's word for what plain CSS calls `:root`. */
const productTheme = readFileSync(here("../../../../../app/styles/theme.css"), "utf8")
  .replace(/^@theme \{/m, ":root {")
  .replace(/^\s*--[\w-]+-\*: initial;$/gm, "");
const interFont = (file: string) => here(`../../../../../node_modules/@fontsource-variable/inter/${file}`);
const fontFaces = readFileSync(interFont("wght.css"), "utf8").replaceAll("url(./files/", "url(/");
/** A file of the product's font, or null. */
export function readFont(path: string): Buffer | null {
  return /^\/inter-[a-z-]+\.woff2$/.test(path) && existsSync(interFont(`files${path}`)) ? readFileSync(interFont(`files${path}`)) : null;
}
export const storyCss = [fontFaces, productTheme, readFileSync(here("./story.css"), "utf8")].join("\n");
export const brandIcon = readFileSync(here("../../../../../app/icon.svg"), "utf8");
export const brandMark = new Html(
  brandIcon.replace("<svg ", '<svg aria-hidden="true" width="22" height="22" ').replace(/<title>.*<\/title>/, ""),
);

export interface Frame {
  locale: Locale;
  theme: Theme;
  title: string;
  head?: Html;
  className: string;
  body: Html;
}

/** A whole page in the product's colours, in the language and theme that the reader chose there. */
export function framePage({ locale, theme, title, head, className, body }: Frame): string {
  return html`<!doctype html>
<html lang="${locale}"${theme !== "system" && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<meta name="format-detection" content="telephone=no">
<title>${title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/story.css">
${head}
</head>
<body class="${className}">${body}</body>
</html>
`.text;
}
