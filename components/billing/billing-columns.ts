/** The month at the left, what explains it at the right; one below the other where the window is too narrow for both. */
export const billingColumns = "grid grid-cols-1 items-start gap-4 min-[1241px]:grid-cols-[minmax(0,1fr)_340px]";
