import type { Identity } from "@bunting/identity";
import type { Admitted } from "./access.js";

/** The streams of one identity. Identities of the same ServiceAccount with different tokens or Pods are different objects. */
export interface IdentityStreams<Way> {
  readonly identity: Identity;
  /** The way by which the identity was established. */
  readonly way: Way;
  readonly streams: Set<Admitted>;
}

export interface IdentityListener<Way> {
  onFirst(entry: IdentityStreams<Way>): void;
  onLast(entry: IdentityStreams<Way>): void;
}

const none: ReadonlySet<Admitted> = new Set();

/** The open streams of all callers with an identity. */
export class AdmittedStreams<Way> {
  readonly #listener: IdentityListener<Way>;
  readonly #entries = new Map<Identity, IdentityStreams<Way>>();
  readonly #byStream = new Map<Admitted, IdentityStreams<Way>>();

  constructor(listener: IdentityListener<Way>) {
    this.#listener = listener;
  }

  /** For a walk during which streams may come and go. */
  get entries(): Iterable<IdentityStreams<Way>> {
    return this.#entries.values();
  }

  /** The open streams of an identity. */
  of(identity: Identity): ReadonlySet<Admitted> {
    return this.#entries.get(identity)?.streams ?? none;
  }

  add(identity: Identity, way: Way, stream: Admitted): void {
    let entry = this.#entries.get(identity);
    if (entry === undefined) {
      entry = { identity, way, streams: new Set() };
      this.#entries.set(identity, entry);
      this.#listener.onFirst(entry);
    }
    entry.streams.add(stream);
    this.#byStream.set(stream, entry);
  }

  delete(stream: Admitted): void {
    const entry = this.#byStream.get(stream);
    if (entry === undefined) return;
    this.#byStream.delete(stream);
    entry.streams.delete(stream);
    if (entry.streams.size > 0) return;
    this.#entries.delete(entry.identity);
    this.#listener.onLast(entry);
  }
}
