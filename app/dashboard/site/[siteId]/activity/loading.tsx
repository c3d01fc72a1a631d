import { ListSkeleton } from "#components/ui/page-skeleton.tsx";

export default function ActivityLoading() {
  return <ListSkeleton />;
}
