/** What was started, to be stopped in the opposite order. */
export class StopList {
  private readonly stops: (() => Promise<void>)[] = [];

  add(stop: () => Promise<void>): void {
    this.stops.push(stop);
  }

  /** One that fails does not keep the others from stopping. */
  async stopAll(): Promise<void> {
    for (let stop = this.stops.pop(); stop; stop = this.stops.pop()) {
      await stop().catch((error: unknown) => console.error("While stopping:", error));
    }
  }
}
