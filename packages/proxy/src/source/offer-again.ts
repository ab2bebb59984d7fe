import type { TopicKey } from "@bunting/protocol";
import type { FlagSource } from "./flag-source.js";

/** Has a source report a version again that its sink had no memory for; a source that can't is done at once. See `FlagSource.offerAgain`. */
export function offerAgain(source: FlagSource, topic: TopicKey, done: () => void): void {
  if (source.offerAgain === undefined) done();
  else source.offerAgain(topic, done);
}
