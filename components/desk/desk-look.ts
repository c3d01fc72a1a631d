/** Where the parts of the desk stand, for the desk and for its skeleton. */

export const figureGrid =
  "grid grid-cols-7 desk:max-[1241px]:grid-cols-4 max-desk:snap-x max-desk:auto-cols-max max-desk:grid-flow-col max-desk:grid-cols-none max-desk:overflow-x-auto max-desk:[scrollbar-width:none]";
export const figureChart = "border-t border-line-1 px-4 pt-3 pb-2.5 max-desk:hidden";
export const deskGrid =
  "mt-4 grid grid-cols-[minmax(340px,392px)_minmax(0,1fr)] items-start gap-4 max-[961px]:grid-cols-[minmax(0,1fr)] max-desk:mt-3 max-desk:block";
/** Beside the list wherever it is scrolled to. A phone has the sheet. */
export const detailLook = "sticky top-4 max-h-[calc(100dvh-32px)] overflow-auto [scrollbar-width:thin] max-desk:hidden";
