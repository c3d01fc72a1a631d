/**
 * What hosted Supabase Auth does with a template and the embedded gateway does not: `{{ if }}` with `eq`, `{{ else }}`, `{{ end }}` and
 * the account's data, HTML-escaped as Go's html/template does it. Only what supabase/templates use.
 */
const tag = /\{\{\s*(.*?)\s*\}\}/g;

type Data = Record<string, unknown>;

function dataAt(path: string, data: Data): unknown {
  const names = path.replace(/^\.Data\./, "").split(".");
  return names.reduce<unknown>((found, name) => (found as Data | null | undefined)?.[name], data);
}

function isTrue(condition: string, data: Data): boolean {
  const [, path, literal] = /^eq (\S+) "(.*)"$/.exec(condition) ?? [];
  return path ? dataAt(path, data) === literal : Boolean(dataAt(condition, data));
}

export function renderData(html: string, data: Data): string {
  /** Whether each open `if` shows what stands in it. */
  const shown: boolean[] = [];
  let rendered = "";
  let at = 0;
  for (const match of html.matchAll(tag)) {
    const [whole, inside = ""] = match;
    if (shown.every(Boolean)) rendered += html.slice(at, match.index);
    at = match.index + whole.length;
    if (inside.startsWith("if ")) shown.push(isTrue(inside.slice(3), data));
    else if (inside === "else") shown.push(!shown.pop());
    else if (inside === "end") shown.pop();
    else if (inside.startsWith(".Data.") && shown.every(Boolean)) rendered += escapeHtml(String(dataAt(inside, data) ?? ""));
    else if (shown.every(Boolean)) throw new Error(`The mail template says ${whole}, which is not known here.`);
  }
  return rendered + html.slice(at);
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
