import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

const tiles = ["queued", "retry", "processing", "completed", "failed", "value"];

export default function Loading() {
  return (
    <PageSkeleton>
      <div className="tiles">
        {tiles.map((tile) => (
          <Skeleton key={tile} width="100%" height={84} radius={10} />
        ))}
      </div>
      <div className="two">
        <CardSkeleton>
          <SkeletonRows count={4} height={53} />
        </CardSkeleton>
        <CardSkeleton>
          <div className="card-b">
            <Skeleton width="100%" height={150} />
          </div>
        </CardSkeleton>
      </div>
      <CardSkeleton>
        <SkeletonRows count={8} height={40} />
      </CardSkeleton>
    </PageSkeleton>
  );
}
