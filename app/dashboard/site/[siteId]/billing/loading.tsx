import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

export default function BillingLoading() {
  return (
    <PageSkeleton>
      <div className="bill">
        <div className="page">
          <div className="card card-b stack">
            <Skeleton width={180} height={34} />
            <Skeleton width="100%" height={10} />
            <Skeleton width="55%" height={14} />
          </div>
          <CardSkeleton>
            <div className="card-b">
              <Skeleton width="100%" height={152} />
            </div>
          </CardSkeleton>
          <CardSkeleton>
            <SkeletonRows count={3} height={41} />
          </CardSkeleton>
        </div>
        <div className="page">
          <CardSkeleton>
            <SkeletonRows count={6} height={54} />
          </CardSkeleton>
        </div>
      </div>
    </PageSkeleton>
  );
}
