/**
 * The active codes of ISO 4217 (January 2026) by their number of decimals; SQL has the same list and a test compares them. Left out are
 * codes for which ISO names no decimals: metals, bond units and test codes. Intl knows currencies too, but its list and its decimals
 * change with the version of the runtime (it still has the lev and gives the forint none), and an amount must not become invalid with it.
 */
const codesByDecimals: Record<number, string> = {
  0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
  2: `
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU
    CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES
    KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR
    NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
    TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  3: "BHD IQD JOD KWD LYD OMR TND",
  4: "CLF UYW",
};

const decimalsOf = new Map(
  Object.entries(codesByDecimals).flatMap(([decimals, codes]) =>
    codes
      .trim()
      .split(/\s+/)
      .map((code) => [code, Number(decimals)] as const),
  ),
);

export const currencies: readonly string[] = [...decimalsOf.keys()].sort();

/** Decimals of a currency; null for a code that is none. */
export const currencyDecimals = (code: string): number | null => decimalsOf.get(code) ?? null;

/** Those that a form offers first. */
export const currencyCodes = ["TRY", "EUR", "USD", "GBP", "AED", "AZN", "CHF", "GEL", "JPY", "KWD", "PLN", "RON", "SAR", "UAH"] as const;
