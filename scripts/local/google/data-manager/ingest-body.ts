/** The fields of an ingest request that the simulator reads; their types were checked by the table. */
export interface IngestBody {
  destinations?: DestinationBody[];
  events?: EventBody[];
  consent?: { adUserData?: string };
  encoding?: "HEX" | "BASE64";
  validateOnly?: boolean;
}

export interface DestinationBody {
  reference?: string;
  operatingAccount?: { accountType?: string; accountId?: string };
  loginAccount?: { accountType?: string; accountId?: string };
  productDestinationId?: string;
}

export interface EventBody {
  destinationReferences?: string[];
  transactionId?: string;
  eventTimestamp?: string;
  eventSource?: string;
  conversionValue?: number;
  currency?: string;
  adIdentifiers?: { gclid?: string; gbraid?: string; wbraid?: string };
  userData?: { userIdentifiers?: { phoneNumber?: string; emailAddress?: string; address?: object }[] };
  consent?: { adUserData?: string };
}
