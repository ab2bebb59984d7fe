import { requestParts } from "@bunting/featureflags/resources";
import type { ObjectMeta } from "@bunting/kube";
import { Counts, Signal } from "@bunting/runtime";
import { injectionRequest } from "../../pod/injection-request.js";
import { addressKey, maxTextLength, parseObjectNames } from "../../sources/object-names.js";
import type { PodObserver } from "../pods/pod-stream.js";

/** Counts the Pods that name each FeatureFlagSource. */
export class SourceUsage implements PodObserver {
  /** By the key of a Pod, the text of its annotation. */
  readonly #texts = new Map<string, string>();
  readonly #counts = new Counts<string>();
  readonly #changed = new Signal<string | undefined>();
  #isRead = false;

  /** How many Pods name the FeatureFlagSource `namespace/name`; undefined until all Pods have been read. */
  countOf(key: string): number | undefined {
    return this.#isRead ? this.#counts.of(key) : undefined;
  }

  /** Calls back with each FeatureFlagSource whose count has changed, with undefined if all may have, until the returned function is called. */
  listen(listener: (key: string | undefined) => void): () => void {
    return this.#changed.listen(listener);
  }

  seen(key: string, metadata: ObjectMeta): void {
    const request = injectionRequest(metadata);
    // A longer one names nothing, and Pods may have it by the thousand.
    const isText = request?.list === "sources" && request.text.length <= maxTextLength;
    const text = isText ? request.text : undefined;
    if (text === this.#texts.get(key)) return;
    this.gone(key);
    if (text === undefined) return;
    this.#texts.set(key, text);
    this.#count(key, text, 1);
  }

  gone(key: string): void {
    const text = this.#texts.get(key);
    if (text === undefined) return;
    this.#texts.delete(key);
    this.#count(key, text, -1);
  }

  read(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    this.#changed.emit(undefined);
  }

  ended(): void {
    // Whoever leads again would write what was so in an earlier term.
    this.#isRead = false;
  }

  #count(pod: string, text: string, by: 1 | -1): void {
    const names = parseObjectNames(requestParts(text)?.sources ?? "", pod.split("/")[0] ?? "");
    if ("reason" in names) return;
    for (const source of new Set(names.map(addressKey))) {
      this.#counts.add(source, by);
      this.#changed.emit(source);
    }
  }
}
