"use client";

import { type ReactNode, useId } from "react";

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
    <fieldset>
      <legend className="sm med pb-2">{legend}</legend>
      <div className="choices">
        {options.map((option) => (
          <label key={option.value} className="choice reading">
            <input type="radio" className="sr" name={name} checked={value === option.value} onChange={() => onChange(option.value)} />
            <b>{option.label}</b>
            <span className="xs t3">{option.note}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
