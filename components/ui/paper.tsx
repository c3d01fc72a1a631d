import type { ReactNode } from "react";

/** A card that is also printed: on paper it has no edge, no ground and the whole width. */
export const paper = "max-w-205 print:max-w-none print:border-0 print:bg-transparent";

/** An identifier or a hash, which breaks anywhere. */
export const Id = ({ children }: { children: ReactNode }) => <span className="id">{children}</span>;
