import type { KubeError } from "../kube-error.js";
import type { ConsistentRead, ReflectorHandler } from "../reflector/reflector-handler.js";
import { compareResourceVersions } from "../reflector/resource-version.js";
import type { Epoch } from "../reflector/epochs.js";
import type { ObjectEvent } from "../reflector/watch-event.js";
import type { KubeObject } from "../rest/resource.js";
import { isKeyIn, keyOf, ObjectStore, type IndexFunction } from "./object-store.js";

/** Hears of objects that were added, changed or deleted. */
export interface InformerHandler<Object extends KubeObject> {
  /**
   * The object of a key is another one now. Both are as the store keeps them, and must not be changed.
   *
   * @param object undefined if it was deleted
   * @param before undefined if it was added
   */
  changed(key: string, object: Object | undefined, before: Object | undefined): void;
  /** For the first time, the store holds all that exists. Every object was reported by `changed` before. */
  synced?(): void;
}

export interface InformerOptions<Object extends KubeObject, Index extends string> {
  readonly indexes?: Readonly<Record<Index, IndexFunction<Object>>>;
  /**
   * The part of an object that is stored, for instance without managedFields, which make up most of a large store.
   * Default: the whole object.
   */
  readonly transform?: (object: KubeObject) => Object;
  /** Objects that are stored; the others count as absent. Default: all. */
  readonly keeps?: (object: KubeObject) => boolean;
  readonly handler: InformerHandler<Object>;
}

/** An object of a read that is not complete yet. */
interface ReadObject<Object extends KubeObject> {
  readonly version: string;
  readonly kept: Object;
}

/** With the uid: after a restore of etcd, two objects may have had the same version. */
function versionOf({ metadata: { resourceVersion = "", uid = "" } }: KubeObject): string {
  return `${resourceVersion} ${uid}`;
}

/**
 * Keeps the objects of a scope in a store, fed by a reflector, and reports each change once. A read replaces the store in
 * one step when it is complete: objects absent from it are reported as deleted, unchanged ones are not reported. While the
 * connection is down, the store keeps the last state.
 */
export class Informer<
  Object extends KubeObject = KubeObject,
  Index extends string = never,
> implements ReflectorHandler {
  readonly store: ObjectStore<Object, Index>;
  readonly #options: InformerOptions<Object, Index>;
  readonly #whenSynced: Promise<void>;
  #resolveSynced: () => void = () => undefined;
  #hasSynced = false;
  /** Called when a read is complete, or there is nothing to read. */
  readonly #onRead: (() => void)[] = [];
  #epoch: Epoch | undefined;

  constructor(options: InformerOptions<Object, Index>) {
    this.#options = options;
    this.store = new ObjectStore<Object, Index>(options.indexes);
    this.#whenSynced = new Promise((resolve) => (this.#resolveSynced = resolve));
  }

  /** True once a first read is complete; it stays so. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get whenSynced(): Promise<void> {
    return this.#whenSynced;
  }

  /** Resolves when the next read is complete, or the API server says that it has no such type; not while it refuses to tell what there is. */
  nextRead(): Promise<void> {
    return new Promise((resolve) => this.#onRead.push(resolve));
  }

  beginRead(namespace?: string): ConsistentRead {
    const read = new Map<string, ReadObject<Object>>();
    return {
      // As it will be stored: whole objects, with annotations of 256 KB, may be many times larger.
      add: (object) => {
        if (this.#keeps(object))
          read.set(keyOf(object), { version: versionOf(object), kept: this.#transform(object) });
      },
      remove: (object) => void read.delete(keyOf(object)),
      complete: (_resourceVersion, epoch) => this.#replace(read, epoch, namespace),
    };
  }

  event({ type, object, resourceVersion }: ObjectEvent, epoch: Epoch): void {
    const key = keyOf(object);
    const known = this.store.get(key)?.metadata.resourceVersion;
    // A stream that was resumed may repeat its last events.
    if (epoch === this.#epoch && known !== undefined && compareResourceVersions(resourceVersion, known) <= 0)
      return;
    if (type === "DELETED" || !this.#keeps(object)) this.#remove(key);
    else this.#put(key, this.#transform(object));
  }

  failed(error: KubeError): void {
    if (error.code === "NOT_FOUND") this.#readEnded();
  }

  #replace(read: ReadonlyMap<string, ReadObject<Object>>, epoch: Epoch, namespace: string | undefined): void {
    this.#epoch = epoch;
    for (const key of [...this.store.keys()])
      if (!read.has(key) && isKeyIn(key, namespace)) this.#remove(key);
    for (const [key, { version, kept }] of read) {
      const known = this.store.get(key);
      if (known === undefined || versionOf(known) !== version) this.#put(key, kept);
    }
    this.#readEnded();
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#options.handler.synced?.();
    this.#resolveSynced();
  }

  #readEnded(): void {
    for (const resolve of this.#onRead.splice(0)) resolve();
  }

  #keeps(object: KubeObject): boolean {
    return this.#options.keeps?.(object) ?? true;
  }

  #transform(object: KubeObject): Object {
    const { transform = (each: KubeObject) => each as Object } = this.#options;
    return transform(object);
  }

  #put(key: string, kept: Object): void {
    const before = this.store.set(kept);
    this.#options.handler.changed(key, kept, before);
  }

  #remove(key: string): void {
    const before = this.store.delete(key);
    if (before !== undefined) this.#options.handler.changed(key, undefined, before);
  }
}
