/** The queue's closed lists, as SQL stores them and screens show them. Only lists, so that a browser may load the file. */

export const queueStatuses = ["QUEUED", "RETRY", "PROCESSING", "COMPLETED", "FAILED"] as const;
export const errorCategories = ["VALIDATION", "AUTH", "TRANSIENT", "RATE_LIMIT", "PERMANENT", "DETERMINISTIC_SKIP"] as const;
/** What Google says of a conversion that it was sent. */
export const verdicts = ["CONFIRMED", "REJECTED", "DUPLICATE", "UNKNOWN"] as const;
export const queueKinds = ["CONVERSION", "RESTATE", "RETRACT"] as const;
export const transports = ["script", "data_manager", "ads_api", "by_hand"] as const;
export const clickKinds = ["gclid", "wbraid", "gbraid"] as const;
export const circuitStates = ["CLOSED", "OPEN", "HALF_OPEN"] as const;
export const queueActions = ["RETRY_SELECTED", "RESET_TO_QUEUED", "MARK_FAILED"] as const;
export type QueueAction = (typeof queueActions)[number];
/** In which order the queue is read; each has the newest or largest first. */
export const queueSorts = ["created", "updated", "value"] as const;
export type QueueSort = (typeof queueSorts)[number];
export const chartRanges = ["24h", "7d", "30d", "90d"] as const;

/** How often a row is claimed before it fails for good, unless OCI_MAX_ATTEMPTS says otherwise. */
export const MAX_ATTEMPTS = 5;
