/** How a lead reaches out. The tracker, the desk, the queue and the messages take the list from here. */
export const leadChannels = ["phone", "whatsapp", "form"] as const;
