import type { CSSProperties } from "react";
import { ListRow } from "./list-row.tsx";

/** A grey block in the size of what is coming, so that nothing jumps when it arrives. */
export function Skeleton({ width, height = 12, radius }: { width: CSSProperties["width"]; height?: number; radius?: number }) {
  return <span className="block max-w-full animate-pulse rounded-[4px] bg-surface-3" style={{ width, height, borderRadius: radius }} />;
}

const lineWidths = ["62%", "48%", "70%", "55%", "64%"];

/** Rows of a table that is loading: a picture, two lines, an end. */
export function SkeletonRows({ count, height }: { count: number; height: number }) {
  return Array.from({ length: count }, (_, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and never move
    <ListRow key={index} className="flex-nowrap" style={{ height, paddingBlock: 0 }}>
      <Skeleton width={28} height={28} radius={6} />
      <span className="grid min-w-0 flex-1 gap-2">
        <Skeleton width={lineWidths[index % lineWidths.length]} />
        <Skeleton width="34%" height={10} />
      </span>
      <Skeleton width={72} height={20} />
    </ListRow>
  ));
}
