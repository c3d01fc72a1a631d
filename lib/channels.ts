/** How people reach out: the acts of a visitor that make a lead, as trackers and telephone systems name them, and the channel of each. */
export const channelOf = { phone_call: "phone", whatsapp: "whatsapp", form_submit: "form" } as const;

export type LeadAction = keyof typeof channelOf;
export type LeadChannel = (typeof channelOf)[LeadAction];

// Marked as pure: the tracker leaves out what it does not use.
export const leadActions = /* @__PURE__ */ Object.keys(channelOf) as [LeadAction, ...LeadAction[]]; // the object above has no other keys
export const leadChannels = /* @__PURE__ */ Object.values(channelOf) as [LeadChannel, ...LeadChannel[]]; // one for each key, so never empty

export const isLeadAction = (name: string): name is LeadAction => Object.hasOwn(channelOf, name);
