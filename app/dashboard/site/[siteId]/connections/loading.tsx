import { CardBody } from "#components/ui/card.tsx";
import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";

export default function ConnectionsLoading() {
  return (
    <PageSkeleton>
      <CardSkeleton>
        <SkeletonRows count={3} height={54} />
      </CardSkeleton>
      <CardSkeleton>
        <CardBody className="grid gap-3">
          <Skeleton width="70%" height={14} />
          <Skeleton width="100%" height={40} radius={7} />
        </CardBody>
      </CardSkeleton>
    </PageSkeleton>
  );
}
