/** The reason of a signal that ends a call because whoever asks waits no longer: what was asked long enough by then has not answered. */
export class OutOfTime extends Error {
  override readonly name = "OutOfTime";
}
