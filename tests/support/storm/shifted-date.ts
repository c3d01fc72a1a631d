/** Sets this process's idea of the present moment ahead. Timers keep real time. */
let offsetMs = 0;
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...given: [] | [string | number | Date]) {
    super(...((given.length === 0 ? [ShiftedDate.now()] : given) as [number])); // every other form is passed on as it is
  }

  static override now(): number {
    return RealDate.now() + offsetMs;
  }
}

export function shiftDate(byMs: number): void {
  offsetMs = byMs;
  globalThis.Date = ShiftedDate as DateConstructor; // called as a function it would throw, which nobody does
}
