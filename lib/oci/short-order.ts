/** Enough of an order id to tell it from its neighbours: both ends. */
export const shortOrder = (orderId: string) => (orderId.length > 16 ? `${orderId.slice(0, 9)}…${orderId.slice(-4)}` : orderId);
