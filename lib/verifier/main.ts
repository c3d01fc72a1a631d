import { checkFiles, type Finding, type GivenFile } from "./check-files.ts";

/** The page of the offline verifier. It is one file with everything inside; its policy lets it ask nobody. */

type Words = { [key: string]: string | Words };
/** The `verifier` messages of each language; the build puts them here. */
declare const VERIFIER_WORDS: { en: Words; tr: Words };

const files: GivenFile[] = [];
let language: "en" | "tr" = navigator.language.toLowerCase().startsWith("tr") ? "tr" : "en";

function word(path: string, values: Record<string, string> = {}): string {
  let node: string | Words | undefined = VERIFIER_WORDS[language];
  for (const key of path.split(".")) node = typeof node === "object" ? node[key] : undefined;
  return typeof node === "string" ? node.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "") : path;
}

function find(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(id);
  return element;
}

function line({ file, holds, message, values }: Finding): HTMLLIElement {
  const item = document.createElement("li");
  item.dataset.holds = String(holds);
  const name = document.createElement("b");
  name.textContent = file;
  const mark = document.createElement("span");
  mark.textContent = word(holds === null ? "mark.open" : holds ? "mark.holds" : "mark.wrong");
  const text = document.createElement("p");
  text.textContent = word(message, values);
  item.append(mark, name, text);
  return item;
}

function show(): void {
  document.documentElement.lang = language;
  document.title = word("title");
  for (const element of document.querySelectorAll<HTMLElement>("[data-word]")) element.textContent = word(element.dataset.word ?? "");
  const findings = checkFiles(files);
  const isWrong = findings.some(({ holds }) => holds === false);
  find("findings").replaceChildren(...findings.map(line));
  find("verdict").textContent =
    files.length === 0 ? "" : word(isWrong ? "verdict.wrong" : "verdict.holds", { count: String(files.length) });
  find("verdict").dataset.holds = String(!isWrong);
}

async function take(list: Iterable<File>): Promise<void> {
  for (const file of list) {
    const known = files.findIndex(({ name }) => name === file.name);
    files.splice(known < 0 ? files.length : known, 1, { name: file.name, text: await file.text() });
  }
  show();
}

const input = find("files");
const box = find("pasted");
input.addEventListener("change", () => input instanceof HTMLInputElement && void take(input.files ?? []));
find("paste").addEventListener("click", () => {
  if (box instanceof HTMLTextAreaElement && box.value.trim())
    void take([new File([box.value], word("pasted", { number: String(files.length + 1) }))]);
});
find("clear").addEventListener("click", () => {
  files.length = 0;
  show();
});
find("language").addEventListener("click", () => {
  language = language === "en" ? "tr" : "en";
  show();
});
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  void take(event.dataTransfer?.files ?? []);
});
show();
