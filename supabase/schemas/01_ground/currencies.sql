-- Currencies: the one list of codes that money may have here. Every table where a currency enters
-- checks it against this list.

-- currency_decimals: how many decimals ISO 4217 gives a currency; null for a code that is
-- not active (January 2026). Left out: codes without decimals, such as metals and test codes.
-- lib/valuation/currencies.ts has the same list; a test compares all 17,576 codes.
create function private.currency_decimals(p_currency text) returns int
language sql immutable set search_path = ''
as $$
  select case
    when p_currency = any ('{
      AED,AFN,ALL,AMD,AOA,ARS,AUD,AWG,AZN,BAM,BBD,BDT,BMD,BND,BOB,BOV,BRL,BSD,BTN,BWP,
      BYN,BZD,CAD,CDF,CHE,CHF,CHW,CNY,COP,COU,CRC,CUP,CVE,CZK,DKK,DOP,DZD,EGP,ERN,ETB,
      EUR,FJD,FKP,GBP,GEL,GHS,GIP,GMD,GTQ,GYD,HKD,HNL,HTG,HUF,IDR,ILS,INR,IRR,JMD,KES,
      KGS,KHR,KPW,KYD,KZT,LAK,LBP,LKR,LRD,LSL,MAD,MDL,MGA,MKD,MMK,MNT,MOP,MRU,MUR,MVR,
      MWK,MXN,MXV,MYR,MZN,NAD,NGN,NIO,NOK,NPR,NZD,PAB,PEN,PGK,PHP,PKR,PLN,QAR,RON,RSD,
      RUB,SAR,SBD,SCR,SDG,SEK,SGD,SHP,SLE,SOS,SRD,SSP,STN,SVC,SYP,SZL,THB,TJS,TMT,TOP,
      TRY,TTD,TWD,TZS,UAH,USD,USN,UYU,UZS,VED,VES,WST,XAD,XCD,XCG,YER,ZAR,ZMW,ZWG
      }'::text[]) then 2
    when p_currency = any ('{
      BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,UYI,VND,VUV,XAF,XOF,XPF
      }'::text[]) then 0
    when p_currency = any ('{BHD,IQD,JOD,KWD,LYD,OMR,TND}'::text[]) then 3
    when p_currency = any ('{CLF,UYW}'::text[]) then 4 end
$$;

-- check_currency: refuses a code that is not on the list.
create function private.check_currency(p_currency text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
  if private.currency_decimals(p_currency) is null then
    perform private.fail(400, 'INVALID_CURRENCY');
  end if;
end
$$;

-- max_amount_cents: the largest amount of one sale.
create function private.max_amount_cents() returns bigint
language sql immutable parallel safe set search_path = ''
as $$ select 100000000000 $$;

-- check_amount: refuses an amount of money that cannot be. Cents are hundredths in every currency.
-- A yen has none, so its amounts are multiples of 100.
create function private.check_amount(p_amount_cents bigint, p_currency text) returns void
language plpgsql immutable set search_path = ''
as $$
begin
  perform private.check_currency(p_currency);
  if p_amount_cents is null
      or p_amount_cents <= 0
      or p_amount_cents > private.max_amount_cents()
      or (p_amount_cents % 100 <> 0 and private.currency_decimals(p_currency) = 0) then
    perform private.fail(400, 'INVALID_AMOUNT');
  end if;
end
$$;

-- asked_cents: the amount that a request names, or null when it names none. A fraction is refused,
-- not rounded.
create function private.asked_cents(p_args jsonb) returns bigint
language plpgsql immutable set search_path = ''
as $$
declare
  v_asked jsonb := nullif(p_args -> 'amountCents', 'null');
begin
  if v_asked is null then
    return null;
  end if;
  if jsonb_typeof(v_asked) <> 'number'
      or v_asked::numeric % 1 <> 0
      or v_asked::numeric not between 1 and private.max_amount_cents() then
    perform private.fail(400, 'INVALID_AMOUNT');
  end if;
  return v_asked::numeric::bigint;
end
$$;
