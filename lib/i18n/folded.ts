/** How searches compare text: without case, and with one i. Turkish makes "ı" of "I", which would hide "OCI" from "oci". SQL does the same. */
export const folded = (text: string) => text.replace(/[Iİ]/g, "i").toLowerCase().replaceAll("ı", "i");
