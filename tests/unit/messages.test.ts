import { createTranslator } from "next-intl";
import { expect, test } from "vitest";
import type { Locale } from "#lib/i18n/locale.ts";
import en from "#lib/i18n/messages/en.json";
import tr from "#lib/i18n/messages/tr.json";
import { everyCase } from "#tests/support/every-case.ts";

type Tree = { [key: string]: string | Tree };

function flatten(tree: Tree, prefix = ""): Map<string, string> {
  const entries = Object.entries(tree).flatMap(([key, value]): [string, string][] =>
    typeof value === "string" ? [[prefix + key, value]] : [...flatten(value, `${prefix}${key}.`)],
  );
  return new Map(entries);
}

const english = flatten(en);
const turkish = flatten(tr);
const keys = [...english.keys()];

/** Words that are the same in both languages: names, a search phrase, a unit. */
const sameInBoth = new Set([
  "nav.site",
  "nav.googleAds",
  "proof.facts.click",
  "who.google",
  "apiKeys.prefix",
  "labels.ms",
  "actions.csv",
  "channels.whatsapp",
  "channels.form",
  "salesImport.fields.gclid",
  "salesImport.fields.wbraid",
  "salesImport.fields.gbraid",
  "activity.system",
  "desk.detail.device.tablet",
  "desk.detail.sibling",
  "quickSearch.key",
  "googleAds.account.data_manager",
  "googleAds.account.ads_api",
  "googleAds.test.accountFound",
  "googleAds.dryRun.option",
  "billing.origins.browsers.chrome",
  "billing.origins.browsers.safari",
  "billing.origins.browsers.firefox",
  "billing.origins.browsers.edge",
  "billing.origins.browsers.opera",
  "billing.origins.browsers.samsung",
  "trades.option",
  "setup.numbered",
  "setup.snippet.places.html",
  "setup.snippet.places.gtm",
  "setup.snippet.places.wordpress",
  "setup.snippet.places.next",
  "setup.calls.languages.curl",
  "setup.calls.languages.php",
  "setup.calls.languages.node",
]);

/**
 * Arguments of a message, found by formatting it: the formatter names the first one it misses, so they are given one by one.
 * Three counts walk through the branches of a plural.
 */
function argumentsOf(locale: Locale, message: string): string[] {
  const found = new Set<string>();
  for (const count of [0, 1, 5]) {
    let missing: string | undefined;
    const tags = [...message.matchAll(/<(\w+)>/g)].map(([, tag]) => tag ?? "");
    for (const tag of tags) found.add(tag);
    do {
      missing = undefined;
      const t = createTranslator({
        locale,
        messages: { message },
        onError: (error) => {
          missing = error.message.match(/variable "(\w+)" was not provided/)?.[1];
          if (!missing) throw error;
        },
      });
      const values = Object.fromEntries([...found].map((name) => [name, tags.includes(name) ? () => "" : count]));
      t.rich("message", values);
      if (missing) found.add(missing);
    } while (missing);
  }
  return [...found].sort();
}

// Guarantee: nobody meets a raw key, because a word was added in one language only.
test("both languages hold the same keys", () => {
  expect([...turkish.keys()].sort()).toEqual([...keys].sort());
});

test("no message is empty", () => {
  expect([...english, ...turkish].filter(([, message]) => message.trim() === "")).toEqual([]);
});

// Guarantee: a translation neither drops a name or an amount nor asks for one that the page does not give; and every message renders.
test("every message renders, with the same arguments and tags in both languages", () => {
  everyCase(keys, (key) => {
    expect(argumentsOf("tr", turkish.get(key) ?? "")).toEqual(argumentsOf("en", english.get(key) ?? ""));
  });
});

// Guarantee: a Turkish reader never finds an English sentence that nobody translated.
test("every message is translated", () => {
  const untranslated = keys.filter((key) => english.get(key) === turkish.get(key) && !sameInBoth.has(key));
  expect(untranslated, "translate these in tr.json, or, where both languages use the same word, add the key to sameInBoth above").toEqual(
    [],
  );
});

// Guarantee: a word of one or two stands under one key, so that it is changed everywhere at once. Two keys only where Turkish needs two words.
test("no short message stands under two keys", () => {
  const short = keys.filter((key) => (english.get(key) ?? "").split(/\s+/).length <= 2);
  const byText = Map.groupBy(short, (key) => `${english.get(key)} / ${turkish.get(key)}`);
  const repeated = [...byText.values()].filter((same) => same.length > 1);
  expect(repeated, "read one key in both places: shared words are in labels, actions, states, kinds and channels").toEqual([]);
});
