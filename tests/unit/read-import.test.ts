import { describe, expect, test } from "vitest";
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
    });
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
});
