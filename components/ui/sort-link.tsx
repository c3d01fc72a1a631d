import { ArrowDown, ArrowUp } from "lucide-react";
import Link from "next/link";
import { filteredPath } from "./page-links.tsx";

interface SortLinkOptions<Sort extends string> {
  label: string;
  /** Where the list is, with its filters. */
  path: string;
  filter: { sort?: Sort | undefined; [key: string]: string | undefined };
  /** The column's two orders; undefined is the list's own. The first is the one that a press begins with. */
  orders: [Order<Sort>, Order<Sort>];
}
interface Order<Sort> {
  sort: Sort | undefined;
  direction: "ascending" | "descending";
}

/** A heading that sorts by its column and stays in the address; pressed again it turns the order round. */
export function sortedColumn<Sort extends string>({ label, path, filter, orders }: SortLinkOptions<Sort>) {
  const [first, second] = orders;
  const current = orders.find(({ sort }) => sort === filter.sort);
  const next = current === first ? second : first;
  const Icon = current?.direction === "ascending" ? ArrowUp : ArrowDown;
  return {
    sorted: current?.direction,
    header: (
      <Link
        className="inline-flex items-center gap-1 hover:text-content"
        href={filteredPath(path, { ...filter, sort: next.sort })}
        prefetch={false}
        scroll={false}
      >
        {label}
        {current && <Icon className="size-3" aria-hidden="true" />}
      </Link>
    ),
  };
}

const down = "descending" as const;
const up = "ascending" as const;

/** Largest or newest first, then the other way round. */
export const downFirst = <Sort extends string>(largest: Sort | undefined, smallest: Sort | undefined): [Order<Sort>, Order<Sort>] => [
  { sort: largest, direction: down },
  { sort: smallest, direction: up },
];

/** From A, then from Z. */
export const upFirst = <Sort extends string>(fromA: Sort, fromZ: Sort): [Order<Sort>, Order<Sort>] => [
  { sort: fromA, direction: up },
  { sort: fromZ, direction: down },
];
