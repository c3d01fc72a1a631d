import { shiftMonth } from "#lib/billing/year-month.ts";
import { localeNames } from "#lib/i18n/locale.ts";
import en from "#lib/i18n/messages/en.json" with { type: "json" };
import tr from "#lib/i18n/messages/tr.json" with { type: "json" };
import { expect, test } from "#tests/support/e2e-test.ts";

type Tree = { [key: string]: string | Tree };

function leaves(tree: Tree): string[] {
  return Object.values(tree).flatMap((value) => (typeof value === "string" ? [value] : leaves(value)));
}

/** English sentences that would look the same in Turkish are no evidence, nor are the names of languages, each in its own. */
const turkish = new Set([...leaves(tr), ...Object.values(localeNames)]);
const english = new Set(leaves(en).filter((text) => !turkish.has(text)));

/** Whole words only: the letters between the digits of a hash spell "bad" and "add" one day in a hundred. */
const words = (text: string) => text.match(/(?<![\p{L}\p{N}])\p{L}{3,}(?![\p{L}\p{N}])/gu) ?? [];

/** Every text a person meets: visible words, labels, hints and titles. */
const collect = `(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!node.parentElement.closest("script, style, option, [data-untranslated]") && node.data.trim()) found.push(node.data.trim());
  for (const element of document.querySelectorAll("[aria-label], [placeholder], [title], [alt]"))
    for (const name of ["aria-label", "placeholder", "title", "alt"]) if (element.getAttribute(name)) found.push(element.getAttribute(name));
  return found;
})()`;

// Guarantee: a Turkish reader never meets an English sentence, and no text is written into the code.
test("in Turkish no page shows a text that is not one of the Turkish messages", async ({ visit, as, stack }) => {
  const [base, apiBase] = stack.sites.map(({ siteId }) => `/dashboard/site/${siteId}`);
  const visits = [
    {
      page: await visit({ language: "tr" }),
      paths: ["/sign-in", "/forgot-password", "/new-password", "/auth/confirm", "/status", "/privacy", "/nowhere"],
    },
    {
      page: await as("owner", { language: "tr" }),
      paths: [
        "/dashboard",
        "/dashboard/sites/new",
        "/dashboard/account",
        `${base}`,
        `${base}/billing`,
        `${base}/billing/events`,
        `${base}/billing/invoices/${shiftMonth(new Date().toISOString().slice(0, 7), -2)}`,
        `${base}/members`,
        `${base}/connections`,
        `${base}/settings`,
        `${base}/sales`,
        `${base}/sales/import`,
        `${base}/activity`,
        `${base}/oci-control`,
        `${base}/oci-control?tab=days`,
        `${base}/connections/google-ads`,
        `${apiBase}/connections`,
        `${apiBase}/connections/google-ads`,
        `${apiBase}/connections/google-ads?connect=1`,
        `${apiBase}/settings`,
      ],
    },
  ];
  const turkishWords = new Set(
    leaves(tr)
      .flatMap(words)
      .map((word) => word.toLocaleLowerCase("tr")),
  );
  const englishWords = new Set([...english].flatMap(words).map((word) => word.toLowerCase()));
  for (const { page, paths } of visits) {
    for (const path of paths) {
      await page.goto(path);
      const texts: string[] = await page.evaluate(collect);
      expect(texts.length, path).toBeGreaterThan(3);
      expect(
        texts.filter((text) => english.has(text)),
        path,
      ).toEqual([]);
      // A text made of English words only, none of them Turkish, was written into the code.
      const hardCoded = texts.filter((text) => {
        const own = words(text).map((word) => word.toLowerCase());
        return own.length > 1 && own.every((word) => englishWords.has(word) && !turkishWords.has(word));
      });
      expect(hardCoded, path).toEqual([]);
    }
  }
});
