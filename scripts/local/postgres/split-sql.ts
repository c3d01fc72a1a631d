/**
 * Splits a migration into statements as the Supabase CLI does: at every top-level semicolon, which is dropped, with
 * comments kept. Quotes, dollar quotes, nested comments and `begin atomic … end` bodies are skipped as a whole.
 */
export function splitSql(text: string): string[] {
  const statements: string[] = [];
  let start = 0;
  let at = 0;
  let atomicDepth = 0;
  let previousWord = "";
  while (at < text.length) {
    const next = skipQuoted(text, at);
    if (next > at) {
      at = next;
      continue;
    }
    const word = /^[a-z_]\w*/i.exec(text.slice(at, at + 64))?.[0].toLowerCase();
    if (word) {
      atomicDepth = depthAfter(word, previousWord, atomicDepth);
      previousWord = word;
      at += word.length;
      continue;
    }
    if (text[at] === ";" && atomicDepth === 0) {
      push(statements, text.slice(start, at));
      start = at + 1;
    }
    at++;
  }
  push(statements, text.slice(start));
  return statements;
}

/** The statement without its comments, but for those in a function's body: that is quoted, and stays as it is. */
export function withoutComments(statement: string): string {
  let kept = "";
  for (let at = 0; at < statement.length; ) {
    const part = statement.slice(at, Math.max(skipQuoted(statement, at), at + 1));
    at += part.length;
    if (!/^(--|\/\*)/.test(part)) kept += part;
    // A line that held nothing but the comment goes with it.
    else if (part.startsWith("--")) kept = kept.replace(/ +$/, "").replace(/([^\n])$/, "$1\n");
  }
  return kept.trim();
}

/** Inside an atomic body `case … end` nests, so both count. */
function depthAfter(word: string, previousWord: string, depth: number): number {
  if (word === "atomic" && previousWord === "begin") return 1;
  if (depth > 0 && word === "case") return depth + 1;
  if (depth > 0 && word === "end") return depth - 1;
  return depth;
}

/** Where the comment or quoted text that begins at `at` ends; `at` itself when none begins there. */
function skipQuoted(text: string, at: number): number {
  if (text.startsWith("--", at)) return endOf(text, "\n", at);
  if (text.startsWith("/*", at)) return skipBlockComment(text, at);
  if (text[at] === "'") return skipString(text, at);
  if (text[at] === '"') return endOf(text, '"', at + 1);
  if (text[at] === "$" && !/[\w$]/.test(text[at - 1] ?? "")) {
    const tag = /^\$([a-z_]\w*)?\$/i.exec(text.slice(at, at + 66))?.[0];
    if (tag) return endOf(text, tag, at + tag.length);
  }
  return at;
}

function endOf(text: string, closing: string, from: number): number {
  const found = text.indexOf(closing, from);
  return found < 0 ? text.length : found + closing.length;
}

/** A doubled quote stays inside. Only E'…' strings know backslashes. */
function skipString(text: string, at: number): number {
  const escapes = /e/i.test(text[at - 1] ?? "") && !/[\w$]/.test(text[at - 2] ?? "");
  for (let i = at + 1; i < text.length; i++) {
    if ((escapes && text[i] === "\\") || text.startsWith("''", i)) i++;
    else if (text[i] === "'") return i + 1;
  }
  return text.length;
}

/** Postgres nests block comments. */
function skipBlockComment(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text.startsWith("/*", i)) {
      depth++;
      i++;
    } else if (text.startsWith("*/", i)) {
      depth--;
      i++;
      if (depth === 0) return i + 1;
    }
  }
  return text.length;
}

function push(statements: string[], text: string): void {
  const statement = text.trim();
  if (statement) statements.push(statement);
}
