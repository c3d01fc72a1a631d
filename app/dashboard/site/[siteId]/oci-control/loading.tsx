import { CardBody } from "#components/ui/card.tsx";
import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";
import { tiles } from "#components/workbench/tile.tsx";

const figures = ["queued", "retry", "processing", "completed", "failed", "notSent", "value"];

export default function Loading() {
  return (
    <PageSkeleton>
      <div className={tiles({ count: 7 })}>
        {figures.map((figure) => (
          <Skeleton key={figure} width="100%" height={84} radius={10} />
        ))}
      </div>
      <div className="grid grid-cols-[minmax(0,1.25fr)_minmax(0,1fr)] gap-3 @max-[621px]/main:grid-cols-1">
        <CardSkeleton>
          <SkeletonRows count={4} height={53} />
        </CardSkeleton>
        <CardSkeleton>
          <CardBody>
            <Skeleton width="100%" height={150} />
          </CardBody>
        </CardSkeleton>
      </div>
      <CardSkeleton>
        <SkeletonRows count={8} height={40} />
      </CardSkeleton>
    </PageSkeleton>
  );
}
