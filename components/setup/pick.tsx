"use client";

import { type ReactNode, useState } from "react";
import { Segments } from "#components/ui/segmented.tsx";

interface PickProps<Key extends string> {
  label: string;
  options: { key: Key; label: string }[];
  children: (picked: Key) => ReactNode;
}

/** One of a few kinds of the same text, such as the same example in three languages. */
export function Pick<Key extends string>({ label, options, children }: PickProps<Key>) {
  const [picked, setPicked] = useState(options[0]?.key);
  return (
    <div className="grid min-w-0 gap-3">
      <Segments aria-label={label} className="w-fit flex-wrap">
        {options.map(({ key, label: text }) => (
          <button key={key} type="button" aria-pressed={key === picked} onClick={() => setPicked(key)}>
            {text}
          </button>
        ))}
      </Segments>
      {picked && children(picked)}
    </div>
  );
}
