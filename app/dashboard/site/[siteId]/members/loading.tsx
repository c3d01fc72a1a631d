import { PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { SkeletonRows } from "#components/ui/skeleton.tsx";

export default function MembersLoading() {
  return (
    <PageSkeleton>
      <div className="card">
        <SkeletonRows count={4} height={54} />
      </div>
    </PageSkeleton>
  );
}
