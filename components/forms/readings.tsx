"use client";

import { type ReactNode, useId } from "react";
import { Choice, Choices } from "#components/ui/choice.tsx";

interface ReadingsProps<Value extends string> {
  /** The question. */
  legend: ReactNode;
  options: { value: Value; label: ReactNode; note: ReactNode }[];
  value: Value | undefined;
  onChange: (value: Value) => void;
}

/** Something that was written can be read in several ways: nothing is chosen until somebody chooses. */
export function Readings<Value extends string>({ legend, options, value, onChange }: ReadingsProps<Value>) {
  const name = useId();
  return (
    <Choices>
      <legend className="pb-2 text-sm font-medium">{legend}</legend>
      {options.map((option) => (
        <Choice
          key={option.value}
          className="grid content-center gap-px"
          name={name}
          checked={value === option.value}
          onChange={() => onChange(option.value)}
        >
          <b className="font-medium">{option.label}</b>
          <span className="text-xs text-meta">{option.note}</span>
        </Choice>
      ))}
    </Choices>
  );
}
