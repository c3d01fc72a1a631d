/**
 * Passwords that are guessed first. A list of leaked ones would be long and old, so these are the rules that make them: a well-known word with a
 * few characters around it, a walk over the keyboard, the same again and again, digits only, or one's own address. No network is asked.
 */

const words =
  `password passwort parola sifre sifrem parolam secret welcome letmein login admin administrator root user guest test testing demo default
changeme master access system server computer internet google facebook instagram twitter youtube whatsapp iphone samsung android windows microsoft
qwerty qwertz azerty asdf zxcvbn iloveyou loveyou love lovely sevgilim seviyorum askim canim hayat hayatim bebegim sunshine princess prenses dragon monkey
football futbol baseball basketball soccer hockey superman batman spiderman pokemon starwars trustno ninja shadow michael jordan jennifer jessica ashley
daniel thomas andrew charlie matthew joshua george robert william anthony mehmet mustafa ahmet huseyin hasan ibrahim ismail yusuf murat osman omer
emre burak fatma ayse emine hatice zeynep elif meryem galatasaray fenerbahce besiktas trabzonspor istanbul ankara izmir bursa antalya adana turkiye turkey
ataturk turk turkce osmanli merhaba selam deneme kullanici yonetici musteri sirket patron araba kartal aslan kaplan yildiz gunes deniz melek
summer winter spring autumn monday friday january december freedom whatever hello flower cookie cheese chocolate computer pepper ginger
purple orange yellow silver golden diamond butterfly mercedes ferrari porsche harley yamaha corvette mustang killer hunter ranger soldier
money bitcoin business company office manager sales marketing opsmantik`
    .split(/\s+/)
    .toSorted((a, b) => b.length - a.length);

const folded: Record<string, string> = { ı: "i", ş: "s", ğ: "g", ü: "u", ö: "o", ç: "c" };
const disguised: Record<string, string> = { "@": "a", "4": "a", "3": "e", "0": "o", "1": "i", "!": "i", $: "s", "5": "s", "7": "t" };

const plain = (text: string) => [...text.toLowerCase().normalize("NFC")].map((letter) => folded[letter] ?? letter).join("");
const undisguised = (text: string) => [...text].map((letter) => disguised[letter] ?? letter).join("");
const lettersOf = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "");

const rows = [
  "abcdefghijklmnopqrstuvwxyz",
  "01234567890",
  "qwertyuiop",
  "asdfghjkl",
  "zxcvbnm",
  "qazwsxedcrfvtgbyhnujmik",
  "1q2w3e4r5t6y7u8i9o0p",
];
const walks = [...rows, ...rows.map((row) => [...row].toReversed().join(""))];

/** Whether nearly every character follows from the one before it. */
function isWalk(text: string): boolean {
  const steps = [...text].slice(1).filter((letter, index) => {
    const before = text[index] ?? "";
    return letter === before || walks.some((walk) => walk.includes(before + letter));
  });
  return steps.length >= (text.length - 1) * 0.7;
}

/** What remains after the known words, years and the person's own address are taken out. */
function remainder(text: string, own: readonly string[]): string {
  let rest = text;
  for (const word of [...own, ...words]) rest = rest.replaceAll(word, " ");
  return rest.replaceAll(/\d{4,}|\s/g, (part) => (isWalk(part) || /^(19|20)\d\d$/.test(part) ? "" : part)).replaceAll(" ", "");
}

const unknownMin = 4;
const digitsMin = 16;

export function isCommonPassword(password: string, email = ""): boolean {
  const text = lettersOf(plain(password));
  const own = plain(email)
    .split(/[^a-z0-9]+/)
    .filter((part) => part.length >= 4);
  if (new Set(text).size < 5 || /^(.{1,6}?)\1+$/.test(text)) return true;
  if (/^\d+$/.test(text) && text.length < digitsMin) return true;
  if (isWalk(text)) return true;
  // Only the front is undisguised for a word that ends in digits: the 5 of "12345" is no s.
  const whole = [...plain(password)];
  const frontLength = whole.findLastIndex((letter) => /[^\d\W]/.test(letter)) + 1;
  const [front, ending] = [whole.slice(0, frontLength).join(""), whole.slice(frontLength).join("")];
  return [text, lettersOf(undisguised(front) + ending)].some((form) => remainder(form, own).length < unknownMin);
}
