import { PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { SkeletonRows } from "#components/ui/skeleton.tsx";

export default function SitesLoading() {
  return (
    <PageSkeleton>
      <div className="card">
        <SkeletonRows count={4} height={52} />
      </div>
    </PageSkeleton>
  );
}
