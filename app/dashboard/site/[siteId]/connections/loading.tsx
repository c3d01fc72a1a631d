import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

export default function ConnectionsLoading() {
  return (
    <PageSkeleton>
      <CardSkeleton>
        <SkeletonRows count={3} height={54} />
      </CardSkeleton>
      <CardSkeleton>
        <div className="card-b stack">
          <Skeleton width="70%" height={14} />
          <Skeleton width="100%" height={40} radius={7} />
        </div>
      </CardSkeleton>
    </PageSkeleton>
  );
}
