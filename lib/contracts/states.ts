/** The states of the contracts, as SQL stores them. A conversion's states are the queue's: lib/oci/queue-types.ts. */

export const callStates = ["intent", "qualified", "meeting", "sealed", "junk", "cancelled"] as const;
/** Proofs hold the spelling CANCELED; everywhere else it is cancelled. */
export const saleStatuses = ["DRAFT", "CONFIRMED", "CANCELED"] as const;
/** Each as a key of the `states` messages: CONFIRMED alone is Google's verdict. */
export const saleStates = { DRAFT: "DRAFT", CONFIRMED: "sealed", CANCELED: "cancelled" } as const;
export const ledgerKinds = ["SEAL", "CORRECT", "CANCEL", "RESTORE"] as const;
/** Each as a key of the `kinds` messages. */
export const ledgerWords = { SEAL: "sealed", CORRECT: "corrected", CANCEL: "cancelled", RESTORE: "restored" } as const;
