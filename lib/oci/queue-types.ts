/** The words of the queue, as SQL stores them. */

export const queueStatuses = ["QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED"] as const;
export const errorCategories = ["VALIDATION", "AUTH", "TRANSIENT", "RATE_LIMIT", "PERMANENT", "DETERMINISTIC_SKIP"] as const;
/** What Google says of a conversion that it was sent. */
export const verdicts = ["CONFIRMED", "REJECTED", "DUPLICATE", "UNKNOWN"] as const;
export const queueKinds = ["CONVERSION", "RESTATE", "RETRACT"] as const;
