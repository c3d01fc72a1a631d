import { CardBody } from "#components/ui/card.tsx";
import { CardSkeleton, PageSkeleton } from "#components/ui/page-skeleton.tsx";
import { Skeleton } from "#components/ui/skeleton.tsx";

const fieldHeights = [34, 84, 34, 34];

export default function SettingsLoading() {
  return (
    <PageSkeleton>
      <div className="max-w-160">
        <CardSkeleton>
          <CardBody className="grid gap-5">
            {fieldHeights.map((height, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
              <div key={index} className="grid gap-3">
                <Skeleton width={96} />
                <Skeleton width="100%" height={height} radius={7} />
              </div>
            ))}
          </CardBody>
        </CardSkeleton>
      </div>
    </PageSkeleton>
  );
}
