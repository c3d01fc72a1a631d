/** Keys whose value never belongs in a log. */
const secretKey = /authorization|cookie|password|secret|token|api[-_]?key|signature|credential/i;
/** Keys whose value may be recognised, but not read. */
const personalKey = /phone|gclid|wbraid|gbraid|click_?id|email|(^|_)fp$/i;
/** Keys whose value is one of our ids: searching the log for it must find it. */
const ownIdKey = /^(digest|requestId|siteId|keyId|id|migration|path)$/;

const patterns: [RegExp, (match: string) => string][] = [
  [/\beyJ[\w-]{8,}(\.[\w-]*){2,4}/g, () => "[token]"],
  [/\bom_[0-9a-f]{16,}/g, (key) => `${key.slice(0, 11)}…`],
  [/base64-[\w+/=-]{20,}/g, () => "[session]"],
  [/\btoken_hash=[\w-]+/gi, () => "token_hash=[token]"],
  [/\bsb_(secret|publishable)_[\w-]+/g, (key) => `${key.split("_").slice(0, 2).join("_")}_…`],
  [/\bBearer\s+[\w.~+/-]+=*/gi, () => "Bearer [token]"],
  [/\b(postgres(?:ql)?|redis):\/\/[^\s@]+@/gi, (url) => `${url.slice(0, url.indexOf("//"))}//[credentials]@`],
  [/\b(gclid|wbraid|gbraid)=[\w-]+/gi, (pair) => `${pair.split("=")[0]}=[click id]`],
  [/(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+/g, (address) => `${address.slice(0, 1)}…@${address.split("@")[1]}`],
  [
    /(?<![\w.-])\+?\d[\d ()-]{8,16}\d(?![\w.-]*[a-z])/gi,
    (number) => (number.replace(/\D/g, "").length >= 10 ? `…${number.slice(-2)}` : number),
  ],
];

/** Nothing secret is one short word of letters: GET, sync, required. */
const plainWord = /^[A-Za-z]{1,16}$/;

function redactText(text: string): string {
  if (plainWord.test(text)) return text;
  return patterns.reduce((result, [pattern, replace]) => result.replace(pattern, replace), text);
}

function maskPersonal(value: unknown): string {
  const text = String(value);
  return text.length <= 4 ? "…" : `${text.slice(0, 2)}…${text.slice(-2)}`;
}

/** A copy of a log field that shows no secret, token, phone number, address or click id in full. Depth and width are bounded. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redactText(value.length > 2000 ? `${value.slice(0, 2000)}…` : value);
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? String(value) : value;
  if (depth >= 4) return "[deeper]";
  if (value instanceof Error) {
    const { name, message, stack, cause } = value;
    return redact({ name, message, stack: stack?.split("\n").slice(1, 8).join("\n"), ...(cause ? { cause } : {}) }, depth + 1);
  }
  if (Array.isArray(value)) return value.slice(0, 20).map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([key, item]) => {
        if (item === null || item === undefined) return [key, item];
        if (secretKey.test(key)) return [key, "[redacted]"];
        if (ownIdKey.test(key) && typeof item === "string") return [key, item.slice(0, 200)];
        return [key, personalKey.test(key) ? maskPersonal(item) : redact(item, depth + 1)];
      }),
  );
}
