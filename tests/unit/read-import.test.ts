import { describe, expect, test } from "vitest";
import en from "#lib/i18n/messages/en.json";
import tr from "#lib/i18n/messages/tr.json";
import { exampleImport } from "#lib/seal/example-import.ts";
import { decodeFile, readImport } from "#lib/seal/read-import.ts";

const istanbul = { currency: "TRY", timezone: "Europe/Istanbul" };
const london = { currency: "GBP", timezone: "Europe/London" };

describe("a file of sales", () => {
  test("from Excel in Turkish is read as its owner means it", () => {
    const text =
      '\ufeffSipariş No;Tarih;Tutar;Telefon;Açıklama\r\nA-1;16.11.2026 14:30;4.250,50 ₺;0532 111 22 33;"Bakım; acil"\r\nA-2;15.11.2026;1.250;;\r\n';
    expect(readImport(text, istanbul)).toEqual({
      rows: [
        {
          line: 2,
          externalRef: "A-1",
          occurredAt: "2026-11-16T11:30:00.000Z",
          amountCents: 425_050,
          currency: "TRY",
          customerPhone: "0532 111 22 33",
          note: "Bakım; acil",
        },
        { line: 3, externalRef: "A-2", occurredAt: "2026-11-15T09:00:00.000Z", amountCents: 125_000, currency: "TRY" },
      ],
      problems: [],
      found: ["externalRef", "occurredAt", "amount", "customerPhone", "note"],
      missing: [],
      questions: {},
    });
  });

  test("may bring the hashes of a phone number and an e-mail address", () => {
    const text = `Fatura No;Tarih;Tutar;Telefon özeti;E-posta özeti;Onay\nH-1;16.11.2026;100;${"a".repeat(64)};${"b".repeat(64)};evet\n`;
    expect(readImport(text, istanbul).rows).toMatchObject([
      { customerHash: "a".repeat(64), emailHash: "b".repeat(64), marketingConsent: true },
    ]);
  });

  test("in English with ISO dates, a zone and a click", () => {
    const text =
      'Invoice No,Date,Amount,Currency,GCLID,Consent\nI-1,2026-07-01 10:00,95.00,,abc,yes\nI-2,2026-07-01T10:00:00+02:00,"1,250.00",eur,,no\n';
    expect(readImport(text, london).rows).toEqual([
      {
        line: 2,
        externalRef: "I-1",
        occurredAt: "2026-07-01T09:00:00.000Z",
        amountCents: 9500,
        currency: "GBP",
        gclid: "abc",
        marketingConsent: true,
      },
      {
        line: 3,
        externalRef: "I-2",
        occurredAt: "2026-07-01T08:00:00.000Z",
        amountCents: 125_000,
        currency: "EUR",
        marketingConsent: false,
      },
    ]);
  });

  // Guarantee: a line that cannot be read is shown, never guessed and never dropped.
  test("says of each line what is wrong with it", () => {
    const text =
      "ref,date,amount,currency\n,2026-11-01,1,\nA,2026-02-30,1,\nB,2026-11-01,free,\nC,2026-11-01,1,XXQ\nD,2026-11-01,1,\nD,2026-11-01,2,\n\nE,2026-11-01,0,\nF,2026-11-01 25:00,1,";
    expect(readImport(text, istanbul).problems).toEqual([
      { line: 2, problem: "REF_MISSING", ref: "" },
      { line: 3, problem: "DATE_UNREADABLE", ref: "A" },
      { line: 4, problem: "AMOUNT_UNREADABLE", ref: "B" },
      { line: 5, problem: "CURRENCY_UNKNOWN", ref: "C" },
      { line: 7, problem: "REF_TWICE", ref: "D" },
      { line: 9, problem: "AMOUNT_UNREADABLE", ref: "E" },
      { line: 10, problem: "DATE_UNREADABLE", ref: "F" },
    ]);
  });

  test("without the columns it needs names them", () => {
    expect(readImport("name,amount\nx,1", istanbul)).toMatchObject({ rows: [], missing: ["externalRef", "occurredAt"] });
  });

  test("the clock change is the zone's, not ours", () => {
    const text = "ref,date,amount\nA,2026-03-29 01:30,1\nB,2026-10-25 01:30,1\nC,2026-10-25 02:30,1";
    expect(readImport(text, london).rows.map(({ occurredAt }) => occurredAt)).toEqual([
      "2026-03-29T01:30:00.000Z", // the hour that London skipped
      "2026-10-25T00:30:00.000Z",
      "2026-10-25T02:30:00.000Z",
    ]);
  });

  test("in the encoding of Turkish Windows is read too", () => {
    expect(decodeFile(new Uint8Array([0x53, 0x69, 0x70, 0x61, 0x72, 0x69, 0xfe]).buffer)).toBe("Sipariş");
  });

  // Guarantee: a column of dinars is read in one way, and that way is said by somebody.
  describe("with amounts that have two readings", () => {
    const text = "ref,date,amount,currency\nA,2026-11-01,95.00,\nB,2026-11-01,12.500,kwd\nC,2026-11-01,7.250,KWD\nD,2026-11-01,4.505,KWD";
    const amounts = (choices = {}) =>
      readImport(text, istanbul, choices).rows.map(({ externalRef, amountCents }) => [externalRef, amountCents]);

    test("is asked about once, and without an answer those lines are refused", () => {
      const read = readImport(text, istanbul);
      expect(read.questions).toEqual({ amountMark: { line: 3, text: "12.500", currency: "KWD" } });
      expect(read.problems.map(({ line, problem }) => [line, problem])).toEqual([3, 4, 5].map((line) => [line, "AMOUNT_AMBIGUOUS"]));
      expect(amounts()).toEqual([["A", 9500]]);
    });

    test("is read by the answer; a third decimal that is not 0 is refused, not rounded", () => {
      expect(amounts({ amountMark: "decimals" })).toEqual([
        ["A", 9500],
        ["B", 1250],
        ["C", 725],
      ]);
      expect(readImport(text, istanbul, { amountMark: "decimals" }).problems).toEqual([{ line: 5, problem: "AMOUNT_TOO_FINE", ref: "D" }]);
      expect(amounts({ amountMark: "thousands" })).toEqual([
        ["A", 9500],
        ["B", 1_250_000],
        ["C", 725_000],
        ["D", 450_500],
      ]);
    });
  });

  // Guarantee: a sale of 10 November is not recorded on 11 October because we guessed.
  describe("with dates that have two readings", () => {
    const days = (dates: string[], choices = {}) => {
      const read = readImport(["ref,date,amount", ...dates.map((date, index) => `R${index},${date},1`)].join("\n"), istanbul, choices);
      return { ...read, days: read.rows.map(({ occurredAt }) => occurredAt.slice(0, 10)) };
    };

    test.each(["/", "-"])("separated by %s is asked about once, and without an answer those lines are refused", (mark) => {
      const dates = [`10${mark}10${mark}2026`, `10${mark}11${mark}2026`, "2026-11-02", `2${mark}3${mark}2026 14:30`];
      const open = days(dates);
      expect(open.questions).toEqual({ dateOrder: { line: 3, text: dates[1] } });
      expect(open.problems.map(({ line, problem }) => [line, problem])).toEqual([3, 5].map((line) => [line, "DATE_AMBIGUOUS"]));
      expect(open.days).toEqual(["2026-10-10", "2026-11-02"]);
      expect(days(dates, { dateOrder: "dayFirst" }).days).toEqual(["2026-10-10", "2026-11-10", "2026-11-02", "2026-03-02"]);
      expect(days(dates, { dateOrder: "monthFirst" }).days).toEqual(["2026-10-10", "2026-10-11", "2026-11-02", "2026-02-03"]);
    });

    test("is proven by another line, which no answer overrules", () => {
      expect(days(["10/11/2026", "25/11/2026"], { dateOrder: "monthFirst" })).toMatchObject({
        questions: {},
        days: ["2026-11-10", "2026-11-25"],
      });
      expect(days(["10/11/2026", "11/25/2026"])).toMatchObject({ questions: {}, days: ["2026-10-11", "2026-11-25"] });
      expect(days(["10/11/2026", "45/10/2026"]).questions).toHaveProperty("dateOrder"); // 45 is no day and proves nothing
    });

    test("that contradict each other are not read at all", () => {
      const read = days(["2026-11-02", "25/11/2026", "10/11/2026", "11/25/2026"]);
      expect(read).toMatchObject({ rows: [], problems: [], questions: {}, contradiction: { dayFirst: 3, monthFirst: 5 } });
    });

    test("with dots are day first, and a time that cannot be read asks nothing", () => {
      expect(days(["10.11.2026", "2026-11-10"])).toMatchObject({ questions: {}, days: ["2026-11-10", "2026-11-10"] });
      expect(days(["10/11/2026 25:00"])).toMatchObject({ questions: {}, problems: [{ problem: "DATE_UNREADABLE" }] });
    });
  });
});

// Guarantee: who begins with the example learns what a file needs, not what is wrong with ours.
test("the example file is read without a question, with the columns of either language", () => {
  const now = new Date("2026-11-17T12:00:00Z");
  for (const { salesImport } of [en, tr]) {
    const { externalRef: ref, occurredAt: date, customerPhone: phone, marketingConsent: consent, ...same } = salesImport.fields;
    const read = readImport(exampleImport({ ref, date, phone, consent, ...same }, "TRY", now), {
      currency: "TRY",
      timezone: "Europe/Istanbul",
    });
    expect([read.rows.length, read.problems, read.missing, read.questions]).toEqual([2, [], [], {}]);
    expect(read.rows[0]).toMatchObject({ externalRef: "A-1001", amountCents: 425000, marketingConsent: true });
  }
});
